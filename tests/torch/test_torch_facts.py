# SPDX-License-Identifier: Apache-2.0
"""Each fact of docs/TORCH.md as the CSV export shows it, and nothing more."""

import json

import pytest

HEAD = """
import gc, logging, sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.0), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(8, 4)
def backward(): model(x).sum().backward()
gc.disable()
"""


@pytest.fixture
def facts(run_text):
    """facts(source) gives (name, arguments) of the phases, in order, outermost first."""

    def go(source, category="phase", **fields):
        found = run_text(HEAD + source, warm=True, **fields)
        assert (found.code, found.stderr) == (0, "")
        rows = [row for row in found.rows if row["category"] == category]
        assert all(row["name"] for row in rows)
        rows.sort(key=lambda row: (int(row["start_ns"]), -int(row["duration_ns"] or 0)))
        said = dict(part.split("=") for part in found.stdout.split() if "=" in part)
        rows = [row for row in rows if row["name"] != "gc" or "gc.collect" in source]
        return [(row["name"], json.loads(row["args"] or "{}"), row) for row in rows], said

    return go


def names(found):
    return [name for name, _args, _row in found]


def inside(inner, outer):
    begin, end = int(inner["start_ns"]), int(inner["start_ns"]) + int(inner["duration_ns"])
    first, last = int(outer["start_ns"]), int(outer["start_ns"]) + int(outer["duration_ns"])
    return first <= begin and end <= last


def test_a_loader_is_asked_until_it_is_exhausted(facts):
    found, _said = facts(
        "loader = DataLoader(TensorDataset(torch.ones(10, 3, 5)), batch_size=4)\n"
        "for batch in loader: pass\n"
    )
    assert names(found) == ["input"] * 5
    making, *asks = [args for _name, args, _row in found]
    assert making["asks"] == 0
    assert [ask["loader"] for ask in asks] == [making["iterator"]] * 4
    assert [ask["got"] for ask in asks] == [1, 1, 1, 0]
    assert [ask.get("samples") for ask in asks] == [4, 4, 2, None]


@pytest.mark.parametrize(
    "batch, samples, tokens",
    [
        ("torch.ones(3, 5)", 3, None),
        ("{'input_ids': torch.ones(2, 7), 'labels': torch.ones(2)}", 2, 14),
        ("['a', (torch.ones(6), 1)]", 6, None),
        ("collections.UserDict(input_ids=torch.ones(4, 3))", 4, 12),
        ("'text'", None, None),
        ("torch.tensor(1.0)", None, None),
    ],
)
def test_samples_and_tokens_are_read_off_the_batch(facts, batch, samples, tokens):
    found, _said = facts(
        "import collections\n"
        f"loader = DataLoader([1], batch_size=1, collate_fn=lambda _: {batch})\n"
        "next(iter(loader))\n"
    )
    args = found[-1][1]
    assert (args.get("samples"), args.get("tokens")) == (samples, tokens)


def test_only_roots_are_recorded_as_forward(facts):
    found, said = facts(
        "model(x); model.eval(); model(x); nn.DataParallel(model)(x)\nprint(f'model={id(model)}')"
    )
    forward = [args for name, args, _row in found if name == "forward"]
    assert forward == [
        {"module": int(said["model"]), "training": training} for training in (1, 0, 0)
    ]


def test_transforms_and_recomputing_are_no_forward(facts):
    found, _said = facts(
        "from torch.utils.checkpoint import checkpoint\n"
        "class Data(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 2\n"
        "    def __getitem__(self, i): return nn.ReLU()(torch.ones(4)).to('cpu')\n"
        "class Net(nn.Module):\n"
        "    def __init__(self): super().__init__(); self.inner = nn.Linear(4, 4)\n"
        "    def forward(self, x): return checkpoint(self.inner, x, use_reentrant=False)\n"
        "net = Net()\n"
        "for x in DataLoader(Data()): net(x).sum().backward()\n"
    )
    assert names(found) == ["input"] + ["input", "forward", "backward"] * 2 + ["input"]


def test_each_kind_of_backward_is_one(facts):
    found, _said = facts(
        "w = torch.ones(3, requires_grad=True)\n"
        "w.sum().backward(); torch.autograd.backward([w.sum()]); torch.autograd.grad(w.sum(), w)\n"
        "try: w.detach().backward()\n"
        "except RuntimeError: pass\n"
    )
    assert names(found)[:3] == ["backward"] * 3


def test_an_optimizer_steps_and_clears(facts):
    found, said = facts(
        "optimizer.zero_grad(); backward(); optimizer.step()\nprint(f'it={id(optimizer)}')"
    )
    optimizer = [args for name, args, _row in found if name == "optimizer"]
    assert optimizer == [{"optimizer": int(said["it"]), "steps": steps} for steps in (0, 1)]


