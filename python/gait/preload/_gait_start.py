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


def run_apart(loader, module):
    global is_importing
    with around_imports():
        is_importing = True
        try:
            loader.exec_module(module)
        finally:
            is_importing = False


class Loader:
    """A module's loader that calls somebody once the module is there."""

    def __init__(self, loader, then):
        self._loader = loader
        self._then = then

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # the module sees its own loader, as if nobody had waited for it
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        if is_set_apart(module.__name__, module.__spec__):
            run_apart(self._loader, module)
        else:
            self._loader.exec_module(module)
        for function in self._then.pop(module.__name__, ()):
            call(function, module)


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
        if hasattr(spec.loader, "exec_module") and not isinstance(spec.loader, Loader):
            spec.loader = Loader(spec.loader, self._then)
        return spec


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


def torch_is_there(_torch):
    gait = import_gait()
    if not gait._why_off:
        import gait.torch

        gait.torch.install(is_launcher())
    elif not is_launcher():
        say_off(gait)


def begin_profiler():
    """`gait run --profiler simple|advanced`, before the program's first line."""
    name = os.environ.get("GAIT_PROFILER")
    if name not in ("simple", "advanced") or is_launcher():
        return
    gait = import_gait()
    if gait._why_off:
        say_off(gait)
    else:
        from gait.profilers import whole_run

        whole_run.begin(name)


def lightning_is_there(module):
    """A Trainer without a profiler has one that does nothing: its actions become spans."""
    gait = import_gait()
    if not gait._why_off:
        from gait.profilers import lightning_actions

        lightning_actions.hear(module.PassThroughProfiler)


def begin():
    """Once a process, from sitecustomize or from `import gait`, whoever is first."""
    if watch not in sys.meta_path:
        sys.meta_path.insert(0, watch)
        watch.add("torch", torch_is_there)
        for name in ("lightning.pytorch", "pytorch_lightning"):
            watch.add(name + ".profilers.base", lightning_is_there)
