# SPDX-License-Identifier: Apache-2.0
"""`gait record --native`: C frames where they belong, and a program that notices nothing."""

import ctypes
import functools
import json
import os
import pathlib
import signal
import subprocess

import pytest

from tests.support.sampled_programs import KNOWN, PROGRAMS, PYTHONS, read_folded, until

CHAIN = PROGRAMS / "programs" / "native_chain.py"
CALM = PROGRAMS / "programs" / "native_calm.py"
FAST = ["-r", 10000, "--native-rate", 3000]


def has_library():
    try:
        return hasattr(ctypes.CDLL("libdw.so.1"), "dwfl_frame_reg")
    except OSError:
        return False


needs_library = pytest.mark.skipif(not has_library(), reason="no libdw of elfutils 0.188 here")
pytestmark = needs_library


def summary(gait, path):
    done = gait("info", "--json", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout).get("sampler") or {}


def name_of(frame):
    return frame[0].rpartition(" (")[0] if is_native(frame) else frame[0].rpartition(".")[2]


def called_of(frames):
    """Names without the classes and functions they are in."""
    return [name_of(frame) for frame in frames]


def is_native(frame):
    """Of a library, the kernel's too, or the interpreter's program; it has no line."""
    file = frame[0].rpartition(" (")[2]
    return frame[2] == 0 and (".so" in file or "vdso" in file or file.startswith("python3"))


def wrong_calls(frames):
    """Pairs of Python frames that native_chain.py cannot have."""
    python = [frame[0].rpartition(".")[2] for frame in frames if not is_native(frame)]
    callers = {
        "burn": {"key", "compare", "deeper"},
        "key": {"by_sorted"},
        "compare": {"by_qsort"},
        "by_sorted": {"main"},
        "by_qsort": {"main"},
        "deeper": {"main", "<lambda>"},
        "<lambda>": {"deeper"},
        "main": {"<module>"},
    }
    pairs = zip(python, python[1:])
    return [pair for pair in pairs if pair[1] in callers and pair[0] not in callers[pair[1]]]


def between(frames, outer, inner):
    """Names of the native frames between two Python frames; None if they are not there."""
    called = called_of(frames)
    if outer not in called or inner not in called:
        return None
    inside = frames[called.index(outer) + 1 : called.index(inner)]
    assert all(is_native(frame) for frame in inside), frames
    return called_of(inside)


FULL = bool(os.environ.get("GAIT_TEST_FULL"))
FAMILIES = (8, 11, 13) if not FULL else KNOWN  # each keeps its frames in its own way


@pytest.fixture(params=FAMILIES, ids=[f"3.{minor}" for minor in FAMILIES])
def some_python(request):
    if request.param not in PYTHONS:
        pytest.skip(f"no CPython 3.{request.param} here; GAIT_TEST_PYTHONS names more")
    return PYTHONS[request.param]


def has_names(python):
    """Whether the interpreter's own functions have names: it is not stripped."""
    where = [python, *pathlib.Path(python).resolve().parents[1].glob("lib/libpython3*.so*")]
    return any(b"\0list_sort_impl\0" in file.read_bytes() for file in map(pathlib.Path, where))


def test_c_frames_stand_between_their_callers_and_what_they_call(
    some_python, gait, start, tmp_path
):
    process = start([some_python, CHAIN, 60, "hang"])
    stacks = []

    def record():
        out = tmp_path / "stacks.txt"
        done = gait("record", *FAST, "-i", "-d", 1, "-o", out, "--pid", process.pid)
        assert done.returncode == 0, done.stderr
        stacks.extend(frames for frames, _ in read_folded(out))
        called = [set(called_of(frames)) for frames in stacks if any(map(is_native, frames))]
        return all(any(name in names for names in called) for name in ("key", "compare", "hang"))

    assert until(record, 60)
    assert [frames for frames in stacks if wrong_calls(frames)] == []
    # nothing of the interpreter's start-up, and no eval in the place of Python
    assert all(called_of(frames)[0] in ("<module>", "_bootstrap") for frames in stacks)
    inner = {name for frames in stacks for name in called_of(frames[:-3])}
    assert not [name for name in inner if name.startswith("_PyEval_EvalFrameDefault")]
    # on a crowded machine some have Python frames alone; all others have all that is in between
    merged = [frames for frames in stacks if any(map(is_native, frames))]
    by_sorted = [names for names in (between(each, "by_sorted", "key") for each in merged) if names]
    by_qsort = [
        names for names in (between(each, "by_qsort", "compare") for each in merged) if names
    ]
    assert by_sorted and by_qsort
    assert [names for names in by_qsort if not {"qsort", "qsort_r"} & set(names)] == []
    if has_names(some_python):
        assert [names for names in by_sorted if "list_sort_impl" not in names] == []
    hung = [called_of(frames) for frames in merged if "hang" in called_of(frames)]
    assert all("pause" in names[names.index("hang") + 1 :] for names in hung)


