# SPDX-License-Identifier: Apache-2.0
"""What functions answer to all that torch, inspect, pickle and others ask of them:
before gait stands in their place, and after. Prints both as JSON.

A child that is forked first tells which places there are.
"""

import copy
import functools
import gc
import importlib
import inspect
import json
import os
import pickle
import re
import sys
import traceback
import types
import typing
import weakref

import torch
import torch.distributed.checkpoint
import torch.overrides


def texts(function, *arguments):
    """What it returns or raises, as text without addresses."""
    try:
        answer = function(*arguments)
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    return re.sub(r"0x[0-9a-f]+|, got .*", "", repr(answer))


# --- what is asked, of (function, owner, name) ---


def is_what(function, *_):
    asks = (
        inspect.isfunction, inspect.isbuiltin, inspect.ismethod, inspect.isroutine,
        inspect.ismethoddescriptor, inspect.isdatadescriptor, inspect.isclass,
        inspect.iscoroutinefunction, inspect.isgeneratorfunction, callable,
    )  # fmt: skip
    return [ask(function) for ask in asks] + [isinstance(function, types.FunctionType)]


def is_named(function, *_):
    names = "__name__ __qualname__ __module__ __doc__ __dict__ __class__ __wrapped__ __code__"
    names += " __defaults__ __kwdefaults__ __annotations__ __objclass__ __text_signature__"
    return [texts(getattr, function, name) for name in names.split()]


def is_read(function, *_):
    asks = inspect.getsource, inspect.getfile, inspect.getmodule, inspect.getdoc
    return [texts(ask, function) for ask in asks] + [texts(dir, function), texts(repr, function)]


def has_signature(function, *_):
    asks = inspect.signature, inspect.getfullargspec, typing.get_type_hints, inspect.unwrap
    return [texts(ask, function) for ask in asks]


def is_pickled(function, *_):
    """By which name is another question."""
    answers = []
    for protocol in range(2, 6):
        for dumps in (pickle.dumps, pickle._dumps):
            again = texts(lambda: pickle.loads(dumps(function, protocol)) == function)  # noqa: B023
            answers.append(re.sub(r"'.*'", "", again))
    return answers


def is_copied(function, *_):
    return [texts(lambda copied=copied: copied(function) is function) for copied in (
        copy.copy, copy.deepcopy)]  # fmt: skip


def is_held(function, *_):
    return [
        texts(lambda: weakref.ref(function)() is function),
        texts(lambda: functools.partial(function).func is function),
    ]


def is_wrapped(function, *_):
    made = functools.wraps(function)(lambda: None)
    kept = {name: value for name, value in vars(made).items() if name != "__wrapped__"}
    return [made.__name__, made.__qualname__, made.__module__, texts(lambda: kept),
            texts(inspect.signature, made), made.__wrapped__ is function]  # fmt: skip


def is_bound(_function, owner, name):
    """As a method, in a class that overrides it, through super()."""
    if not isinstance(owner, type):
        return []
    base = next(cls for cls in owner.__mro__ if name in vars(cls))
    try:  # a class that only has the method, so that there can be an object
        plain = type("Plain", (), {name: vars(base)[name]})
        sub = type("Sub", (plain,), {name: lambda *_: "overridden"})
        one, other = plain(), sub()
    except Exception as error:
        return [type(error).__name__]
    bound = texts(getattr, one, name)
    if "Error" in bound:  # of C: it knows its own class only
        return [bound]
    inherited = getattr(super(sub, other), name)
    asks = (
        lambda it: it.__class__,
        inspect.ismethod,
        inspect.signature,
        lambda it: it == getattr(one, name),
    )
    asks += (lambda it: it.__func__ == getattr(plain, name), lambda it: it.__self__ is one)
    return [
        *[texts(ask, getattr(one, name)) for ask in asks],
        repr(inherited.__class__),
        getattr(other, name)(),
        name in vars(sub),
    ]


def is_attributed(function, *_):
    """An attribute that somebody puts on it is there, and gone again."""

    def put():
        function.somebody = 1
        found = [function.somebody, vars(function).get("somebody"), hasattr(function, "nobody")]
        del function.somebody
        return [*found, hasattr(function, "somebody")]

    return texts(put)


def is_known_to_torch(function, *_):
    from torch._jit_internal import get_callable_argument_names
    from torch.nn.parameter import UninitializedTensorMixin

    overrides = torch.overrides
    return [
        function in UninitializedTensorMixin._allowed_methods,
        texts(overrides.is_tensor_method_or_property, function),
        texts(overrides.resolve_name, function),
        texts(lambda: function in overrides.get_ignored_functions()),
        texts(lambda: function in overrides.get_testing_overrides()),
        texts(get_callable_argument_names, function),
        texts(torch.jit._builtins._find_builtin, function),
    ]


def is_called_wrongly(function, owner, name):
    """What it raises, and which files its traceback shows."""
    if "callback" in owner.__module__ if isinstance(owner, type) else False:
        return []  # it does not look at what it is given
    try:
        function()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        return [repr(error), [frame.filename for frame in frames]]
    return "it took that"


