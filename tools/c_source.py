# SPDX-License-Identifier: Apache-2.0
"""A small, honest reader of C for the check tools.

It knows comments, strings, preprocessor lines and brackets, and nothing of
types; that is enough to find functions, their length, parameters and nesting.
"""

import os
import re
from collections import namedtuple

Token = namedtuple("Token", "text line")
Function = namedtuple("Function", "name line length parameters nesting")
Prototype = namedtuple("Prototype", "name line parameters")

CODE_FOLDERS = ("src", "include", "python", "tests", "bench", "examples")
CONTROL = {"if", "for", "while", "switch"}

_LEXEME = re.compile(
    r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<directive>(?<![^\n])[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<other>\S)
""",
    re.VERBOSE | re.DOTALL,
)


def files(root, folders=CODE_FOLDERS, suffixes=(".c", ".h")):
    """The source files under `folders`, as paths relative to `root`."""
    for folder in folders:
        for path, subfolders, names in os.walk(os.path.join(root, folder)):
            subfolders[:] = sorted(s for s in subfolders if not s.startswith((".", "__")))
            for name in sorted(names):
                if name.endswith(suffixes):
                    yield os.path.relpath(os.path.join(path, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def lexemes(text):
    """(kind, text, line) of all lexemes, comments and directives included."""
    line, at = 1, 0
    for match in _LEXEME.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        yield match.lastgroup, match.group(), line


def tokens(text):
    """What the compiler proper would see, macros unexpanded, strings emptied."""
    result = []
    for kind, lexeme, line in lexemes(text):
        if kind in ("comment", "directive"):
            continue
        result.append(Token('""' if kind == "string" else lexeme, line))
    return result


def code_lines(text):
    """How many lines hold more than a comment or nothing."""
    lines = set()
    for kind, lexeme, line in lexemes(text):
        if kind != "comment":
            lines.update(range(line, line + lexeme.count("\n") + 1))
    return len(lines)


def includes(text):
    """(line, name with its quotes or brackets) of every #include."""
    found = []
    for kind, lexeme, line in lexemes(text):
        if kind != "directive":
            continue
        plain = re.sub(r"/\*.*?\*/", " ", lexeme, flags=re.DOTALL)
        match = re.match(r'\s*#\s*include\s*("[^"]*"|<[^>]*>)', plain)
        if match:
            found.append((line, match.group(1)))
    return found


def matching(toks, start):
    """Index of the bracket that closes the one at `start`."""
    closes = {"(": ")", "[": "]", "{": "}"}
    stack = []
    for index in range(start, len(toks)):
        text = toks[index].text
        if text in closes:
            stack.append(closes[text])
        elif stack and text == stack[-1]:
            stack.pop()
            if not stack:
                return index
    return len(toks) - 1


def _parameter_count(toks, opening, closing):
    if closing == opening + 1 or (
        closing == opening + 2 and toks[opening + 1].text in ("void", '""')
    ):
        return 0
    count, index = 1, opening + 1
    while index < closing:
        if toks[index].text in "([{":
            index = matching(toks, index)
        elif toks[index].text == ",":
            count += 1
        index += 1
    is_variadic = toks[closing - 1].text == "."
    return count - is_variadic


def _declarator(toks, start, end):
    """(name index, '(' index, ')' index) of the function declared in [start, end)."""
    index = start
    while index < end:
        text = toks[index].text
        if text in ("__attribute__", "_Alignas", "_Static_assert", "static_assert"):
            index = matching(toks, index + 1)
        elif text in ("=", "typedef"):
            return None
        elif text == "(":
            closing = matching(toks, index)
            named = index > start and re.match(r"[A-Za-z_]", toks[index - 1].text)
            return (index - 1, index, closing) if named else None
        index += 1
    return None


class _Nesting:
    """Deepest nesting of control statements in a body; `else if` is one chain."""

    def __init__(self, toks, start, end):
        self.toks, self.end, self.deepest = toks, end, 0
        self.block(start, 0)

    def text(self, index):
        return self.toks[index].text if index < self.end else ""

    def block(self, index, depth):
        """Statements from `index` on, to the closing brace or the end."""
        while index < self.end and self.text(index) != "}":
            index = self.statement(index, depth)
        return index + 1

    def statement(self, index, depth):
        text = self.text(index)
        if text == "{":
            return self.block(index + 1, self.enter(depth))
        if text in CONTROL:
            return self.control(index, depth)
        if text == "do":
            return self.body(index + 1, depth)
        if text in ("case", "default"):
            return self.label(index, depth)
        return self.simple(index, depth)

    def enter(self, depth):
        self.deepest = max(self.deepest, depth + 1)
        return depth + 1

    def body(self, index, depth):
        inside = self.enter(depth)
        if self.text(index) == "{":
            return self.block(index + 1, inside)
        return self.statement(index, inside)

    def control(self, index, depth):
        is_if = self.text(index) == "if"
        index = self.body(matching(self.toks, index + 1) + 1, depth)
        if is_if and self.text(index) == "else":
            if self.text(index + 1) == "if":
                return self.control(index + 1, depth)
            return self.body(index + 1, depth)
        return index

    def label(self, index, depth):
        while index < self.end and self.text(index) != ":":
            index += 1
        if self.text(index + 1) == "{":  # a case's own scope is not a level
            return self.block(index + 2, depth)
        return index + 1

    def simple(self, index, depth):
        """To the `;`; a block after `)` belongs to a macro that makes a loop."""
        while index < self.end and self.text(index) not in (";", "}"):
            text = self.text(index)
            if text == "{":
                if self.text(index - 1) == ")" and self.text(index - 2) != "":
                    return self.block(index + 1, self.enter(depth))
                index = matching(self.toks, index)
            elif text in "([":
                index = matching(self.toks, index)
            index += 1
        return index if self.text(index) == "}" else index + 1


def _is_linkage(toks, index):
    return toks[index - 1].text == '""' and index > 1 and toks[index - 2].text == "extern"


def declarations(text):
    """(functions, prototypes) at file scope."""
    toks = tokens(text)
    functions, prototypes = [], []
    start = index = 0
    while index < len(toks):
        word = toks[index].text
        if word in "([":
            index = matching(toks, index)
        elif word == ";":
            _add_prototype(prototypes, toks, start, index)
            start = index + 1
        elif word == "}":  # closes an extern "C"
            start = index + 1
        elif word == "{" and _is_linkage(toks, index):
            start = index + 1
        elif word == "{":
            closing = matching(toks, index)
            if _add_function(functions, toks, start, index, closing):
                start = closing + 1
            index = closing
        index += 1
    return functions, prototypes


def _add_prototype(prototypes, toks, start, end):
    found = _declarator(toks, start, end)
    if found:
        name, opening, closing = found
        count = _parameter_count(toks, opening, closing)
        prototypes.append(Prototype(toks[name].text, toks[name].line, count))


def _add_function(functions, toks, start, opening_brace, closing_brace):
    found = _declarator(toks, start, opening_brace)
    if not found:
        return False
    name, opening, closing = found
    functions.append(
        Function(
            toks[name].text,
            toks[name].line,
            toks[closing_brace].line - toks[name].line + 1,
            _parameter_count(toks, opening, closing),
            _Nesting(toks, opening_brace + 1, closing_brace).deepest,
        )
    )
    return True
