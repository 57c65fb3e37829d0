# SPDX-License-Identifier: Apache-2.0
"""Spans, marks, counters, steps and arguments of one thread."""

import pytest


def test_with_nests_and_repeats(record):
    run = record(
        """
        for _ in range(3):
            with gait.span("outer"):
                with gait.span("inner", category="data"):
                    pass
        """
    )
    spans = run.events("span")
    assert [(s["category"], s["name"]) for s in spans] == [
        ("python", "outer"),
        ("data", "inner"),
    ] * 3
    for outer, inner in zip(spans[::2], spans[1::2]):
        assert run.is_inside(inner, outer)
    for before, after in zip(spans[::2], spans[2::2]):
        assert before["start_ns"] + before["duration_ns"] <= after["start_ns"]


def test_a_span_is_one_object_and_reentrant(record):
    run = record(
        """
        span = gait.span("fib")
        assert gait.span("fib") is span
        assert gait.span("f" + str(0)[:0] + "ib") is span  # equal, not the same str
        assert gait.span("fib", "other") is not span
        assert gait.span("fib", category="other") is gait.span("fib", "other")

        def fib(n):
            with span as entered:
                assert entered is span
                return n if n < 2 else fib(n - 1) + fib(n - 2)

        assert fib(10) == 55
        """
    )
    spans = run.events("span", "fib")
    assert len(spans) == 177
    assert all(run.is_inside(span, spans[0]) for span in spans[1:])


def test_an_exception_ends_the_span_and_passes(record):
    run = record(
        """
        try:
            with gait.span("fails"):
                with gait.span("inside"):
                    raise KeyError("k")
        except KeyError as error:
            assert error.args == ("k",)
        with gait.span("after"):
            pass
        """
    )
    fails, inside, after = run.events("span")
    assert run.is_inside(inside, fails)
    assert not run.is_inside(after, fails)


def test_exit_stack_and_explicit_calls(record):
    run = record(
        """
        import contextlib
        with contextlib.ExitStack() as stack:
            stack.enter_context(gait.span("first"))
            stack.enter_context(gait.span("second"))
        span = gait.span("third")
        span.__enter__()
        assert span.__exit__(None, None, None) is None
        """
    )
    assert run.names() == ["first", "second", "third"]
    assert run.is_inside(run.events("span")[1], run.events("span")[0])


def test_begin_takes_a_site_a_name_or_a_span(record):
    run = record(
        """
        site = gait.site("data", "load")
        assert site == gait.site("data", "load") == gait.span("load", "data").site
        for what in (site, "load", gait.span("load")):
            gait.begin(what)
            gait.end()
        """
    )
    assert [(s["category"], s["name"]) for s in run.events("span")] == [
        ("data", "load"),
        ("python", "load"),
        ("python", "load"),
    ]


def test_next_ends_one_span_and_begins_another_at_one_moment(record):
    run = record(
        """
        gait.begin("a")
        gait.next("b")
        gait.next(gait.site("python", "c"))
        gait.end()
        """
    )
    a, b, c = run.events("span")
    assert [a["name"], b["name"], c["name"]] == ["a", "b", "c"]
    assert a["start_ns"] + a["duration_ns"] == b["start_ns"]
    assert b["start_ns"] + b["duration_ns"] == c["start_ns"]


