# SPDX-License-Identifier: Apache-2.0
"""Nothing is left behind: references, blocks, memory."""

CASES = {
    "with": "with gait.span('x'): pass",
    "with category": "with gait.span('x', category='data'): pass",
    "with made-up name": "with gait.span('n%d' % (i % 10)): pass",
    "begin": "gait.begin('x'); gait.next('y'); gait.end()",
    "site": "gait.begin(gait.site('a', 'b')); gait.end()",
    "count": "gait.count('c', 2**70); gait.count('c', 1.5); gait.count('c', i)",
    "args": "with gait.span('x').args(a=i, b='text'): gait.arg('k', (1, 2))",
    "surrogates": "gait.mark('\\udc80\\0')",
    "step": "with gait.step(): pass",
    "numbered step": "with gait.step(i): pass",
    "function": "function(i)",
    "method": "method(i)",
    "decorate": "gait.span('d')(lambda: 1)()",
    "generator": "list(generator())",
    "abandoned generator": "next(generator())",
    "coroutine": "run(coroutine())",
    "asynchronous generator": "run(drain())",
    "errors": "fails(gait.begin, 1.5); fails(gait.span, 3); fails(gait.count, 'a', 'b')",
    "raising": "fails(raising)",
    "pickle": "pickle.loads(pickle.dumps(gait.span('x')))",
    "attributes": "gait.span('x').name, gait.span('x').site, repr(gait.span('x'))",
    "bound": "gait.span('x').__enter__(); gait.span('x').__exit__(None, None, None)",
    "thread name": "gait.thread_name('name')",
    "async": "gait.async_begin('a', i); gait.async_end('a', i)",
    "metadata": "gait.metadata('k', i) if i < 50 else None",
}

PROGRAM = r"""
import gc, pickle, sys

@gait.span("function")
def function(x): return x

class Class:
    @gait.span("method")
    def method(self, x): return x
method = Class().method

@gait.span("generator")
def generator():
    yield 1
    yield 2

@gait.span("coroutine")
async def coroutine(): return 1

@gait.span("rows")
async def rows():
    yield 1

async def drain():
    return [row async for row in rows()]

@gait.span("raising")
def raising(): raise TypeError("on purpose")

def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value

def fails(call, *args):
    try:
        call(*args)
    except TypeError:
        return
    raise AssertionError

TURNS = 20_000
worst = {}
for name, statement in cases.items():
    code = compile("def turn(n):\n for i in range(n):\n  " + statement, name, "exec")
    scope = globals().copy()
    exec(code, scope)
    scope["turn"](500)
    gc.collect()
    before = sys.getallocatedblocks()
    scope["turn"](TURNS)
    gc.collect()
    grown = sys.getallocatedblocks() - before
    if grown > 200:
        worst[name] = grown
print(worst)
"""


def test_turns_keep_no_block(record):
    run = record(f"cases = {CASES!r}\n" + PROGRAM, GAIT_OVERFLOW="overwrite")
    assert run.stdout.strip() == "{}", "blocks kept by 20,000 turns of each"


def test_no_statement_leaves_work_for_the_garbage_collector(record):
    """Cycles would: a training that runs with the collector off would grow."""
    run = record(
        f"cases = {CASES!r}\n" + PROGRAM.replace("gc.collect()", "gc.disable()"),
        GAIT_OVERFLOW="overwrite",
    )
    assert run.stdout.strip() == "{}", "blocks kept by 20,000 turns of each"


def test_resident_memory_stays_flat(record):
    run = record(
        """
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        def turn(n):
            for i in range(n):
                with gait.span("x"):
                    gait.begin("y"); gait.arg("k", i); gait.end()
        turn(100_000)
        before = resident()
        turn(300_000)
        print(resident() - before)
        """,
        GAIT_OVERFLOW="overwrite",
    )
    assert int(run.stdout) < 2 << 20


def test_spans_are_let_go_at_the_end_of_an_interpreter(record):
    """Module, types and spans are garbage once their interpreter ends."""
    run = record(
        """
        import sys
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        standard = set(sys.modules) & set(getattr(sys, "stdlib_module_names", ()))
        def turn(source):
            interpreter = interpreters.create()
            interpreters.run_string(interpreter, source)
            interpreters.destroy(interpreter)
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        def kept_of(source):
            for _ in range(5):
                turn(source)
            before = resident()
            for _ in range(40):
                turn(source)
            return (resident() - before) // 40
        kept = kept_of("import gait\\nwith gait.span('x'): pass")
        # CPython 3.13 keeps 2 MB of each by itself
        print(kept - kept_of("import " + ", ".join(sorted(standard - {"_interpreters"}))))
        """
    )
    assert int(run.stdout) < 200_000, "bytes kept by each interpreter"
