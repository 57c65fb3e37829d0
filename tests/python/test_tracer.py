# SPDX-License-Identifier: Apache-2.0
"""The function tracer: the same counts as cProfile's, whatever a program does."""

import os
import subprocess
import sys
import threading

import pytest


@pytest.fixture(scope="module")
def advanced(read):
    from gait.profilers import Advanced

    return Advanced


def rows_of(profiler, action):
    """{name: (primitive calls, calls)} of the functions of this file: the process
    has threads of others, whose functions are heard too."""
    stats = profiler.stats(action)
    rows = {} if stats is None else stats.stats
    return {key[2]: value[:2] for key, value in rows.items() if key[0] == __file__}


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@pytest.mark.parametrize("name", ["same_counts.py", "same_stacks.py"])
def test_it_hears_what_the_interpreters_own_hear(name, root, python_path):
    program = root / "tests/python/programs" / name
    env = {**os.environ, "PYTHONPATH": python_path, "PYTHONDEVMODE": "1"}
    done = subprocess.run([sys.executable, program], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("the same\n", "")


def test_actions_that_overlap_each_see_their_own_calls(advanced):
    profiler = advanced()
    profiler.start("a")
    fib(1)
    profiler.start("b")
    fib(1)
    profiler.stop("a")
    fib(1)
    profiler.start("c")
    profiler.stop("b")
    fib(1)
    profiler.stop("c")
    profiler.close()
    assert [rows_of(profiler, name)["fib"][1] for name in "abc"] == [2, 2, 1]
    assert rows_of(profiler, None)["fib"] == (4, 4)


def test_an_action_inside_itself_counts_once(advanced):
    profiler = advanced()
    with profiler.profile("a"):
        with profiler.profile("a"):
            fib(1)
        fib(1)
    profiler.close()
    assert rows_of(profiler, "a") == {"fib": (2, 2)}


def test_frames_that_are_open_at_the_end_of_an_action_count(advanced):
    profiler = advanced()

    def leave():
        fib(1)
        profiler.stop("inner")
        fib(1)

    with profiler.profile("outer"):
        profiler.start("inner")
        leave()
    profiler.close()
    assert rows_of(profiler, "inner") == {"leave": (1, 1), "fib": (1, 1)}
    assert rows_of(profiler, "outer") == {"leave": (1, 1), "fib": (2, 2)}
    stats = profiler.stats("outer").stats
    total = {key[2]: value[3] for key, value in stats.items()}
    own = sum(value[2] for value in stats.values())
    assert own == pytest.approx(total["leave"], rel=1e-9)


def test_a_report_while_actions_run_takes_nothing_away(advanced):
    profiler = advanced()

    def ask():
        fib(1)
        return rows_of(profiler, "a")

    with profiler.profile("a"):
        seen = ask()
    profiler.close()
    assert seen["ask"] == (1, 1) and seen["fib"] == (1, 1)
    assert rows_of(profiler, "a")["ask"] == (1, 1)


def test_exceptions_through_many_frames(advanced):
    profiler = advanced()

    def fall(n):
        if n == 0:
            raise ValueError
        fall(n - 1)

    with pytest.raises(ValueError), profiler.profile("a"):
        fall(50)
    fib(3)
    profiler.close()
    assert rows_of(profiler, "a") == {"fall": (1, 51)}


def test_patterns_choose_functions(advanced):
    for options, wanted in (
        ({"only": "fib"}, {"fib"}),
        ({"exclude": ["*test_tracer.py"]}, set()),
        ({"exclude": "helper"}, {"fib"}),
    ):
        profiler = advanced(**options)

        def helper():
            return fib(2)

        with profiler.profile("a"):
            helper()
            helper()
        profiler.close()
        assert set(rows_of(profiler, "a")) == wanted


def in_thread(target, *arguments):
    thread = threading.Thread(target=target, args=arguments)
    thread.start()
    thread.join()


def test_an_action_inside_itself_is_each_threads_own(advanced):
    profiler = advanced(threads=False)

    def other():
        profiler.start("a")
        fib(1)
        profiler.stop("a")
        fib(1), fib(1)  # after its action

    profiler.start("a")
    profiler.start("a")
    in_thread(other)
    profiler.stop("a")
    fib(1)
    profiler.stop("a")
    fib(1)
    assert not profiler.is_on or "fib" in rows_of(profiler, "a")
    profiler.close()
    assert rows_of(profiler, "a")["fib"] == (2, 2)


def test_threads_that_recurse_count_as_one_cprofile_each(advanced):
    import cProfile
    import pstats

    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    def work(n):
        fib(n), even(n)

    depths = (3, 5, 9)

    def alone(n):
        profile = cProfile.Profile(builtins=False)
        profile.runcall(work, n)
        with lock:
            profiles.append(profile)

    lock, profiles = threading.Lock(), []
    for n in depths:
        in_thread(alone, n)
    expected = pstats.Stats(*profiles)
    expected = {key: value[:2] for key, value in expected.stats.items() if key[0] == __file__}
    profiler = advanced()
    barrier = threading.Barrier(len(depths))

    def together(n):
        barrier.wait()
        for _ in range(2):  # inside itself: once
            profiler.start("a")
        work(n)
        for _ in range(2):
            profiler.stop("a")

    threads = [threading.Thread(target=together, args=(n,)) for n in depths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    profiler.close()
    found = {key: value[:2] for key, value in profiler.stats("a").stats.items()}
    assert {key: found.get(key) for key in expected} == expected


def test_another_thread_counts_while_no_action_of_its_own_runs(advanced):
    profiler = advanced()
    go, done = threading.Event(), threading.Event()

    def work():
        with profiler.profile("own"):
            go.wait()
            fib(4)
        fib(3)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    with profiler.profile("main"):
        go.set()
        done.wait()
    thread.join()
    profiler.close()
    assert rows_of(profiler, "own")["fib"] == (1, 9)
    assert rows_of(profiler, "main")["fib"] == (1, 5)


def test_started_here_and_stopped_on_another_thread(advanced):
    profiler = advanced()
    profiler.start("a")
    fib(1)
    thread = threading.Thread(target=profiler.stop, args=("a",))
    thread.start()
    thread.join()
    fib(1)
    profiler.close()
    assert rows_of(profiler, "a")["fib"] == (1, 1)


def test_stopped_after_its_thread_ended_and_another_came(advanced):
    profiler = advanced()
    for target in (lambda: profiler.start("a"), lambda: fib(1)):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    profiler.stop("a")
    fib(2)
    for _ in range(30000):
        fib(1)
    is_on = profiler.is_on
    profiler.close()
    assert not is_on
    assert rows_of(profiler, "a")["fib"] == (1, 1)


def test_one_profiler_after_another(advanced):
    # each stays for a while after its action, and there are few places for them
    profilers = [advanced() for _ in range(5)]
    for number, profiler in enumerate(profilers):
        with profiler.profile("a"):
            fib(number)
    counts = [rows_of(profiler, "a")["fib"] for profiler in profilers]
    for profiler in profilers:
        profiler.close()
    assert counts == [(1, 1), (1, 1), (1, 3), (1, 5), (1, 9)]


def test_the_interpreter_is_let_go_when_nothing_runs(advanced):
    profiler = advanced()
    with profiler.profile("a"):
        fib(21)  # 35,421 calls
    for _ in range(30000):
        fib(1)
    assert not profiler.is_on
    with profiler.profile("a"):
        fib(1)
    profiler.close()
    assert rows_of(profiler, "a")["fib"] == (2, 35422)


def test_who_holds_the_profile_function_is_named(advanced):
    if sys.version_info >= (3, 12):
        pytest.skip("sys.monitoring has room for several")

    def holder(*_):
        pass

    profiler = advanced()
    sys.setprofile(holder)
    try:
        with pytest.raises(RuntimeError, match="holder"):
            profiler.start("a")
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    "ending", ["os._exit(0)", "sys.exit(0)", "os.kill(os.getpid(), 9)", "1 / 0", "pass"]
)
def test_a_process_may_end_in_any_way_while_it_is_traced(ending, record):
    run = record(
        f"""
        import os, sys, threading, time
        from gait.profilers import Advanced
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        profiler = Advanced(builtins=True)
        profiler.start("a")
        def busy():
            while True: fib(5)
        threading.Thread(target=busy, daemon=True).start()
        class Late:
            def __del__(self): fib(3)
        late = [Late()]; late.append(late)
        fib(10)
        {ending}
        """,
        recording=False,
        code=None,
    )
    wanted = {"os.kill(os.getpid(), 9)": -9, "1 / 0": 1}.get(ending, 0)
    assert run.process.returncode == wanted, run.stderr
    assert "Fatal" not in run.stderr and "Segmentation" not in run.stderr


def test_a_child_of_fork_starts_with_nothing(record):
    run = record(
        """
        import os, sys
        from gait.profilers import Advanced
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        profiler = Advanced()
        def work():
            fib(5)
            child = os.fork()
            if child == 0:
                fib(6)
                assert not profiler.is_on
                profiler.stop("a")
                assert profiler.stats("a") is None
                with profiler.profile("b"):
                    fib(4)
                rows = {key[2]: value[:2] for key, value in profiler.stats("b").stats.items()}
                assert rows == {"fib": (1, 9)}, rows
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            fib(3)
        with profiler.profile("a"):
            work()
        rows = {key[2]: value[:2] for key, value in profiler.stats("a").stats.items()}
        assert rows["fib"] == (2, 20) and rows["work"] == (1, 1), rows
        """,
        recording=False,
    )
    assert run.stderr == ""


def test_threads_and_code_that_come_and_go_take_no_memory(record):
    run = record(
        """
        import resource, threading
        from gait.profilers import Advanced
        profiler = Advanced()
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        def turn(n):
            for _ in range(n):
                thread = threading.Thread(target=fib, args=(5,))
                thread.start()
                thread.join()
                fib(12)
        with profiler.profile("a"):
            turn(50)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            turn(1500)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """,
        recording=False,
    )
    assert int(run.stdout) < 1500


def test_names_without_end_share_one_action(advanced):
    profiler = advanced()
    for number in range(20000):
        with profiler.profile(f"name {number}"):
            fib(1)
    profiler.close()
    *_, last = names = profiler.actions()
    assert (len(names), last) == (4097, "(the names after the first 4096)")
    assert rows_of(profiler, last) == {"fib": (20000 - 4096, 20000 - 4096)}
    assert rows_of(profiler, None)["fib"] == (20000, 20000)