def test_a_closure_runs_inside_the_step(facts):
    found, _said = facts(
        "lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=2)\n"
        "def closure():\n"
        "    lbfgs.zero_grad(); loss = model(x).pow(2).sum(); loss.backward(); return loss\n"
        "lbfgs.step(closure)\n"
    )
    (step,) = [row for name, args, row in found if name == "optimizer"]
    rest = [(name, row) for name, _args, row in found if name != "optimizer"]
    assert {name for name, _row in rest} == {"other", "forward", "backward"}
    assert names(found)[:4] == ["optimizer", "other", "forward", "backward"]
    assert all(inside(row, step) for _name, row in rest)


@pytest.mark.parametrize(
    "source, steps",
    [
        (
            "class Own(torch.optim.Optimizer):\n"
            "    def __init__(self, it): self.param_groups = []; self.defaults = {}\n"
            "    def step(self): pass\n"
            "Own(model).step()",
            [1],
        ),
        ("torch.optim.lr_scheduler.StepLR(optimizer, 1); backward(); optimizer.step()", [1]),
        (
            "class Inner(torch.optim.SGD):\n"
            "    def step(self, closure=None): return super().step(closure)\n"
            "backward(); Inner(model.parameters(), lr=0.1).step()",
            [1],
        ),
        (
            "class Outer(torch.optim.Optimizer):\n"
            "    def __init__(self, inner): self.optimizer = inner\n"
            "    def step(self, really): return self.optimizer.step() if really else None\n"
            "    def zero_grad(self, really): self.optimizer.zero_grad() if really else None\n"
            "backward(); outer = Outer(optimizer); outer.step(False); outer.step(True)\n"
            "outer.zero_grad(False); outer.zero_grad(True)",
            [None, 1, None, 0],
        ),
        (
            "scaler = torch.amp.GradScaler('cpu')\n"
            "for factor in (1.0, float('inf')):\n"
            "    scaler.scale(model(x).sum() * factor).backward()\n"
            "    scaler.step(optimizer); scaler.update()",
            [1, None, 1, None],
        ),
    ],
    ids=["no super", "scheduler", "subclass", "wrapper", "scaler"],
)
def test_steps_of_odd_optimizers_are_counted_once(facts, source, steps):
    found, _said = facts(source + "\n")
    assert [args.get("steps") for name, args, _row in found if name == "optimizer"] == steps


def test_an_optimizer_that_raises_ends_its_span(facts):
    found, _said = facts(
        "class Bad(torch.optim.SGD):\n"
        "    def step(self): raise ValueError('x')\n"
        "try: Bad(model.parameters(), lr=0.1).step()\n"
        "except ValueError: pass\n"
        "model(x)\n"
    )
    assert names(found) == ["optimizer", "forward"]
    assert not inside(found[1][2], found[0][2])


def test_copies_casts_and_moves(facts):
    found, _said = facts(
        "x.to('cpu'); x.to(torch.float64); x.cpu(); model.to('cpu')\n"
        "class Net(nn.Module):\n"
        "    def forward(self, x): return x.to(torch.float64).to('cpu')\n"
        "Net()(x)\n"
    )
    assert names(found) == ["copy"] * 4 + ["forward", "copy"]


def test_evaluation_lasts_from_eval_to_train_of_the_same_module(facts):
    found, said = facts(
        "model(x); model.eval(); model(x); model.train(); model.train(); model.eval()\n"
        "print(f'model={id(model)}')"
    )
    events = [row for name, _args, row in found if name == "evaluation"]
    assert [row["kind"] for row in events] == ["async"] * 2
    assert [int(row["id"]) for row in events] == [int(said["model"])] * 2
    assert [row["duration_ns"] != "" for row in events] == [True, False]


def test_checkpoints_logs_and_collections(facts):
    found, _said = facts(
        "torch.save(model.state_dict(), 'it.pt'); torch.load('it.pt')\n"
        "out = logging.StreamHandler(sys.stdout); logging.getLogger().addHandler(out)\n"
        "logging.error('x')\n"
        "gc.collect()\n"
    )
    assert [name for name in names(found) if name != "gc"] == ["checkpoint"] * 2 + ["logging"]
    (row,) = [row for name, _args, row in found if name == "logging"]
    after = [args for name, args, it in found if name == "gc" and it["start_ns"] > row["start_ns"]]
    assert {"generation": 2} in after


def test_names_that_a_script_adds(facts):
    found, _said = facts(
        "import gait\n"
        "with gait.phase('augment'): model(x)\n"
        "with gait.phase('augment').args(n=3): pass\n"
        "@gait.phase('input')\n"
        "def load(): pass\n"
        "load(); gait.epoch()\n"
    )
    assert names(found) == ["augment", "forward", "augment", "input"]
    assert found[2][1] == {"n": 3}


