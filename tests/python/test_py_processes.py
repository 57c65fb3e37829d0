# SPDX-License-Identifier: Apache-2.0
"""Processes: forks, spawns, sudden ends, interpreters inside one."""

import signal

import pytest
from ring_files import needs_semaphores


def marks_by_process(run):
    found = {}
    for mark in run.events("mark"):
        found.setdefault(mark["pid"], []).append(mark["name"])
    return found


def test_a_forked_child_has_its_own_shard(record):
    run = record(
        """
        import os
        gait.mark("parent before")
        with gait.span("open at the fork"):
            child = os.fork()
            if child == 0:
                gait.mark("child")
                raise SystemExit(0)
            os.waitpid(child, 0)
        gait.mark("parent after")
        """
    )
    assert len(run.shards) == 2
    parent, child = sorted(marks_by_process(run).values(), key=len, reverse=True)
    assert parent == ["parent before", "parent after"]
    assert child == ["child"]
    assert [s["complete"] for s in run.info()["shards"]] == [True, True]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_leave_complete_shards(record, method):
    run = record(
        f"""
        import multiprocessing, os

        def work(number):
            with gait.span("work"):
                gait.mark("task %d" % number)
            return os.getpid()

        if __name__ == "__main__":
            context = multiprocessing.get_context({method!r})
            children = [context.Process(target=work, args=(n,)) for n in range(2)]
            for child in children: child.start()
            for child in children: child.join()
            assert [child.exitcode for child in children] == [0, 0]
            gait.mark("parent")
        """
    )
    by_process = marks_by_process(run)
    assert sorted(sum(by_process.values(), [])) == ["parent", "task 0", "task 1"]
    assert len(by_process) == 3
    working = {s["pid"] for s in run.events("span", "work")}
    shards = {s["pid"]: s["complete"] for s in run.info()["shards"]}
    assert len(working) == 2 and all(shards[pid] for pid in working)


@needs_semaphores
def test_a_pool_whose_workers_are_terminated(record):
    run = record(
        """
        import multiprocessing
        def work(number):
            with gait.span("task"):
                return number * number
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map(work, range(40), chunksize=1) == [n * n for n in range(40)]
        """
    )
    assert len(run.events("span", "task")) == 40


def test_imported_late_in_a_child(record):
    """The child is the first of its family to import gait, and leaves by os._exit()."""
    run = record(
        """
        import multiprocessing
        def work():
            import gait
            gait.mark("late")
        if __name__ == "__main__":
            child = multiprocessing.get_context("fork").Process(target=work)
            child.start()
            child.join()
            raise SystemExit(child.exitcode)
        """,
        first="",
    )
    assert run.names("mark") == ["late"]
    assert [shard["complete"] for shard in run.info()["shards"]] == [True]


def test_os_exit_loses_nothing(record):
    run = record(
        """
        import os
        for number in range(100):
            gait.mark("m%d" % number)
        gait.begin("left open")
        os._exit(7)
        """,
        code=7,
    )
    assert run.names("mark") == [f"m{number}" for number in range(100)]
    (left,) = run.events("span", "left open")
    assert left["duration_ns"] is None


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGINT"])
def test_a_signal_ends_the_program_as_it_would_have(record, name):
    run = record(
        f"""
        import os, signal
        gait.mark("before")
        with gait.span("open"):
            os.kill(os.getpid(), signal.{name})
            for _ in range(10**9): pass
        """,
        code=-getattr(signal, name),
    )
    assert run.names("mark") == ["before"]
    assert run.names() == ["open"]


def test_an_interrupted_training_closes_its_record(record):
    run = record(
        """
        import atexit, os, signal
        atexit.register(gait.mark, "atexit")
        os.kill(os.getpid(), signal.SIGINT)
        """,
        code=-signal.SIGINT,
    )
    assert "KeyboardInterrupt" in run.stderr
    assert run.names("mark") == ["atexit"]
    assert [shard["complete"] for shard in run.info()["shards"]] == [True]


def test_an_exit_with_threads_alive(record):
    run = record(
        """
        import threading, time
        started = threading.Barrier(5)
        def forever():
            started.wait()
            while True:
                with gait.span("turn"):
                    pass
        for _ in range(4):
            threading.Thread(target=forever, daemon=True).start()
        started.wait()
        time.sleep(0.05)
        print("leaving")
        """
    )
    assert run.stdout == "leaving\n" and run.stderr == ""
    assert run.info()["events"] > 4  # a million or so: reading them takes longer than all else


def test_spans_in_finalizers_and_atexit(record):
    run = record(
        """
        import atexit
        class Last:
            def __init__(self): self.begin, self.end = gait.begin, gait.end
            def __del__(self):
                with gait.span("del"):
                    self.begin("x"); self.end()
        atexit.register(gait.mark, "atexit")
        keep = Last()
        cycle = Last(); cycle.self = cycle
        """
    )
    assert "atexit" in run.names("mark")
    assert run.stderr == ""


def test_an_unhandled_exception_keeps_its_exit_code(record):
    run = record(
        """
        with gait.span("fails"):
            raise SystemError("broken on purpose")
        """,
        code=1,
    )
    assert "broken on purpose" in run.stderr
    assert run.names() == ["fails"]


def test_interpreters_inside_one_process(record):
    run = record(
        """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        program = '''
        import gait
        with gait.span("inner"):
            gait.mark("from inside")
        @gait.span("f")
        def f(): return 3
        assert f() == 3
        '''
        import textwrap
        with gait.span("outer"):
            for _ in range(3):
                interpreter = interpreters.create()
                failed = interpreters.run_string(interpreter, textwrap.dedent(program))
                assert failed is None, failed
                interpreters.destroy(interpreter)
        with gait.span("after"):
            pass
        """
    )
    assert run.names() == ["outer"] + ["inner", "f"] * 3 + ["after"]
    assert len(run.events("mark", "from inside")) == 3
