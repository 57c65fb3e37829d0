# SPDX-License-Identifier: Apache-2.0
"""Memory that grows with the steps, and a thread that waits for a processor."""

import pytest

# each step computes for some 4 ms and never sleeps: what it does not run, it waits
TRAINING = """
import json, os, subprocess, sys, time
import torch
torch.set_num_threads(1)
model = torch.nn.Linear(512, 512)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(64, 512)
kept = []
def step(number):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    until = time.thread_time() + 0.004
    while time.thread_time() < until:
        pass
    KEEP
other = None
if OTHER:
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    line = [sys.executable, "-S", "-c", "print(1, flush=True)\\nwhile True: pass"]
    other = subprocess.Popen(line, stdout=subprocess.PIPE)
    other.stdout.readline()
step(0)
wall, ran = time.perf_counter(), time.thread_time()
for number in range(1, 500):
    step(number)
wall, ran = time.perf_counter() - wall, time.thread_time() - ran
if other:
    other.kill()
    other.wait()
print("TRUTH " + json.dumps({"rank": 0, "waited": 1 - ran / wall}))
"""
LEAK = "kept.append(torch.ones(125_000))"  # 0.5 MB
# warm-up, a buffer that comes and goes, and one that comes once and stays
NO_LEAK = """
    if number < 200: kept.append(torch.ones(125_000))
    if number == 420: kept.append(torch.ones(40_000_000))
    if number % 50 == 0: kept.append(torch.ones(25_000_000))
    if number % 50 == 25: kept.pop()
"""
BUSY = 0.05


@pytest.fixture
def trained(run_text):
    def go(keep, other):
        source = TRAINING.replace("KEEP", keep).replace("OTHER", str(other))
        done = run_text(source, warm=True)
        assert (done.code, done.stderr) == (0, "")
        return done

    return go


def finding(training, name):
    found = [one for one in training.report["findings"] if one["id"] == name]
    assert not found or found[0]["text"] in " ".join(training.screen.split())
    return found[0]["evidence"] if found else None


def assert_waits_are_told(training):
    """Against what the program itself could not run."""
    waited, evidence = training.truth["waited"], finding(training, "busy_machine")
    if waited > BUSY + 0.03:
        assert evidence["share"] == pytest.approx(waited, abs=0.05)
    if waited < BUSY - 0.03:
        assert evidence is None


def test_memory_that_grows_and_a_busy_machine_are_findings(trained):
    training = trained(LEAK, other=True)
    evidence = finding(training, "memory_grows")
    assert evidence["a_step_bytes"] == pytest.approx(
        500_000, rel=0.4
    )  # steps take turns of any length
    assert evidence["to_bytes"] > evidence["grown_bytes"] > 64e6
    assert training.truth["waited"] > 0.2
    assert_waits_are_told(training)


def test_memory_that_grew_before_or_once_is_none(trained):
    training = trained(NO_LEAK, other=False)
    assert finding(training, "memory_grows") is None
    assert_waits_are_told(training)
