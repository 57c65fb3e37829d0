# SPDX-License-Identifier: Apache-2.0
"""Waits for modules to be imported, and then for torch to install gait's hooks.

It must cost nothing in a process that never imports torch, so it imports nothing
that Python has not loaded by itself.
"""

import os
import sys

# Programs that only start others, or compile for them: they import torch and train
# nothing. They are on record only if they do after all.
LAUNCHERS = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.elastic",
    "accelerate.commands",
    "deepspeed.launcher",
    "torch._inductor.compile_worker",
    "torch.utils.collect_env",
    "pip",
)
LAUNCHER_SCRIPTS = ("torchrun", "accelerate", "deepspeed", "pip", "pip3", "ray")

around_imports = None  # makes a context manager for imports of what is installed
is_importing = False  # one of them runs
is_starting = False  # while gait is being imported for its hooks


def is_set_apart(name, spec):
    """Is this an import that nobody's code is waiting for twice? Those inside it are, too."""
    if around_imports is None or is_importing:
        return False
    place = getattr(spec, "origin", None) or ""
    folders = ("site-packages", "dist-packages", os.path.dirname(os.__file__))
    return name.partition(".")[0] == "torch" or any(folder in place for folder in folders)


class Flag:
    """`_initializing` of a spec that somebody waits for.

    importlib sets it before the module runs and when it has: between the two nothing
    of ours is on the stack. Without __get__ it is read as any attribute is.
    """

    def __set__(self, spec, is_initializing):
        if is_initializing:
            vars(spec)["_initializing"] = True
            begin_import(spec)
        else:
            try:
                end_import(spec)
            finally:
                vars(spec)["_initializing"] = False


kinds_of_specs = {}  # class -> one like it with a Flag


def wait_for(spec):
    """Has begin_import() and end_import() called round the import of a module."""
    before = type(spec)
    if before not in kinds_of_specs:
        names = {name: getattr(before, name) for name in ("__module__", "__qualname__", "__doc__")}
        names["_initializing"] = Flag()
        kinds_of_specs[before] = type(before.__name__, (before,), names)
    vars(spec)["_initializing"] = False
    spec.__class__ = kinds_of_specs[before]
    if not isinstance(spec.loader, type):
        spec.loader.exec_module = exec_by_hand.__get__(spec.loader)


def exec_by_hand(loader, module):
    """Where somebody calls the loader by himself, as importlib.util.LazyLoader does."""
    vars(loader).pop("exec_module", None)
    loader.exec_module(module)
    watch.arrived(module.__name__)


def begin_import(spec):
    global is_importing
    if not isinstance(spec.loader, type):
        vars(spec.loader).pop("exec_module", None)
    if is_set_apart(spec.name, spec):
        vars(spec)["_gait_apart"] = around_imports()
        vars(spec)["_gait_apart"].__enter__()
        is_importing = True


def end_import(spec):
    """Also of one that failed: importlib has taken that out of sys.modules."""
    global is_importing
    spec.__class__ = type(spec).__base__
    apart = vars(spec).pop("_gait_apart", None)
    if apart is not None:
        is_importing = False
        apart.__exit__(None, None, None)
    if spec.name in sys.modules:
        watch.arrived(spec.name)


class Watch:
    """First in sys.meta_path; finds nothing by itself."""

    def __init__(self):
        self._then = {}

    def add(self, name, function):
        """Calls function(module) now if the module is there, else once it is."""
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        if module is not None and not getattr(spec, "_initializing", False):
            call(function, module)
        else:
            self._then.setdefault(name, []).append(function)

    def find_spec(self, name, path=None, target=None):
        is_awaited = name in self._then
        if not is_awaited and (around_imports is None or is_importing):
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                break
        else:
            return None
        if not is_awaited and not is_set_apart(name, spec):
            return spec
        if hasattr(spec.loader, "exec_module"):
            try:
                wait_for(spec)
            except (AttributeError, TypeError) as error:  # a finder with specs of its own
                say("cannot wait for %s: %s" % (name, error))
        return spec

    def forget(self):
        self._then.clear()

    def arrived(self, name):
        for function in self._then.pop(name, ()):
            call(function, sys.modules[name])


def call(function, module):
    """A failure of ours is a sentence, not the end of a training."""
    try:
        function(module)
    except Exception as error:
        say("%s: %s" % (type(error).__name__, error))


def say(why):
    words = "not everything is recorded: %s" % why
    if "gait" in sys.modules:
        from gait import _say

        _say.say(words)
    elif sys.stderr is not None:
        sys.stderr.write("gait: %s\n" % words)


def say_off(gait):
    from gait import _say

    _say.say_off(gait._why_off)


watch = Watch()


def words_of_line():
    words = getattr(sys, "orig_argv", None)
    if words is None:  # before 3.10
        try:
            with open("/proc/self/cmdline", "rb") as file:
                words = file.read().decode("utf-8", "replace").split("\0")
        except OSError:
            words = []
    return words[1:]


def is_launcher():
    words = words_of_line()
    for word, after in zip(words, words[1:] + [""]):
        if word == "-c":
            return "multiprocessing" in after
        module = after if word == "-m" else word.replace("/", ".")
        if word == "-m" or not word.startswith("-"):
            scripts = os.path.basename(word) in LAUNCHER_SCRIPTS
            return scripts or any(name in module for name in LAUNCHERS)
    return False


def gait_spec():
    import importlib.util

    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return importlib.util.spec_from_file_location(
        "gait", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )


def import_gait():
    """The package beside this folder, wherever it lies; nobody's sys.path changes."""
    global is_starting
    if "gait" in sys.modules:
        return sys.modules["gait"]
    import importlib.util

    spec = gait_spec()
    module = importlib.util.module_from_spec(spec)
    sys.modules["gait"] = module
    is_starting = True
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["gait"]
        raise
    finally:
        is_starting = False
    return module


class LastFinder:
    """Last in sys.meta_path, for scripts that import gait in an environment that
    does not have it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return gait_spec() if name == "gait" else None


def tell_gait(module, function, *arguments):
    """Calls a function of the package, which is loaded for it. Here are only names: what
    they stand for is the package's, which knows this file."""
    gait = import_gait()
    if not gait._why_off:
        import importlib

        getattr(importlib.import_module("gait." + module), function)(*arguments)
    elif not is_launcher():
        say_off(gait)


def torch_is_there(_torch):
    tell_gait("torch.install", "install", is_launcher())


def begin_profiler():
    """`gait run --profiler simple|advanced`, before the program's first line."""
    name = os.environ.get("GAIT_PROFILER")
    if name not in ("simple", "advanced") or is_launcher():
        return
    tell_gait("profilers.whole_run", "begin", name)


def lightning_is_there(module):
    """A Trainer without a profiler has one that does nothing: its actions become spans."""
    if not import_gait()._why_off:
        tell_gait("profilers.lightning_actions", "install", module.PassThroughProfiler)


def begin():
    """Once a process, from sitecustomize or from `import gait`, whoever is first."""
    if watch not in sys.meta_path:
        sys.meta_path.insert(0, watch)
        watch.add("torch", torch_is_there)
        for name in ("lightning.pytorch", "pytorch_lightning"):
            watch.add(name + ".profilers.base", lightning_is_there)


def end():
    """Waits for nothing any more. gait.init() begins again."""
    watch.forget()
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not watch]
