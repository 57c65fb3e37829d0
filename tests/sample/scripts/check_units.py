# SPDX-License-Identifier: Apache-2.0
"""Compare what is made of instructions with this interpreter's own account of them.

usage: check_units.py HELPER MODULES    (0: all of the standard library)

Code is given as it was compiled, and, of functions that ran, as the interpreter has
rewritten it by then. Prints "code objects, questions to generators, wrong instructions,
words between instructions taken for returns, units" and the first few differences.
3.8 and later.
"""

import dis
import gc
import struct
import subprocess
import sys
import types

import library_code

MINOR = sys.version_info[1]
HELPER = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
CAN_WAIT, ASKS = 1, 2
QUESTIONS = ("FOR_ITER", "FOR_ITER_GEN", "SEND", "SEND_GEN")


def marks(units):
    HELPER.stdin.write(struct.pack("iI", MINOR, len(units) // 2) + units)
    HELPER.stdin.flush()
    return HELPER.stdout.read(len(units) // 2)


def names_at(code, **how):
    return {one.offset // 2: one.opname for one in dis.get_instructions(code, **how)}


def differences(code, units, names):
    """What is wrong, as (what, unit, name); and how many ask a generator."""
    got = marks(units)
    asking = {at for at, name in names.items() if name in QUESTIONS}
    wanted = {at + more for at in asking for more in (0, 1)} if MINOR >= 12 else set()
    ends = {at for at, name in names.items() if name in ("RETURN_VALUE", "RETURN_CONST")}
    wrong = []
    for at, mark in enumerate(got):
        if bool(mark & ASKS) != (at in wanted):
            wrong.append(("asks" if at in names or at in wanted else "between", at, names.get(at)))
        if MINOR >= 11 and bool(mark & CAN_WAIT) != (at > 0 and at not in ends):
            wrong.append(("returns" if at in names else "between", at, names.get(at)))
    return wrong, len(asking)


def work():
    """Something for the interpreter to rewrite."""

    def numbers(depth):
        if depth:
            yield from numbers(depth - 1)
            yield depth

    def strings(depth):
        for number in numbers(depth):
            str(number)

    for _ in range(200):
        strings(5)
        list(dis.get_instructions(work))
    return numbers, strings


def that_ran():
    """But for those that run all the time, and may be rewritten while they are compared."""
    worked = {function.__code__ for function in work()}
    found = {f.__code__ for f in gc.get_objects() if isinstance(f, types.FunctionType)}
    busy = (__file__, dis.__file__)
    return {code for code in found if code.co_filename not in busy} | worked


def main():
    objects = questions = units = 0
    wrong = {"asks": 0, "returns": 0, "between": 0}
    found = [(code, code.co_code, {}) for code in library_code.of_modules(int(sys.argv[2]))]
    if MINOR >= 12:
        found += [(code, code._co_code_adaptive, {"adaptive": True}) for code in that_ran()]
    seen = set()
    for code, text, how in found:
        names = names_at(code, **how)
        seen.update(names.values())
        differing, asking = differences(code, text, names)
        objects, questions, units = objects + 1, questions + asking, units + len(text) // 2
        for kind, at, name in differing:
            wrong[kind] += 1
            if kind != "between" and wrong["asks"] + wrong["returns"] < 9:
                print(code.co_filename, code.co_name, kind, at, name, file=sys.stderr)
    assert MINOR < 12 or seen > {"FOR_ITER_GEN", "SEND_GEN"}  # it has rewritten what it ran
    print(objects, questions, wrong["asks"] + wrong["returns"], wrong["between"], units)


main()
