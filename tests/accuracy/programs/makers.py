# SPDX-License-Identifier: Apache-2.0
"""Makes code objects, runs them and drops them, so that their addresses, and those of their
names, are others' a moment later.

usage: makers.py MODE [SECONDS]

Generation k has its number in the names of all its functions and files, and runs below
`turn_<k % 7>`: a stack with two numbers, or with a number below another turn, never was.
"""

import importlib
import os
import sys
import tempfile
import time

GENERATIONS = 5040  # 7 divides it; then the names come again
SOURCE = """
def first_{k}(turns):
    return second_{k}(turns) + 1
def second_{k}(turns):
    total = 0
    for i in range(turns):
        total += i
    return total
for _ in range({calls}):
    first_{k}({turns})
"""


def burn(turns):
    total = 0
    for i in range(turns):
        total += i
    return total


def compiled(k):
    text = SOURCE.format(k=k, calls=1 + k % 3, turns=100)
    exec(compile(text, f"made_{k}.py", "exec"), {})


def template(turns):
    total = 0
    for i in range(turns):
        total += i
    return total


def caller_template(turns, callee):
    return callee(turns) + 1


def renamed(function, name, file):
    code = function.__code__
    if hasattr(code, "co_qualname"):
        code = code.replace(co_name=name, co_filename=file, co_qualname=name)
    else:
        code = code.replace(co_name=name, co_filename=file)
    return type(function)(code, globals())


def replaced(k):
    callee = renamed(template, f"second_{k}", f"made_{k}.py")
    renamed(caller_template, f"first_{k}", f"made_{k}.py")(40 + k % 50, callee)


def replaced_slowly(k):
    callee = renamed(template, f"second_{k}", f"made_{k}.py")
    caller = renamed(caller_template, f"first_{k}", f"made_{k}.py")
    for _ in range(20):
        caller(200, callee)


def write_modules(folder):
    """Modules that import each other, six deep, of 60 generations."""
    for k in range(60):
        for depth in range(6):
            lines = [f"from tests_made_{k} import part_{depth + 1}"] if depth < 5 else []
            lines += [f"def first_{k}(turns):", "    return burn(turns)"]
            lines += ["from __main__ import burn", f"first_{k}(300)", "burn(300)"]
            package = os.path.join(folder, f"tests_made_{k}")
            os.makedirs(package, exist_ok=True)
            open(os.path.join(package, "__init__.py"), "w").close()
            with open(os.path.join(package, f"part_{depth}.py"), "w") as file:
                file.write("\n".join(lines) + "\n")
    sys.path.insert(0, folder)


def imported(k):
    k = k % 7 + 7 * (k // 7 % 8)
    importlib.import_module(f"tests_made_{k}.part_0")
    for name in [name for name in sys.modules if name.startswith("tests_made_")]:
        del sys.modules[name]


def turn_0(make, k):
    make(k)


# one function of each number, so that a stack says whose turn it is
TURNS = [turn_0, *(renamed(turn_0, f"turn_{i}", __file__) for i in range(1, 7))]
MODES = {
    "compiled": compiled,
    "replaced": replaced,
    "replaced-slowly": replaced_slowly,
    "imported": imported,
}


def main():
    make = MODES[sys.argv[1]]
    end = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 60)
    with tempfile.TemporaryDirectory() as folder:
        if make is imported:
            write_modules(folder)
        print("ready", flush=True)
        k = 0
        while time.monotonic() < end:
            for _ in range(10):
                TURNS[k % 7](make, k)
                k = (k + 1) % GENERATIONS


if __name__ == "__main__":
    main()
