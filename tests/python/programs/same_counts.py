# SPDX-License-Identifier: Apache-2.0
"""The tracer beside cProfile on one deterministic program; runs on any CPython."""

import asyncio
import cProfile
import functools
import json
import sys
import threading
import warnings

from gait.profilers import Advanced
from known_calls import fail, fib, generate, wait

warnings.simplefilter("ignore")


class Thing:
    def __init__(self):
        self.x = list(range(5))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True

    @property
    def total(self):
        return sum(self.x)

    def __eq__(self, other):
        return True

    __hash__ = None


def odd(n):
    return n and even(n - 1)


def even(n):
    return n and odd(n - 1) + odd(n - 1)


def deep(n):
    return 0 if n == 0 else deep(n - 1)


def use_generators():
    generator = generate(5)
    next(generator)
    try:
        generator.throw(KeyError)
    except StopIteration:
        pass
    list(generator)
    left_open = generate(4)
    next(left_open)
    left_open.close()
    sum(x + 1 for x in range(4))
    [x * 2 for x in range(3)]


def use_exceptions():
    for _ in range(3):
        try:
            fail(4)
        except ValueError:
            pass
    with Thing() as thing:
        assert thing.total == 10
        fail(1)


def use_coroutines():
    loop = asyncio.new_event_loop()
    loop.slow_callback_duration = 60  # said of in debug mode, by a busy machine
    assert loop.run_until_complete(asyncio.wait_for(wait(3), 1)) == 3
    loop.close()


def program():
    fib(12)
    use_generators()
    use_exceptions()
    use_coroutines()
    sorted([3, 1, 2], key=lambda v: -v)
    list(map(fib, range(6)))
    json.loads(json.dumps({"a": [1, 2, {"b": None}] * 5}, indent=1))
    even(9)
    deep(500)
    functools.reduce(lambda x, y: x + y, range(10))
    assert Thing() == Thing()


def counts(stats):
    """Of each function, and of each that called it."""
    own = {key: value[:2] for key, value in stats.items() if "_lsprof" not in key[2]}
    callers = {key: {who: n[:2] for who, n in stats[key][4].items()} for key in own}
    return own, callers


def check_counts(builtins):
    reference = cProfile.Profile()
    reference.enable(builtins=builtins)  # from 3.14 on it goes by this alone
    program()
    reference.disable()
    reference.create_stats()
    profiler = Advanced(builtins=builtins)
    profiler.start("all")
    program()
    profiler.stop("all")
    profiler.close()
    ours = profiler.stats("all").stats
    assert len(ours) > 80
    for theirs, mine in zip(counts(reference.stats), counts(ours)):
        assert theirs == mine, {
            k: (theirs.get(k), mine.get(k))
            for k in {**theirs, **mine}
            if theirs.get(k) != mine.get(k)
        }


def begin_inside(profiler):
    profiler.start("late")
    return fib(3)


def climb(profiler, n):
    if n:
        return climb(profiler, n - 1)
    begin_inside(profiler)
    fib(2)


def check_wishes():
    """What one left out, the next one sees."""
    first, second = Advanced(exclude=["*:fib"]), Advanced()
    for profiler in (first, second):
        with profiler.profile("all"):
            fib(3)
            fail_once()
        profiler.close()
    rows = [{key[2] for key in profiler.stats("all").stats} for profiler in (first, second)]
    assert "fib" not in rows[0] and "fail" in rows[0], rows
    assert {"fib", "fail"} <= rows[1], rows


def fail_once():
    try:
        fail(0)
    except ValueError:
        pass


def check_late_start():
    """Returns of calls that nobody saw begin are no error, and no rows."""
    profiler = Advanced()
    climb(profiler, 20)
    fib(1)
    profiler.stop("late")
    stats = profiler.stats("late").stats
    assert {key[2]: value[:2] for key, value in stats.items()} == {"fib": (3, 9)}, stats
    profiler.close()


def check_depth():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(30000)
    profiler = Advanced()
    thread = threading.Thread(target=lambda: deep(10000))
    threading.stack_size(512 << 20)
    with profiler.profile("deep"):
        thread.start()
        thread.join()
    threading.stack_size(0)
    sys.setrecursionlimit(limit)
    rows = {key[2]: value[:2] for key, value in profiler.stats("deep").stats.items()}
    assert rows["deep"] == (1, 10001), rows["deep"]
    profiler.close()


def check_threads():
    profiler = Advanced()
    alone = Advanced(threads=False) if sys.version_info >= (3, 12) else None
    barrier = threading.Barrier(5)

    def work():
        barrier.wait()
        fib(5)
        barrier.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    threads[0].start()  # before the profiler, the others after
    profiler.start("all")
    if alone:
        alone.start("all")
    for thread in threads[1:]:
        thread.start()
    barrier.wait()
    barrier.wait()
    for thread in threads:
        thread.join()
    profiler.stop("all")
    profiler.close()
    rows = {key[2]: value[:2] for key, value in profiler.stats("all").stats.items()}
    assert rows["fib"] == (4, 60), rows["fib"]
    if alone:
        alone.stop("all")
        alone.close()
        assert "fib" not in {key[2] for key in alone.stats("all").stats}


def check_company():
    """Beside cProfile: both count, or ours says who is there."""
    reference = cProfile.Profile()
    reference.enable()
    profiler = Advanced()
    try:
        profiler.start("all")
        fib(5)
        profiler.stop("all")
        assert sys.version_info >= (3, 12)
        rows = {key[2]: value[:2] for key, value in profiler.stats("all").stats.items()}
        assert rows["fib"] == (1, 15), rows
    except RuntimeError as error:
        assert sys.version_info < (3, 12) and "cProfile" in str(error), error
    finally:
        reference.disable()
    seen = []
    sys.settrace(lambda *event: seen.append(event[1]))
    with profiler.profile("traced"):
        fib(4)
    sys.settrace(None)
    rows = {key[2]: value[:2] for key, value in profiler.stats("traced").stats.items()}
    assert rows["fib"] == (1, 9) and seen.count("call") == 9, (rows, seen)
    profiler.close()


program()  # what is done once a process
for with_builtins in (False, True):
    check_counts(with_builtins)
check_wishes()
check_late_start()
check_depth()
check_threads()
check_company()
print("the same")
