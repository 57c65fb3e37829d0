# SPDX-License-Identifier: Apache-2.0
"""A decorated function is, from outside, the function it was."""


def test_a_function_keeps_its_face(record):
    run = record(
        '''
        import copy, functools, inspect, pickle, types, weakref

        def plain(a, /, b: int = 2, *rest, key=None, **more) -> list:
            """What it does."""
            return [a, b, rest, key, more]

        plain.mark = 3
        f = gait.span("f")(plain)
        assert f.__wrapped__ is plain and f.mark == 3
        for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
            assert getattr(f, name) == getattr(plain, name), name
        assert inspect.signature(f) == inspect.signature(plain)
        assert f(1, 5, 6, key=7, x=8) == [1, 5, (6,), 7, {"x": 8}]
        assert inspect.unwrap(f) is plain and callable(f)
        assert weakref.ref(f)() is f
        assert "plain" in repr(f)
        f.anything = 1

        @gait.span("module level")
        def twice(x):
            return 2 * x
        assert pickle.loads(pickle.dumps(twice)) is twice
        assert copy.deepcopy(twice) is twice
        assert functools.partial(twice, 4)() == 8
        assert list(map(twice, [1, 2])) == [2, 4]
        try:
            twice()
        except TypeError as error:
            assert "twice" in str(error)
        '''
    )
    assert run.names() == ["f"] + ["module level"] * 4


def test_methods_of_all_kinds(record):
    run = record(
        """
        import abc

        class Model:
            scale = 3

            @gait.span("method")
            def method(self, x):
                return self.scale * x

            @gait.span("class outside")
            @classmethod
            def outside(cls):
                return cls

            @classmethod
            @gait.span("class inside")
            def inside(cls):
                return cls

            @gait.span("static outside")
            @staticmethod
            def static_outside(x):
                return x

            @staticmethod
            @gait.span("static inside")
            def static_inside(x):
                return x

            @property
            @gait.span("property")
            def value(self):
                return self.scale

        class Child(Model):
            def method(self, x):
                return super().method(x) + 1

        model, child = Model(), Child()
        assert model.method(2) == 6 and Model.method(model, 2) == 6
        bound = model.method
        assert bound(3) == 9 and bound.__self__ is model
        assert child.method(2) == 7
        assert child.outside() is Child and Model.inside() is Model
        assert model.static_outside(4) == Model.static_inside(4) == 4
        assert child.value == 3
        """
    )
    assert run.names() == ["method"] * 4 + [
        "class outside",
        "class inside",
        "static outside",
        "static inside",
        "property",
    ]


def test_exceptions_and_recursion(record):
    run = record(
        """
        import sys

        @gait.span("falls")
        def falls(depth):
            return falls(depth - 1) if depth else 1 // 0

        try:
            falls(20)
        except ZeroDivisionError as error:
            assert error.__traceback__ is not None
        else:
            raise AssertionError

        @gait.span("endless")
        def endless():
            return endless()

        try:
            endless()
        except RecursionError:
            pass
        with gait.span("still well"):
            pass
        """,
        GAIT_OVERFLOW="block",
    )
    falls = run.events("span", "falls")
    assert len(falls) == 21
    assert all(run.is_inside(inner, outer) for outer, inner in zip(falls, falls[1:]))
    (well,) = run.events("span", "still well")
    assert not any(run.is_inside(well, span) for span in run.events("span", "endless"))


def test_generators_are_covered_from_resume_to_yield(record):
    run = record(
        """
        import inspect

        @gait.span("body")
        def generate(n):
            received = []
            try:
                for i in range(n):
                    try:
                        received.append((yield i))
                    except KeyError:
                        received.append("caught")
            finally:
                gait.mark("finally")
            return received

        assert inspect.isgeneratorfunction(generate)
        generator = generate(3)
        assert inspect.isgenerator(generator)
        with gait.span("consumer"):
            assert next(generator) == 0
            with gait.span("between"):
                pass
            assert generator.send("sent") == 1
            assert generator.throw(KeyError("k")) == 2
            try:
                next(generator)
            except StopIteration as stop:
                assert stop.value == ["sent", "caught", None]

        left = generate(3)
        next(left)
        left.close()
        try:
            generate(1).throw(ValueError("at once"))
        except ValueError:
            pass

        def outer():
            result = yield from generate(2)
            yield result
        assert list(outer()) == [0, 1, [None, None]]
        """
    )
    between = run.events("span", "between")[0]
    bodies = run.events("span", "body")
    assert len(bodies) == 4 + 2 + 3
    assert not any(run.is_inside(between, body) for body in bodies)
    assert len(run.events("mark", "finally")) == 3


