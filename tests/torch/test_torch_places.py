# SPDX-License-Identifier: Apache-2.0
"""Wherever gait stands in the place of a function it passes for it.

programs/places.py asks each function, before and after gait is there, all that torch,
inspect, pickle and copy ask; the places are gait's own list of what it has replaced,
so a new one is tried without a word here.
"""

import json
import os
import pathlib
import re
import sys

import pytest
from torch_trainings import Job, full

# what they ask takes one start of torch, and its answers are for all of them
pytestmark = pytest.mark.xdist_group("places")

PROGRAM = pathlib.Path(__file__).parent / "programs" / "places.py"
ASKED = (
    "kind", "names", "source", "signature", "pickle", "copy", "references", "wraps",
    "methods", "attributes", "torch", "traceback",
)  # fmt: skip
COMPARED = "==", "hash", "in a list", "in a dict"

# docs/PLACES.md says why
TRAIN = "torch.nn.modules.module.Module.train"
SUBCLASS = "torch.optim.optimizer.Optimizer.__init_subclass__"
DIFFER = {
    "torch.optim.optimizer.Optimizer.profile_hook_step": {"traceback"},
    "lightning.pytorch.profilers.base.PassThroughProfiler.profile": {"traceback"},
    "pytorch_lightning.profilers.base.PassThroughProfiler.profile": {"traceback"},
    TRAIN: {"names", "source", "wraps", "traceback", *COMPARED},
    SUBCLASS: set(ASKED) - {"pickle", "references", "torch", "traceback"} | set(COMPARED),
}


@pytest.fixture(scope="module")
def told(trainings, build, tmp_path_factory):
    run = tmp_path_factory.mktemp("places") / "run"
    env = (("PYTHONPATH", str(build / "python")),)
    found = trainings.get(Job(PROGRAM, args=(str(run),), env=env, gait=False))
    assert found.code == 0, found.stderr
    return [json.loads(line) for line in found.stdout.splitlines()[-2:]]


@pytest.fixture(scope="module")
def places(told):
    """Of each place what was answered."""
    return {one["place"]: one for one in told[1]}


def test_uninstall_leaves_everything_as_it_was(told):
    """`is` what stood there before gait came; also inside functions of C, and in lists."""
    gone = told[0]
    assert (gone["kept"], gone["left"], gone["inside"], gone["listed"]) == ([], [], [], 0)
    assert gone["others"] and gone["step"] == "function"


def test_what_was_taken_out_comes_back_and_leaves_others_alone(told):
    assert told[0]["again"] == []
    assert told[0]["theirs"] == ["torch.nn.modules.module.Module.__call__"]
    assert told[0]["stays"] is True


def test_the_doctor_lists_every_patch(gait, places):
    environment = {**os.environ, "PATH": os.path.dirname(sys.executable) + ":/usr/bin:/bin"}
    answer = json.loads(gait("doctor", "--patches", "--json", env=environment).stdout)
    listed = {one["place"]: one["why"] for one in answer["patches"]}
    assert all(listed.values()) and {"gc.callbacks", "sys.meta_path"} <= set(listed)
    at_once = {name for name in places if name.startswith(("torch.nn", "torch.optim", "logging"))}
    assert len(at_once) > 10 and at_once <= set(listed)
    text = gait("doctor", "--patches", env=environment).stdout
    assert text.startswith("torch.utils.data.dataloader.DataLoader.__iter__\n    where a loop")


@pytest.mark.parametrize("asked", ASKED)
def test_what_stands_in_a_functions_place_answers_as_it_does(places, asked):
    wrong = {
        name: (place["before"][asked], place["now"][asked])
        for name, place in places.items()
        if place["before"][asked] != place["now"][asked] and asked not in DIFFER.get(name, ())
    }
    assert not wrong


@pytest.mark.parametrize("compared", COMPARED)
def test_what_stands_in_a_functions_place_equals_it(places, compared):
    wrong = {name for name, place in places.items() if not place["equal"][compared]}
    assert wrong == {name for name, differ in DIFFER.items() if compared in differ}


def test_all_is_asked_of_all(places):
    assert len(places) > 80
    for place in places.values():
        assert set(place["before"]) == set(ASKED) and set(place["equal"]) == set(COMPARED)


def test_functions_of_c_stay_the_objects_they_are(places):
    inside = {name for name, place in places.items() if not place["is_replaced"]}
    assert "torch.Tensor.to" in inside
    assert "torch.distributed.distributed_c10d.ProcessGroup.allreduce" in inside


def test_the_document_names_all_places(root, places):
    text = (root / "docs" / "PLACES.md").read_text()
    owners = {}
    for owner, names in re.findall(r"^\| `([\w.]+)` \| (.*?) \|", text, re.M):
        owners.setdefault(owner, set()).update(re.findall(r"`(\w+)`", names))
    for name in places:
        owner, _dot, function = name.rpartition(".")
        if function in ("step", "zero_grad") and "Scaler" not in owner:
            owner = "torch.optim.optimizer.Optimizer"
        assert function in owners.get(owner, ()), f"docs/PLACES.md lacks {name}"
    for asked in (*ASKED, *COMPARED):
        assert f"| {asked} |" in text


LAZY = """
import torch, torch.nn as nn
class Mine(torch.Tensor):
    seen = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func is torch.Tensor.to or func is torch.Tensor.cpu)
        return super().__torch_function__(func, types, args, kwargs or {})
@torch.jit.script
def scripted(x):
    return x.cpu().to("cpu")
model = nn.Sequential(nn.LazyLinear(4), nn.LazyConv1d(2, 1)).to("cpu").cpu()
print([type(each).__name__ for each in model.parameters()])
print(model.to(torch.float64)[0](torch.ones(2, 3, dtype=torch.float64)).shape)
torch.ones(2).as_subclass(Mine).to("cpu").cpu()
print(Mine.seen, scripted(torch.ones(2)))
"""


def test_lazy_modules_and_tensor_subclasses(run_text):
    on, off = run_text(LAZY, warm=True), run_text(LAZY, gait=False, warm=True)
    assert (on.code, on.stdout, on.stderr) == (0, off.stdout, off.stderr)
    assert "[True, True]" in on.stdout
    assert "copy" in on.order("copy")


BEHAVES = PROGRAM.with_name("behaves.py")
MANY = (
    "parametrize func lazy copies saves scripting optimizers scaler checkpointing hooks overriding"
)
SLOW = "fx exporting compiling loaders distributed"


@pytest.mark.parametrize("sections", [MANY, pytest.param(SLOW, marks=full)])
def test_a_program_behaves_as_without_gait(run, sections):
    """Results, errors, tracebacks, what is compiled how often, word by word."""
    job = Job(BEHAVES, args=tuple(sections.split()), warm=True)
    on, off = run(job), run(job.but(gait=False))
    assert (on.code, on.stdout) == (off.code, off.stdout) and on.code == 0, off.stderr
    assert off.stdout.count("== ") == len(sections.split())
    assert "gait" not in on.stderr