ASKED = {
    "kind": is_what,
    "names": is_named,
    "source": is_read,
    "signature": has_signature,
    "pickle": is_pickled,
    "copy": is_copied,
    "references": is_held,
    "wraps": is_wrapped,
    "methods": is_bound,
    "attributes": is_attributed,
    "torch": is_known_to_torch,
    "traceback": is_called_wrongly,
}


def is_equal(now, before):
    """All that compares it with what torch or a program has kept."""
    return {
        "==": now == before and before == now and not now != before,
        "hash": texts(lambda: hash(now)) == texts(lambda: hash(before)),
        "in a list": now in [before] and before in [now],
        "in a dict": texts(lambda: {before: 1}[now]) == texts(lambda: {before: 1}[before]),
    }


# --- places ---


def stand_in(table):
    """Modules that are not installed, with what the table wants of them."""
    for module, *_kind, attributes in table:
        try:
            importlib.import_module(module)
        except ImportError:
            made = sys.modules[module] = types.ModuleType(module)
            for path in attributes.split():
                put_function(made, path)


def put_function(module, path):
    *classes, name = path.split(".")
    owner = module
    for part in classes:
        if not hasattr(owner, part):
            setattr(owner, part, type(part, (), {"__module__": module.__name__}))
        owner = getattr(owner, part)
    space = {"__name__": module.__name__}
    exec(f"def {name}(self, value=None, *, step=0):\n    return value", space)
    space[name].__qualname__ = path
    setattr(owner, name, space[name])


def where(place):
    owner = place.owner
    if isinstance(owner, types.ModuleType):
        return owner.__name__, "", place.name
    return owner.__module__, owner.__qualname__, place.name


def found(module, qualname, name):
    owner = sys.modules[module]
    for part in filter(None, qualname.split(".")):
        owner = getattr(owner, part)
    return getattr(owner, name), owner, name


def begin_gait():
    import gait

    gait.init(sys.argv[1])
    from gait import _patches

    return _patches


def replaced(patches):
    """Those that are functions; lists of callbacks have nothing to ask."""
    return [p for p in patches.installed() if callable(getattr(p.owner, p.name, None))]


def told_by_child():
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.environ["GAIT_DIR"] = sys.argv[1]
        places = [where(place) for place in replaced(begin_gait())]
        with open(writing, "w") as file:
            json.dump(places, file)
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        places = json.load(file)
    os.waitpid(child, 0)
    return places


def state(places):
    """What stands in each place itself, and what Python calls at times of its own."""
    found_there = []
    for place in places:
        _function, owner, name = found(*place)
        found_there.append(vars(owner).get(name))
    return [*found_there, *gc.callbacks, *sys.meta_path]


def gone(places, before):
    """How gait is taken out, and comes back."""
    import gait
    from gait import _native, _patches
    from gait.torch.wrap import innermost

    class Later(torch.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    later = Later([torch.zeros(1, requires_grad=True)], lr=0.1)  # torch hooks its step, too
    kept = gait.uninstall()
    now = state(places)
    left = [place for place, was, one in zip(places, before, now) if one is not was]
    inside = [found(*place)[0] for place in places]
    answer = {
        "kept": kept,
        "left": left,
        "others": len(now) == len(before) and all(a is b for a, b in zip(now, before)),
        "inside": [repr(one) for one in inside if _native._unhook_inside(innermost(one))],
        "listed": len(_patches.installed()),
        "step": type(vars(type(later))["step"]).__name__,
    }
    gait.init()
    torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()
    again = [list(where(place)) for place in replaced(_patches)]
    answer["again"] = [place for place in places if place not in again]
    somebodys = torch.nn.Module.__call__ = lambda self: None
    answer["theirs"] = gait.uninstall()
    answer["stays"] = torch.nn.Module.__call__ is somebodys
    return answer


def main():
    from gait.torch import late

    stand_in(late.LATE)
    stand_in((module, path) for module, path in late.EPOCHS)
    for module, paths in late.OPTIMIZERS:
        stand_in([(module, paths + " " + paths.partition(".")[0] + ".__init__")])
    import torch._dynamo.callback  # noqa: F401  # hooked too

    places = told_by_child()
    before = [found(*place) for place in places]
    was_there = state(places)
    answers = [{name: ask(*one) for name, ask in ASKED.items()} for one in before]
    patches = begin_gait()
    told = []
    assert [list(where(place)) for place in replaced(patches)] == places
    for place, (function, *_), was in zip(places, before, answers):
        now = found(*place)
        told.append(
            {
                "place": ".".join(filter(None, place)),
                "is_replaced": now[0] is not function,
                "before": was,
                "now": {name: ask(*now) for name, ask in ASKED.items()},
                "equal": is_equal(now[0], function),
            }
        )
    print(json.dumps(gone(places, was_there)))
    print(json.dumps(told))


main()