def test_only_the_threads_that_are_named_have_c_frames(gait, start, tmp_path):
    process = start([PYTHONS[max(PYTHONS)], CHAIN, 60, "hang"])
    out = tmp_path / "stacks.txt"
    words = ["--native-only", "MainThread", "-i", "-d", 1, "-o", out, "--pid", process.pid]
    gait("record", *FAST, *words)
    stacks = [frames for frames, _ in read_folded(out)]
    hung = [frames for frames in stacks if "hang" in called_of(frames)]
    assert hung and not any(is_native(frame) for frames in hung for frame in frames)
    assert any(is_native(frame) for frames in stacks for frame in frames)


def test_the_program_notices_nothing(some_python, gait, tmp_path):
    out = tmp_path / "run.gait"
    done = gait("record", *FAST, "-o", out, "--", some_python, CALM, 1)
    assert done.stdout.splitlines()[-1] == "calm"
    assert done.returncode == 7
    told = summary(gait, out)["native"]
    assert told["stops"] > 0 and told["refused"] == 0
    assert 0 < told["stop_us"]["median"] <= told["stop_us"]["p99"] <= told["stop_us"]["max"] + 1


def test_a_run_holds_c_frames_beside_its_steps(gait, tmp_path):
    done = gait("run", "--native", "-o", tmp_path / "run", "--", PYTHONS[max(PYTHONS)], CHAIN, 1)
    assert (done.returncode, done.stdout) == (0, "ready\ndone\n")
    (samples,) = (tmp_path / "run").glob("samples.*.gait")
    told = summary(gait, samples)
    assert told["rate_asked_hz"] == 1000 and told["native"]["looks"] > 0


def test_without_the_library_one_sentence_says_so(gait, tmp_path):
    (tmp_path / "libdw.so.1").write_text("")
    out = tmp_path / "stacks.txt"
    python = PYTHONS[max(PYTHONS)]
    there = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = gait("record", *FAST, "-o", out, "--", python, CHAIN, 1, env=there)
    assert (done.returncode, done.stdout) == (0, "ready\ndone\n")
    assert "gait: native frames need libdw.so.1, which is missing; install it" in done.stderr
    assert "native frames:" not in done.stderr
    stacks = [frames for frames, _ in read_folded(out)]
    assert stacks and not any(is_native(frame) for frames in stacks for frame in frames)


def test_a_thread_that_is_traced_already_keeps_its_python_frames(gait, start, tmp_path):
    process = start([PYTHONS[max(PYTHONS)], CHAIN, 60])
    libc = ctypes.CDLL(None, use_errno=True)
    seize = [ctypes.c_long(0x4206), ctypes.c_long(process.pid), ctypes.c_long(0), ctypes.c_long(0)]
    if libc.ptrace(*seize) != 0:
        pytest.skip("no process may be traced here")
    out = tmp_path / "stacks.txt"
    done = gait("record", *FAST, "-d", 1, "-o", out, "--pid", process.pid)
    assert done.returncode == 0
    assert f"is already traced by process {os.getpid()} (a debugger or strace)" in done.stderr
    stacks = [frames for frames, _ in read_folded(out)]
    assert stacks and not any(is_native(frame) for frames in stacks for frame in frames)


def state_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in text.splitlines())
    return fields["State"].split()[0], int(fields["TracerPid"])


def recording(build, process, out, seconds=600):
    words = ["record", *FAST, "-d", seconds, "-o", out, "--pid", process.pid]
    return subprocess.Popen([str(build / "gait"), *map(str, words)], stderr=subprocess.DEVNULL)


def has_looked(gait, out):
    """Whether the recording, which is still being written, tells of looks."""
    done = gait("info", "--json", out)
    told = json.loads(done.stdout).get("sampler") or {} if done.returncode == 0 else {}
    return told.get("native", {}).get("stops", 0) > 5


def test_a_sampler_that_is_killed_leaves_nobody_stopped(build, gait, start, tmp_path):
    process = start([PYTHONS[max(PYTHONS)], CHAIN, 600])
    for i in range(2):
        out = tmp_path / f"run{i}.gait"
        sampler = recording(build, process, out)
        try:
            assert until(functools.partial(has_looked, gait, out), 90)
        finally:
            sampler.kill()
            sampler.wait()
        assert until(lambda: state_of(process.pid)[1] == 0)
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "done\n"
    assert process.wait() == 0


def test_a_stopped_program_stays_stopped_and_goes_on_when_told(build, gait, start, tmp_path):
    process = start([PYTHONS[max(PYTHONS)], CHAIN, 600])
    out = tmp_path / "run.gait"
    sampler = recording(build, process, out)
    try:
        assert until(lambda: has_looked(gait, out), 90)
        process.send_signal(signal.SIGSTOP)
        assert until(lambda: state_of(process.pid)[0] == "T")
        before = summary(gait, out).get("rounds", 0)
        assert until(lambda: summary(gait, out).get("rounds", 0) > before + 200, 90)
        assert state_of(process.pid)[0] == "T"
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "done\n"
        assert process.wait() == 0
        assert sampler.wait() == 0
    finally:
        sampler.kill()
        sampler.wait()
