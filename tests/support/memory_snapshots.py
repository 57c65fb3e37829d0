# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots as torch.cuda.memory._dump_snapshot() writes them, of an allocator that is
simulated block by block, so that each figure of the truth is counted here."""

import pickle
import random

BASE = 0x7F0000000000
START_US = 1_700_000_000_000_000
MB = 1 << 20


def frames(*lines):
    return [{"filename": file, "line": line, "name": name} for file, line, name in lines]


USERS = {
    "optimizer state": frames(
        ("/x/torch/optim/adam.py", 120, "_init_group"), ("/home/u/train.py", 40, "main")
    ),
    "activation": frames(
        ("/x/torch/nn/modules/linear.py", 116, "forward"), ("/home/u/model.py", 12, "forward")
    ),
    "gradient": frames(
        ("/x/torch/autograd/graph.py", 823, "_engine_run_backward"),
        ("/home/u/train.py", 33, "step"),
    ),
}


class Allocator:
    """Takes and gives back blocks; the record of it begins when `record` is called."""

    def __init__(self, seed, device=0):
        self.random = random.Random(seed)
        self.device, self.time_us, self.next = device, START_US, BASE
        self.live, self.entries, self.recorded = {}, None, set()
        self.allocated = self.reserved = self.peak = self.peak_reserved = self.before = 0
        self.at_peak, self.segments = {}, []

    def record(self):
        self.entries, self.before, self.peak = [], self.allocated, 0
        self.look()

    def note(self, action, address, size, stack):
        self.time_us += self.random.randrange(3)
        if self.entries is not None:
            entry = {"action": action, "addr": address, "size": size, "stream": 0}
            entry |= {"time_us": self.time_us, "compile_context": "N/A", "frames": stack}
            self.entries.append(entry)
            self.look()

    def look(self):
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        if self.allocated > self.peak:
            self.peak, self.at_peak = self.allocated, dict(self.live)

    def take(self, size, use):
        address, self.next = self.next, self.next + 2 * size
        self.segments.append((address, 2 * size))
        self.reserved += 2 * size
        self.note("segment_alloc", address, 2 * size, USERS[use])
        self.live[address] = (size, use)
        self.allocated += size
        if self.entries is not None:
            self.recorded.add(address)
        self.note("alloc", address, size, USERS[use])
        return address

    def give(self, address):
        size, use = self.live.pop(address)
        self.allocated -= size
        self.recorded.discard(address)
        self.note("free_requested", address, size, [])
        self.note("free_completed", address, size, [])

    def segment(self, address, size):
        used, use = self.live.get(address, (0, "activation"))
        about = {"device": self.device, "address": address, "total_size": size, "stream": 0}
        about |= {"allocated_size": used, "segment_type": "large", "frames": []}
        state = "active_allocated" if used else "inactive"
        first = {"address": address, "size": used, "requested_size": used, "state": state}
        rest = {"address": address + used, "size": size - used, "state": "inactive"}
        blocks = [first | {"frames": USERS[use]}] if used else []
        return about | {"blocks": [*blocks, rest | {"requested_size": 0, "frames": []}]}

    def snapshot(self):
        return {
            "segments": [self.segment(*segment) for segment in self.segments],
            "device_traces": [[] for _ in range(self.device)] + [self.entries],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": ""},
            "external_annotations": [],
        }


def train(seed, events, device=0):
    """An allocator that was at work before the record began, and during it."""
    allocator = Allocator(seed, device)
    for step in range(2 * events):
        if step == events:
            allocator.record()
        if allocator.live and allocator.random.random() < 0.45:
            allocator.give(allocator.random.choice(sorted(allocator.live)))
        else:
            size = allocator.random.choice([512, MB, 20 * MB])
            allocator.take(size, allocator.random.choice(sorted(USERS)))
    return allocator


def write(path, allocator, protocol=4):
    path.write_bytes(pickle.dumps(allocator.snapshot(), protocol=protocol))
    return path