NAMES = {
    "plain": "plain",
    "empty": "",
    "umlauts": "Größe ∑ 训练 🙂",
    "quotes": 'a "quoted", with\r\nlines\tand \\ ',
    "NUL": "a\0b",
    "lone surrogate": "x\ud800y",
    "undecodable byte": "x\udcffy",
    "non-characters": "\ufffe\uffff\U0010ffff",
    "percent": "%s %n %%",
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_all_kinds(record, kind):
    name = NAMES[kind]
    run = record(
        f"""
        name = {name!a}
        with gait.span(name, category=name) as span:
            assert span.name == span.category == name
            gait.arg(name, name)
        gait.mark(name)
        gait.thread_name(name)
        gait.metadata("key", name)
        """
    )
    (span,) = run.events("span")
    (mark,) = run.events("mark")
    if kind == "NUL":
        expected = {"a\ufffdb"}
    elif kind == "lone surrogate":  # three bytes that are no UTF-8: one or three times U+FFFD
        expected = {"x\ufffdy", "x\ufffd\ufffd\ufffdy"}
    elif kind == "undecodable byte":
        expected = {"x\ufffdy"}
    else:
        expected = {name}
    assert span["name"] in expected
    assert span["category"] == mark["name"] == span["name"]
    assert span["args"] == {span["name"]: span["name"]}


def test_a_very_long_name_is_kept_or_cut_but_never_fatal(record):
    run = record(
        """
        with gait.span("x" * 100_000):
            gait.arg("y" * 100_000, "z" * 100_000)
        gait.mark("after")
        """
    )
    (span,) = run.events("span")
    assert span["name"].strip("x") == ""
    ((key, value),) = span["args"].items()
    assert key.strip("y") == ""
    assert value.strip("z") == "" and len(value) == 4000
    assert run.names("mark") == ["after"]


def test_many_names(record):
    """More than the extension keeps, more than most programs have."""
    run = record(
        """
        for number in range(70_000):
            with gait.span("n%d" % number):
                pass
        """,
        GAIT_OVERFLOW="block",
    )
    names = run.names()
    assert len(names) == 70_000
    assert names[:10] == [f"n{number}" for number in range(10)]
    odd = [n for number, n in enumerate(names) if n != f"n{number}"]
    assert not [n for n in odd if n], "a name that belongs to another span"
    assert len(odd) < 70_000 - 1024


def test_counters_are_typed(record):
    run = record(
        """
        import fractions
        class Index:
            def __index__(self): return 7
        values = [5, -(2**63), 2**63 - 1, True, 2.5, -0.0, 1e300, fractions.Fraction(1, 4), Index()]
        for value in values:
            gait.count("gauge", value)
        gait.count("big", 2**70)
        gait.count("nan", float("nan"))
        """
    )
    values = [c["value"] for c in run.events("counter", "gauge")]
    assert values == [5, -(2**63), 2**63 - 1, 1, 2.5, 0.0, 1e300, 0.25, 7]
    assert [type(v) for v in values] == [int] * 4 + [float] * 4 + [int]
    assert run.events("counter", "big")[0]["value"] == float(2**70)
    assert len(run.events("counter", "nan")) == 1


def test_a_value_that_refuses_does_not_end_the_program(record):
    run = record(
        """
        class Refuses:
            def __float__(self): raise RuntimeError("no number in here")
            def __str__(self): raise RuntimeError("no text in here")
        gait.count("gauge", Refuses())
        with gait.span("holds"):
            gait.arg("value", Refuses())
        print("went on")
        """
    )
    assert run.stdout == "went on\n"
    assert "no number in here" in run.stderr
    assert run.events("counter") == []
    assert "Refuses" in run.events("span", "holds")[0]["args"]["value"]


def test_arguments_are_typed(record):
    run = record(
        """
        import pathlib
        with gait.span("arguments"):
            gait.arg("int", -5)
            gait.arg("bool", True)
            gait.arg("real", 0.1)
            gait.arg("text", 'a"b')
            gait.arg("big", 2**64)
            gait.arg("huge", 10**5000)
            gait.arg("none", None)
            gait.arg("shape", (3, 224, 224))
            gait.arg("path", pathlib.PurePosixPath("/a"))
        gait.arg("nowhere", 1)
        """
    )
    (span,) = run.events("span")
    huge = span["args"].pop("huge")
    assert huge.startswith(hex(10**5000)[:100])
    assert span["args"] == {
        "int": -5,
        "bool": 1,
        "real": 0.1,
        "text": 'a"b',
        "big": str(2**64),
        "none": "None",
        "shape": "(3, 224, 224)",
        "path": "/a",
    }


def test_numpy_scalars_are_numbers(record):
    pytest.importorskip("numpy")
    run = record(
        """
        import numpy
        with gait.span("numpy"):
            gait.arg("i", numpy.int32(7))
            gait.arg("f", numpy.float32(0.5))
            gait.arg("a", numpy.arange(3))
        gait.count("n", numpy.float32(0.25))
        gait.count("n", numpy.int8(-3))
        """
    )
    assert run.events("span")[0]["args"] == {"i": 7, "f": 0.5, "a": "[0 1 2]"}
    assert [c["value"] for c in run.events("counter")] == [0.25, -3]


def test_span_args_are_recorded_at_each_begin(record):
    run = record(
        """
        with gait.span("s").args(batch=3, kind="train"):
            with gait.span("s"):
                pass

        @gait.span("f").args(version=2).args(extra=1)
        def f():
            return "value"
        assert f() == f() == "value"
        """
    )
    assert [(s["name"], s["args"]) for s in run.events("span")] == [
        ("s", {"batch": 3, "kind": "train"}),
        ("s", {}),
        ("f", {"version": 2, "extra": 1}),
        ("f", {"version": 2, "extra": 1}),
    ]


def test_steps_count_by_themselves(record):
    run = record(
        """
        for _ in range(2):
            with gait.step():
                with gait.span("work"):
                    pass
        with gait.step(10):
            pass
        with gait.step():
            pass
        gait.step_begin()
        gait.step_end()
        gait.step_begin(2**64 - 1)
        gait.step_begin(5)
        gait.step_end()
        """
    )
    steps = run.events("step")
    assert [s["id"] for s in steps] == [0, 1, 10, 11, 12, 2**64 - 1, 5]
    for work, step in zip(run.events("span", "work"), steps):
        assert run.is_inside(work, step)


def test_the_count_of_steps_goes_on_while_off(record, tmp_path):
    run = record(
        """
        import sys
        for _ in range(7):
            with gait.step():
                pass
        gait.start(sys.argv[1])
        with gait.step():
            pass
        """,
        str(tmp_path / "run"),
        recording=False,
    )
    assert [s["id"] for s in run.events("step")] == [7]


def test_steps_of_a_loop(record):
    run = record(
        """
        loop = gait.steps([10, 20, 30], first=4)
        assert len(loop) == 3
        seen = []
        for item in loop:
            with gait.span("body"):
                seen.append(item)
        assert seen == [10, 20, 30]
        for item in gait.steps(iter("ab")):
            break
        def broken():
            yield 1
            raise ValueError("reader failed")
        try:
            list(gait.steps(broken()))
        except ValueError:
            pass
        """
    )
    steps = run.events("step")
    assert [s["id"] for s in steps] == [4, 5, 6, 7, 8]
    bodies, waits = run.events("span", "body"), run.events("span", "input")
    for body, step in zip(bodies, steps):
        assert run.is_inside(body, step)
    assert len(waits) == 4 + 1 + 2
    assert all(any(run.is_inside(wait, step) for step in steps) for wait in waits)


def test_a_step_does_not_keep_its_item_alive(record):
    record(
        """
        import weakref
        class Batch: pass
        def load():
            for _ in range(2):
                yield Batch()
        for batch in gait.steps(load()):
            watch = weakref.ref(batch)
            del batch
            assert watch() is None
        """
    )


def test_async_and_flow_events(record):
    run = record(
        """
        import asyncio
        gait.async_begin("request", 7)
        gait.async_end("request", 7)
        gait.async_begin("huge id", -1)
        gait.async_end("huge id", 2**64 - 1)
        with gait.span("here"):
            gait.flow_begin("arrow", 3)
        with gait.span("there"):
            gait.flow_step("arrow", 3)
            gait.flow_end("arrow", 3)

        async def fetch(delay):
            async with gait.async_span("fetch"):
                await asyncio.sleep(delay)
        async def main():
            await asyncio.gather(fetch(0.02), fetch(0.01))
        asyncio.run(main())
        """
    )
    (request,) = run.events("async", "request")
    assert request["id"] == 7 and request["duration_ns"] is not None
    (huge,) = run.events("async", "huge id")
    assert huge["id"] == 2**64 - 1 and huge["duration_ns"] is not None
    assert [f["id"] for f in run.events("flow", "arrow")] == [3, 3, 3]
    first, second = run.events("async", "fetch")
    assert first["id"] != second["id"]
    assert first["duration_ns"] >= 20_000_000
    assert first["duration_ns"] > second["duration_ns"] >= 10_000_000


MISTAKES = [
    ("gait.begin()", TypeError),
    ("gait.begin(1.5)", TypeError),
    ("gait.begin(True)", TypeError),
    ("gait.begin(None)", TypeError),
    ("gait.begin(-1)", ValueError),
    ("gait.begin(2**32)", ValueError),
    ("gait.begin(2**70)", ValueError),
    ("gait.begin(b'x')", TypeError),
    ("gait.end(1)", TypeError),
    ("gait.next(1, 2)", TypeError),
    ("gait.mark([])", TypeError),
    ("gait.count('x')", TypeError),
    ("gait.count('x', 'y')", TypeError),
    ("gait.count('x', None)", TypeError),
    ("gait.arg(1, 2)", TypeError),
    ("gait.arg('x')", TypeError),
    ("gait.span()", TypeError),
    ("gait.span(3)", TypeError),
    ("gait.span('a', 3)", TypeError),
    ("gait.span('a', color='red')", TypeError),
    ("gait.span('a', 'b', 'c')", TypeError),
    ("gait.span('a')(3)", TypeError),
    ("gait.span('a')(int)", TypeError),
    ("gait.span('a')()", TypeError),
    ("gait.span('a').args(3)", TypeError),
    ("gait.Span()", TypeError),
    ("gait.Step()", TypeError),
    ("gait.site('a')", TypeError),
    ("gait.site(1, 'a')", TypeError),
    ("gait.step('a')", TypeError),
    ("gait.step(-1)", ValueError),
    ("gait.step(2**64)", ValueError),
    ("gait.step_begin(1.5)", TypeError),
    ("gait.async_begin('a')", TypeError),
    ("gait.async_end('a', 'b')", TypeError),
    ("gait.flow_begin('a', 1.0)", TypeError),
    ("gait.rank('a')", TypeError),
    ("gait.rank(2**70)", ValueError),
    ("gait.thread_name(3)", TypeError),
    ("gait.metadata(3, 4)", TypeError),
    ("gait.start(colour='red')", TypeError),
    ("gait.start(3)", TypeError),
    ("gait.snapshot(3)", TypeError),
]


@pytest.mark.parametrize("recording", [True, False])
def test_wrong_arguments_are_said_clearly_recording_or_not(record, recording):
    run = record(
        f"""
        mistakes = {[(text, error.__name__) for text, error in MISTAKES]!r}
        for text, error in mistakes:
            try:
                eval(text)
            except (TypeError, ValueError) as raised:
                if type(raised).__name__ != error:
                    print(text, "raised", type(raised).__name__)
                if len(str(raised)) < 15:
                    print(text, "says only", raised)
            else:
                print(text, "passed")
        """,
        recording=recording,
    )
    assert run.stdout == ""


def test_unbalanced_calls_do_no_harm(record):
    run = record(
        """
        for _ in range(5):
            gait.end()
        gait.step_end()
        gait.next("begins")
        gait.end()
        gait.begin("never ended")
        gait.step_begin()
        """
    )
    ended, left_open = run.events("span")
    assert (ended["name"], left_open["name"]) == ("begins", "never ended")
    assert ended["duration_ns"] is not None


def test_spans_pickle_and_copy_by_name(record):
    record(
        """
        import copy, pickle
        span = gait.span("x", category="y")
        assert pickle.loads(pickle.dumps(span)) is span
        assert copy.copy(span) is copy.deepcopy(span) is span
        assert repr(span) == "gait.span('x', category='y')"
        try:
            pickle.dumps(span.args(a=1))
        except TypeError as error:
            assert "arguments" in str(error)
        else:
            raise AssertionError("pickled its arguments away")
        """
    )


def test_a_step_that_no_with_enters_lasts_until_the_next_one(record):
    run = record(
        """
        for i in range(3):
            gait.step()
            with gait.span("work"):
                pass
        gait.step(10)
        kept = gait.step()  # is none yet
        with kept:
            pass
        with kept:
            pass
        del kept
        gait.step()
        gait.step(20)
        gait.step_end()
        """
    )
    steps = run.events("step")
    assert [s["id"] for s in steps] == [0, 1, 2, 10, 11, 12, 13, 20]
    for work, step in zip(run.events("span", "work"), steps):
        assert run.is_inside(work, step)
