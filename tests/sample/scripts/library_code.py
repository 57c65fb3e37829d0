# SPDX-License-Identifier: Apache-2.0
"""The code objects of this interpreter's standard library, compiled anew. 3.8 and later."""

import os
import types


def inside(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from inside(constant)


def files(count):
    library = os.path.dirname(os.__file__)
    found = sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(library)
        for name in names
        if name.endswith(".py") and "site-packages" not in folder
    )
    return found[:: max(1, len(found) // count)] if count else found


def of_modules(count):
    """All of that many modules; 0: of all there are."""
    for path in files(count):
        try:
            with open(path, "rb") as source:
                module = compile(source.read(), path, "exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        yield from inside(module)
