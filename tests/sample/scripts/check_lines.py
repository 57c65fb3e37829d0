# SPDX-License-Identifier: Apache-2.0
"""Compare the line decoder with this interpreter's own answer, byte for byte of code.

usage: check_lines.py HELPER MODULES    (0: all of the standard library)

Prints "code objects, instructions, wrong lines, wrong columns" and the first
few differences. Runs under the Python whose tables are meant, 3.8 and later.
"""

import dis
import struct
import subprocess
import sys

import library_code

MINOR = sys.version_info[1]
HELPER = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def decode(code):
    table = code.co_linetable if MINOR >= 10 else code.co_lnotab
    head = struct.pack("iiI", MINOR, code.co_firstlineno, len(table))
    HELPER.stdin.write(head + table)
    HELPER.stdin.flush()
    (count,) = struct.unpack("i", HELPER.stdout.read(4))
    if count < 0:
        return None
    return list(struct.iter_unpack("6i", HELPER.stdout.read(24 * count)))


def truth(code):
    """(line, end line, column, end column) of each two bytes of code."""
    if MINOR >= 11:
        return list(code.co_positions())
    out = [None] * (len(code.co_code) // 2)
    if MINOR == 10:
        for start, end, line in code.co_lines():
            for i in range(start // 2, end // 2):
                out[i] = (line, line, None, None)
        return out
    line, starts = code.co_firstlineno, dict(dis.findlinestarts(code))
    for i in range(len(out)):
        line = starts.get(2 * i, line)
        out[i] = (line, line, None, None)
    return out


def second_witness(code):
    if MINOR < 11:
        return None
    out = [None] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        for i in range(start // 2, end // 2):
            out[i] = line
    return out


def none(number):
    return None if number < 0 else number


def differences(code):
    rows, wanted, witness = decode(code), truth(code), second_witness(code)
    if rows is None:
        yield "line", 0, "refused", None
        return
    at = 0
    for i, want in enumerate(wanted):
        while at < len(rows) and rows[at][1] <= 2 * i:
            at += 1
        row = rows[at] if at < len(rows) and rows[at][0] <= 2 * i else None
        line = none(row[2]) if row else None
        if line != want[0] or (witness and witness[i] != line):
            yield "line", 2 * i, line, want
        elif MINOR >= 11 and line is not None:
            got = tuple(none(x) for x in row[3:])
            if got != tuple(want[1:]):
                yield "column", 2 * i, got, want


def main():
    objects = instructions = 0
    wrong = {"line": 0, "column": 0}
    for code in library_code.of_modules(int(sys.argv[2])):
        objects += 1
        instructions += len(code.co_code) // 2
        for kind, offset, got, want in differences(code):
            wrong[kind] += 1
            if sum(wrong.values()) < 5:
                print(code.co_filename, code.co_name, kind, offset, got, want, file=sys.stderr)
    print(objects, instructions, wrong["line"], wrong["column"])


main()
