# SPDX-License-Identifier: Apache-2.0
"""A training with loader workers and many threads of its own, sampled from outside."""

import json
import subprocess
import sys

import pytest
from ring_files import needs_semaphores

from tests.support.sampled_programs import RIGHT, until

pytestmark = pytest.mark.skipif(not RIGHT, reason="processes may not be read here")


def sampled(gait, path):
    """How many processes a recording has so far."""
    done = gait("info", "--json", path)
    return json.loads(done.stdout).get("sampler", {}).get("processes", 0) if done.stdout else 0


@needs_semaphores
def test_no_worker_is_lost_and_nothing_stalls(gait, build, root, tmp_path):
    out = tmp_path / "run.gait"
    record = [build / "gait", "record", "-q", "-s", "-i", "-r", "1000", "-o", out, "--"]
    program = [sys.executable, root / "bench/torch_loader.py", "16", "4", "160", "wait"]
    running = subprocess.Popen(
        [str(word) for word in (*record, *program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        told = json.loads(running.stdout.readline())
        assert told["workers"] == [0, 1, 2, 3] and told["native"] == 160
        assert until(lambda: sampled(gait, out) == 5, 60)
        running.stdin.close()
        assert running.wait(timeout=60) == 0
    finally:
        running.kill()
        running.wait()
    rows = json.loads(gait("leaf", "-n", "all", "--by", "process", "--json", out).stdout)["rows"]
    assert len({row["process"] for row in rows}) == 5


WAITS = """
import time, torch
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 40
    def __getitem__(self, index):
        time.sleep(.03)
        return torch.randn(4), torch.tensor(index % 2)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), .1)
for x, y in DataLoader(Slow(), batch_size=4, num_workers=1):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def asked(gait, phase):
    words = ["leaf", "--functions", "-n", "all", "--json", "--phase", phase, "run"]
    answer = json.loads(gait(*words).stdout)
    totals = {row["name"].rpartition(".")[2]: row["total"] for row in answer["functions"]}
    return answer, totals


@needs_semaphores
def test_a_training_that_waits_for_data_is_asked_what_it_waits_in(gait, tmp_path):
    (tmp_path / "train.py").write_text(WAITS)
    done = gait("run", "-q", "--sample", 500, "-o", "run", "--", sys.executable, "train.py")
    assert done.returncode == 0, done.stderr
    waited, totals = asked(gait, "input")
    assert waited["samples_blocked"] > 0.7 * waited["samples"] > 0
    # in its loader, for a worker's message
    assert totals["_try_get_data"] > 0.7 * waited["samples"]
    fetched, totals = asked(gait, "fetch")
    assert fetched["samples_blocked"] > 0.7 * fetched["samples"] > 0
    assert totals["__getitem__"] > 0.7 * fetched["samples"]


OTHERS = """
import time, torch
def busy(seconds): # of the processor, which samples count, however many want it
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def set_up(): busy(1)
def measure(): busy(.05)
class Rows(list):
    def __getitem__(self, index): return self.augment(super().__getitem__(index))
    def augment(self, row):
        busy(.002)
        return row
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), .1)
loader = torch.utils.data.DataLoader(Rows([(torch.randn(4), 1)] * 80), batch_size=4)
model(torch.randn(1, 4)).sum().backward()
set_up()
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    measure()
"""


def test_what_is_in_no_phase_is_asked_of_the_steps_alone(gait, tmp_path):
    (tmp_path / "train.py").write_text(OTHERS)
    done = gait("run", "-q", "--sample", 500, "-o", "run", "--", sys.executable, "train.py")
    assert done.returncode == 0, done.stderr
    answer, totals = asked(gait, "other")
    assert totals["measure"] > 0.6 * answer["samples"] > 100
    assert totals.get("set_up", 0) < 0.05 * answer["samples"]
    steps, totals = asked(gait, "steps")
    assert steps["samples"] > answer["samples"]
    # Of a row of 500 looks only the first has its time. Where no look comes for a tenth of a
    # second just as the steps begin, and more came before than the rate promises, the last
    # of the row seem to lie behind: in one of 50 such cases, and then a few.
    assert totals.get("set_up", 0) < 0.01 * steps["samples"]
    assert totals["measure"] + totals.get("forward", 0) > 0.6 * steps["samples"]
    assert "  see: gait leaf --phase other run\n" in gait("report", "run").stdout
    where = json.loads(gait("report", "--json", "run").stdout)["where"]
    for phase, least in (("input", 0.5), ("other", 0.6), ("start-up", 0.1)):
        lines = [row for row in where if row["phase"] == phase]
        assert {row["file"] for row in lines} == {str(tmp_path / "train.py")}
        assert sum(row["share"] for row in lines if row["function"] == "busy") > least, phase


HOLDS = """
import random, sys, torch
chance = random.Random(11)
KINDS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
         torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bool,
         torch.bfloat16)
def made(number):
    sizes = [chance.randint(0, 4) for _ in range(chance.choice((0, 1, 2, 3, 4, 5, 6, 7, 9)))]
    tensor = torch.empty(sizes, dtype=chance.choice(KINDS), device=chance.choice(("cpu", "meta")))
    if sizes and chance.random() < .3:
        tensor = tensor.transpose(0, -1)[..., :1]
    if tensor.is_floating_point() and chance.random() < .3:
        tensor = torch.nn.Parameter(tensor)
    return tensor
def said(tensor):
    shown = ", ".join(map(str, tensor.shape[:8])) + (", ..." if tensor.dim() > 8 else "")
    kind = type(tensor)
    name = f"{kind.__module__}.{kind.__name__} {str(tensor.dtype)[6:]}[{shown}] {tensor.device}"
    return f"<{name} at {hex(id(tensor))}>"
def holds():
    for number in range(80):
        globals()[f"t{number}"] = made(number)
    print(*(said(globals()[f"t{number}"]) for number in range(80)), sep=";", flush=True)
    sys.stdin.read()
holds()
"""


def test_variables_tell_what_a_tensor_is(gait, tmp_path):
    """Of each kind, shape and device, views and parameters: as the program says itself."""
    script = tmp_path / "holds.py"
    script.write_text(HOLDS)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(script)], **pipes) as program:
        wanted = program.stdout.readline().rstrip("\n").split(";")
        frames = json.loads(gait("dump", "--locals", "--json", program.pid).stdout)["threads"]
        program.stdin.close()
    found = {
        one["name"]: one["value"]
        for thread in frames
        for frame in thread["frames"]
        for one in frame["locals"] or []
    }
    assert [found.get(f"t{number}") for number in range(80)] == wanted