def test_epochs_and_the_end_are_marks(facts):
    found, _said = facts("import gait\ngait.epoch(); gait.epoch(); model(x)\n", category="torch")
    assert [(row["kind"], name) for name, _args, row in found if row["kind"] == "mark"] == [
        ("mark", "epoch"),
        ("mark", "epoch"),
        ("mark", "exit"),
    ]


COMPILED = """
import warnings; warnings.simplefilter("ignore")
from torch._dynamo.testing import CompileCounter
linear = nn.Linear(4, 4)
adam = torch.optim.Adam(linear.parameters(), lr=torch.tensor(0.1))
schedule = torch.optim.lr_scheduler.StepLR(adam, 1)
def step(x):
    loss = linear(x).sum(); loss.backward(); adam.step(); adam.zero_grad(); return loss
def broken(x):
    y = linear(x); print("", end=""); return model(y).to(torch.float64)
model.register_forward_hook(lambda *a: None)
linear(x).sum().backward()
for name, function, whole in (
    ("hooks", lambda x: model(x.to(torch.float32)).sum(), True),
    ("cast", lambda x: x.to(torch.float64).sum(), True),
    ("unbound", lambda x: torch.Tensor.to(x, torch.float64).sum(), True),
    ("call", lambda x: linear.__call__(x), True),
    ("train", lambda x: linear.train()(x), True),
    ("step", lambda x: adam.step(), False),
    ("loop", step, False),
    ("broken", broken, False),
):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(function, fullgraph=whole, backend=counter)
    for _ in range(4): compiled(x)
    print(name, counter.frame_count, counter.op_count)
"""


def test_a_compiler_sees_no_hooks(run_text):
    on, off = run_text(HEAD + COMPILED), run_text(HEAD + COMPILED, gait=False, warm=True)
    assert (on.code, on.stdout) == (off.code, off.stdout)
    assert on.stdout.count("\n") == 8
    compiling = [row for row in on.rows if (row["category"], row["name"]) == ("phase", "compile")]
    assert len(compiling) > 8


COMPILED_STEP = """
@torch.compile(backend="aot_eager")
def step(x):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()
for _ in range(6): print(step(x))
"""


def test_a_whole_step_may_be_compiled(run_text):
    """Its backward is compiled while dynamo looks at frames, ours among them."""
    on = run_text(HEAD + COMPILED_STEP, warm=True)
    off = run_text(HEAD + COMPILED_STEP, gait=False, warm=True)
    assert (on.code, on.stdout) == (0, off.stdout)
    assert on.report["steps"] == 6
    assert sum(on.phases.values()) == on.report["step_total_ns"]


def test_what_a_window_had_no_room_for_is_found(run_text):
    found = run_text(
        HEAD + "backward(); optimizer.step()\n"
        "kept = [torch.empty(4) for _ in range(150_000)]\n"
        "backward(); optimizer.step()\n",
        env=(("GAIT_TORCH_WINDOWS", "0/9"),),
        warm=True,
    )
    (lost,) = [one for one in found.report["findings"] if one["id"] == "ops_lost"]
    assert "the release of" in lost["text"] and lost["text"] in found.screen.replace("\n    ", " ")


def test_a_compiled_module_is_the_module(facts):
    found, said = facts(
        "compiled = torch.compile(model, backend='eager')\n"
        "compiled(x); compiled.eval(); compiled(x)\nprint(f'model={id(model)}')"
    )
    forward = [args for name, args, _row in found if name == "forward"]
    assert [args["module"] for args in forward] == [int(said["model"])] * 2
    assert [args["training"] for args in forward] == [1, 0]
    assert names(found).count("evaluation") == 1


def test_hooked_functions_look_like_themselves(run_text):
    source = HEAD + (
        "import copy, inspect, pickle\n"
        "for f in (torch.save, torch.optim.Adam.step, nn.Module.train, DataLoader.__iter__):\n"
        "    print(f.__name__, f.__qualname__, f.__module__, inspect.signature(f))\n"
        "    print(len(inspect.getsource(f)))\n"
        "assert pickle.loads(pickle.dumps(torch.save)) is torch.save\n"
        "pickle.loads(pickle.dumps(model.train))()\n"
        "for it in (model, optimizer): copy.deepcopy(it), pickle.loads(pickle.dumps(it))\n"
        "torch.jit.script(model)(x); torch.jit.trace(model, x); torch.fx.symbolic_trace(model)(x)\n"
        "torch.export.export(model, (x,)); torch.func.vmap(model)(x)\n"
        "torch.func.functional_call(model, dict(model.named_parameters()), x)\n"
    )
    on, off = run_text(source, warm=True), run_text(source, gait=False, warm=True)
    assert (on.code, on.stdout) == (0, off.stdout)
    assert on.stderr == off.stderr
