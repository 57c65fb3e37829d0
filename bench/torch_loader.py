#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training to be sampled: usage: torch_loader.py STEPS [WORKERS [NATIVE_THREADS [wait]]]

DataLoader workers, and threads that run no Python: those of torch itself and as
many more as are asked for, all in C for as long as the training takes. Prints as
JSON the seconds of CPU and of wall time, and the workers whose batches came; with
"wait" it ends, and its workers do, when its standard input does.
"""

import ctypes
import json
import sys
import time

import torch

STEPS = int(sys.argv[1])
WORKERS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
NATIVE = int(sys.argv[3]) if len(sys.argv) > 3 else 160
libc = ctypes.CDLL(None)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return STEPS * 16

    def __getitem__(self, index):
        row = torch.arange(64, dtype=torch.float32) * index
        return row.sin(), torch.tensor(torch.utils.data.get_worker_info().id)


def start_native_threads():
    """Threads of the C library that never meet the interpreter: they sleep."""
    made, numbers = 0, (ctypes.c_ulong * NATIVE)()
    pause = ctypes.cast(libc.sleep, ctypes.c_void_p)
    for i in range(NATIVE):
        number = ctypes.byref(numbers, i * ctypes.sizeof(ctypes.c_ulong))
        made += libc.pthread_create(number, None, pause, ctypes.c_void_p(100000)) == 0
    return made


def train(loader, model, optimizer):
    workers = set()
    for rows, ids in loader:
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()
        workers.update(ids.tolist())
    return workers


def main():
    native = start_native_threads()
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(
        Rows(), batch_size=16, num_workers=WORKERS, persistent_workers=WORKERS > 0
    )
    wall, cpu = time.perf_counter(), time.process_time()
    workers = train(loader, model, optimizer)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    answer = {"cpu_s": cpu, "wall_s": wall, "workers": sorted(workers), "native": native}
    print(json.dumps(answer), flush=True)
    if sys.argv[4:] == ["wait"]:
        sys.stdin.read()


main()