def test_coroutines_of_one_loop_do_not_nest_into_each_other(record):
    run = record(
        """
        import asyncio, inspect

        @gait.span("task")
        async def task(number):
            for _ in range(3):
                await asyncio.sleep(0)
            with gait.span("inside"):
                pass
            return number

        @gait.span("cancelled")
        async def sleeps():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                gait.mark("cleanup")
                raise

        class Service:
            @gait.span("method")
            async def call(self):
                return self

        assert inspect.iscoroutinefunction(task) and asyncio.iscoroutinefunction(task)
        assert inspect.iscoroutinefunction(Service.call)

        async def main():
            assert await asyncio.gather(*[task(i) for i in range(4)]) == [0, 1, 2, 3]
            created = asyncio.ensure_future(sleeps())
            await asyncio.sleep(0)
            created.cancel()
            try:
                await created
            except asyncio.CancelledError:
                gait.mark("was cancelled")
            service = Service()
            assert await service.call() is service
            assert await asyncio.wait_for(task(9), 5) == 9

        asyncio.run(main())
        coroutine = task(1)
        assert inspect.iscoroutine(coroutine)
        coroutine.close()
        """
    )
    tasks = run.events("span", "task")
    assert len(tasks) == 5 * 4
    ends = [t["start_ns"] + t["duration_ns"] for t in tasks]
    assert all(end <= later["start_ns"] for end, later in zip(ends, tasks[1:]))
    for inside in run.events("span", "inside"):
        assert sum(run.is_inside(inside, t) for t in tasks) == 1
    assert run.names("mark") == ["cleanup", "was cancelled"]
    assert len(run.events("span", "cancelled")) == 2
    assert len(run.events("span", "method")) == 1


def test_asynchronous_generators(record):
    run = record(
        """
        import asyncio, contextlib, inspect

        @gait.span("rows")
        async def rows(n):
            try:
                for i in range(n):
                    await asyncio.sleep(0)
                    try:
                        sent = yield i
                        assert sent in (None, "s")
                    except KeyError:
                        yield "caught"
            finally:
                gait.mark("closed")

        @contextlib.asynccontextmanager
        @gait.span("context")
        async def context():
            yield "value"

        assert inspect.isasyncgenfunction(rows)

        async def main():
            assert [row async for row in rows(3)] == [0, 1, 2]
            generator = rows(5)
            assert await generator.__anext__() == 0
            assert await generator.asend("s") == 1
            assert await generator.athrow(KeyError()) == "caught"
            await generator.aclose()
            async for row in rows(9):
                if row == 1:
                    break
            async with context() as value:
                assert value == "value"

        asyncio.run(main())
        """
    )
    assert len(run.events("mark", "closed")) == 3
    spans = run.events("span", "rows")
    ends = [s["start_ns"] + s["duration_ns"] for s in spans]
    assert all(end <= later["start_ns"] for end, later in zip(ends, spans[1:]))
    assert len(spans) >= 4 + 3 + 3 + 3
    assert len(run.events("span", "context")) == 2


def test_other_callables(record):
    run = record(
        """
        import functools

        class Layer:
            def __init__(self):
                self.weight = 3
            def __call__(self, x):
                return self.weight * x

        layer = Layer()
        wrapped = gait.span("layer")(layer)
        assert wrapped(2) == 6
        assert "weight" not in vars(wrapped)
        assert gait.span("builtin")(len)("abc") == 3
        assert gait.span("partial")(functools.partial(pow, 2))(5) == 32
        assert gait.span("lambda")(lambda: 4)() == 4
        """
    )
    assert run.names() == ["layer", "builtin", "partial", "lambda"]
