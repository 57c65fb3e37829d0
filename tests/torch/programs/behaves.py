# SPDX-License-Identifier: Apache-2.0
"""What trainings do with modules, optimizers and tensors of torch; a line for each thing."""

import copy
import inspect
import io
import os
import pickle
import sys
import tempfile
import traceback
import warnings

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)
SECTIONS = []


def section(f):
    SECTIONS.append(f)
    return f


X = torch.ones(4, 6)


def mlp():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def one(model, opt):
    opt.zero_grad()
    loss = model(X).pow(2).mean()
    loss.backward()
    opt.step()
    return loss.item()


@section
def parametrize():
    import torch.nn.utils.parametrize as P
    from torch.nn.utils.parametrizations import weight_norm

    m = mlp()

    class Sym(nn.Module):
        def forward(self, x):
            return x * 2

    P.register_parametrization(m[0], "weight", Sym())
    weight_norm(m[2])
    o = torch.optim.Adam(m.parameters())
    print(one(m, o), type(m[0]).__name__)
    c = copy.deepcopy(m)
    print(c(X).sum().item(), P.is_parametrized(c[0]))
    P.remove_parametrizations(m[0], "weight")
    m.to(torch.float64)
    print(m(X.double()).sum().item())


@section
def func():
    from torch.func import functional_call, grad, jacrev, stack_module_state, vmap

    m = mlp()
    p = dict(m.named_parameters())
    print(
        functional_call(m, p, (X,)).sum().item(),
        grad(lambda p: functional_call(m, p, (X,)).sum())(p)["0.bias"].sum().item(),
    )
    print(vmap(m)(X).shape, jacrev(m)(X[0]).shape)
    ps, bs = stack_module_state([mlp(), mlp()])
    print(vmap(lambda p, b: functional_call(m, (p, b), (X,)))(ps, bs).shape)


@section
def lazy():
    m = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(2)).to("cpu").float()
    try:
        m.half().cpu()
        copy.deepcopy(m)
    except Exception as e:
        print(type(e), str(e)[:60])
    m = nn.Sequential(nn.LazyLinear(4), nn.LazyLinear(2))
    m.state_dict()
    m(X)
    print(m[0].weight.shape, type(m[0]))
    try:
        nn.LazyLinear(3).weight.sum()
    except Exception as e:
        print(e)


@section
def copies():
    m = mlp()
    o = torch.optim.AdamW(m.parameters())
    one(m, o)
    m2, o2 = copy.deepcopy((m, o))
    print(one(m2, o2))
    got = DataLoader(TensorDataset(X, X), batch_size=2)
    l2 = copy.deepcopy(got)
    print(len(list(l2)), [b[0].shape for b in copy.copy(got)])
    print(pickle.loads(pickle.dumps(o)).state_dict()["param_groups"][0]["lr"])


@section
def saves():
    m = mlp()
    o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    one(m, o)
    f = io.BytesIO()
    torch.save({"m": m, "o": o, "fn": torch.save, "step": torch.optim.SGD.step}, f)
    f.seek(0)
    d = torch.load(f, weights_only=False)
    print(d["m"](X).sum().item(), d["fn"] is torch.save, d["step"] is torch.optim.SGD.step)
    f = io.BytesIO()
    torch.save(m.state_dict(), f)
    f.seek(0)
    print(list(torch.load(f, weights_only=True)))


@section
def scripting():
    m = mlp()
    s = torch.jit.script(m)
    print(s(X).sum().item())
    t = torch.jit.trace(m, X)
    print(t(X).sum().item())
    f = io.BytesIO()
    torch.jit.save(s, f)
    f.seek(0)
    got = torch.jit.load(f)
    got.train()
    got.eval()
    got.to("cpu")
    print(got(X).sum().item(), got.training)
    o = torch.optim.SGD(s.parameters(), lr=0.1)
    print(one(s, o))

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(6, 6)

        def forward(self, x):
            y = self.l(x).to(torch.float32).cpu()
            if y.sum() > 0:
                y = y * 2
            return y

        @torch.jit.export
        def train_it(self, x):
            return x.to(x.device)

    s = torch.jit.script(M())
    print(s(X).sum().item(), s.train_it(X).sum().item())
    print(s.code.count("to("))
    fr = torch.jit.freeze(s.eval())
    print(fr(X).sum().item())
    print(torch.jit.optimize_for_inference(torch.jit.script(M().eval()))(X).shape)


@section
def exporting():
    m = mlp()
    e = torch.export.export(m, (X,))
    print(e.graph_module.code.count("linear"), e.module()(X).sum().item())

    class M(nn.Module):
        def forward(self, x):
            return x.to(torch.float64).cpu().to("cpu") + 1

    e = torch.export.export(M(), (X,))
    print(sorted({str(n.target) for n in e.graph.nodes}))
    try:
        d = torch.export.Dim("b")
        e = torch.export.export(m, (X,), dynamic_shapes=({0: d},))
        print(e.module()(torch.ones(7, 6)).shape)
    except Exception as x:
        print(type(x))


@section
def compiling():
    import torch._dynamo as D
    from torch._dynamo.testing import CompileCounter

    for full in (True, False):
        D.reset()
        c = CompileCounter()
        m = mlp()
        f = torch.compile(m, backend=c, fullgraph=full)
        o = torch.optim.Adam(m.parameters())
        print([one(f, o) for _ in range(3)], c.frame_count)
    D.reset()
    c = CompileCounter()
    m = mlp()
    o = torch.optim.Adam(m.parameters())
    one(m, o)
    st = torch.compile(o.step, backend=c)
    [st() for _ in range(3)]
    print(c.frame_count, c.op_count)
    D.reset()
    c = CompileCounter()

    @torch.compile(backend=c)
    def g(x, flag):
        m.train(flag)
        m.eval()
        y = m(x.to(torch.float32))
        m.zero_grad()
        return y.cpu() if flag else y

    [g(X, True) for _ in range(3)]
    [g(X, False) for _ in range(2)]
    print(c.frame_count)
    D.reset()
    c = CompileCounter()
    m.compile(backend=c)
    m(X)
    m(X)
    print(c.frame_count)
    D.reset()
    c = CompileCounter()
    f = torch.compile(lambda b: torch.save, backend=c)
    print(f(1) == torch.save)
    m = mlp()
    D.reset()
    cm = torch.compile(m, backend="aot_eager")
    o = torch.optim.SGD(cm.parameters(), lr=0.1)
    print([one(cm, o) for _ in range(3)])
    print(len(cm.state_dict()), type(copy.deepcopy(cm)).__name__)


@section
def fx():
    import torch.fx

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(6, 6)

        def forward(self, x):
            return self.l(x).to(torch.float64).cpu()

    t = torch.fx.symbolic_trace(M())
    print(t.code, t(X).dtype)
    print([str(n.target) for n in t.graph.nodes])
    from torch.fx.experimental.proxy_tensor import make_fx

    print(make_fx(lambda x: x.to(torch.float64).cpu() + 1)(X).code)
    print(torch.fx.Interpreter(t).run(X).dtype)


@section
def optimizers():
    from torch.optim.lr_scheduler import StepLR

    class Mine(torch.optim.SGD):
        def step(self, closure=None):
            r = super().step(closure)
            self.n = getattr(self, "n", 0) + 1
            return r

    class Own(torch.optim.Optimizer):
        def __init__(self, ps):
            super().__init__(ps, {"lr": 0.1})

        @torch.no_grad()
        def step(self, closure=None):
            for g in self.param_groups:
                for p in g["params"]:
                    p.add_(p.grad, alpha=-g["lr"])

    for cls in (lambda p: Mine(p, lr=0.1), Own, lambda p: torch.optim.LBFGS(p, lr=0.1, max_iter=3)):
        m = mlp()
        o = cls(m.parameters())
        s = StepLR(o, 1)
        n = []

        def closure(m=m, o=o):
            o.zero_grad()
            loss = m(X).pow(2).mean()
            loss.backward()
            return loss

        for _ in range(3):
            with warnings.catch_warnings(record=True) as w:
                warnings.simplefilter("always")
                if isinstance(o, torch.optim.LBFGS):
                    o.step(closure)
                else:
                    closure()
                    o.step()
                s.step()
                n.append([str(x.message)[:50] for x in w])
        print(
            type(o).__name__, o.param_groups[0]["lr"], n, getattr(o, "n", None), m(X).sum().item()
        )


@section
def schedulers():
    from torch.optim.lr_scheduler import CosineAnnealingLR, OneCycleLR, SequentialLR, StepLR

    m = mlp()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    s = StepLR(o, 1)
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        s.step()
        print([str(x.message)[:80] for x in w])  # before step
    for S in (
        lambda: OneCycleLR(o, 0.1, 10),
        lambda: CosineAnnealingLR(o, 5),
        lambda: SequentialLR(o, [StepLR(o, 1), StepLR(o, 2)], [2]),
    ):
        s = S()
        one(m, o)
        s.step()
        print(s.get_last_lr())
        pickle.dumps(s.state_dict())


@section
def optimizer_hooks():
    m = mlp()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    torch.optim.lr_scheduler.StepLR(o, 1)
    h = o.register_step_pre_hook(lambda *a: print("pre"))
    h2 = o.register_step_post_hook(lambda *a: print("post"))
    one(m, o)
    h.remove()
    h2.remove()
    print(
        inspect.signature(o.step),
        inspect.signature(o.zero_grad),
        o.step.__name__,
        o.step == o.step,
        type(o).step == torch.optim.SGD.step,
        hasattr(o.step, "_wrapped_by_lr_sched"),
    )
    from torch.optim.swa_utils import AveragedModel

    a = AveragedModel(m)
    a.update_parameters(m)
    print(a(X).sum().item())
    orig = o.step
    o.step = lambda *a, **k: orig(*a, **k)
    print(one(m, o))

    def post(p):
        oo[p].step()
        oo[p].zero_grad()

    m = mlp()
    oo = {p: torch.optim.SGD([p], lr=0.1) for p in m.parameters()}
    for p in m.parameters():
        p.register_post_accumulate_grad_hook(post)
    m(X).sum().backward()
    print(m(X).sum().item())


@section
def optimizer_classes():
    try:
        torch.optim.SGD([], lr=1)
    except ValueError as e:
        print(e, len(traceback.extract_tb(e.__traceback__)))
    try:

        class Bad(torch.optim.Optimizer, foo=1):
            pass
    except TypeError as e:
        print(e, len(traceback.extract_tb(e.__traceback__)))

    class Reg:
        got = []

        def __init_subclass__(cls, tag=None, **k):
            super().__init_subclass__(**k)
            Reg.got.append((cls.__name__, tag))

    class Both(torch.optim.SGD, Reg, tag="x"):
        pass

    print(Reg.got)


@section
def scaler():
    m = mlp()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    g = torch.amp.GradScaler("cpu", enabled=True)
    for _ in range(3):
        o.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = m(X).float().pow(2).mean()
        g.scale(loss).backward()
        g.unscale_(o)
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        g.step(o)
        g.update()
    print(
        m(X).sum().item(),
        g.get_scale(),
        pickle.loads(pickle.dumps(g)).get_scale(),
        g.state_dict().keys(),
    )
    try:
        g.unscale_(o)
        g.unscale_(o)
    except RuntimeError as e:
        print(e)


@section
def checkpointing():
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    m = mlp()
    x = X.clone().requires_grad_()
    for re in (True, False):
        checkpoint(m, x, use_reentrant=re).sum().backward()
        print(x.grad.sum().item())
    checkpoint_sequential(m, 2, x, use_reentrant=False).sum().backward()
    print(x.grad.sum().item())


class Numbers(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return torch.full((2,), float(i))


def collate(b):
    return torch.stack(b) * 2


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.arange(5.0))


class Boom(Numbers):
    def __getitem__(self, i):
        raise KeyError(i)


@section
def loaders():
    for how in ("fork", "spawn"):
        got = DataLoader(
            Numbers(),
            batch_size=2,
            num_workers=2,
            multiprocessing_context=how,
            collate_fn=collate,
            persistent_workers=True,
        )
        print(how, [b.sum().item() for b in got], [b.sum().item() for b in got])
    print([b.tolist() for b in DataLoader(Stream(), batch_size=2, num_workers=1)])
    try:
        list(DataLoader(Boom(), num_workers=1))
    except KeyError as e:
        print(str(e).count("gait"), str(e).count("KeyError"))
    try:
        list(DataLoader(Boom()))
    except KeyError as e:
        print([f.name for f in traceback.extract_tb(e.__traceback__)])

    class L(DataLoader):
        def __iter__(self):
            for b in super().__iter__():
                yield b + 1

    print([b.sum().item() for b in L(Numbers(), batch_size=3)])
    it = iter(DataLoader(Numbers()))
    print(next(it), len(it), type(it).__name__, it._dataset_fetcher.collate_fn.__name__)
    got = DataLoader(Numbers(), collate_fn=collate)
    print(
        got.collate_fn is collate,
        pickle.loads(pickle.dumps(got)).collate_fn is collate,
        pickle.loads(pickle.dumps(iter(got)._dataset_fetcher)).collate_fn == collate,
    )


@section
def hooks():
    m = mlp()
    said = []
    hs = [
        m[0].register_forward_hook(lambda *a: said.append("f")),
        m.register_full_backward_hook(lambda *a: said.append("b")),
        m[2].register_forward_pre_hook(lambda *a: said.append("p")),
        nn.modules.module.register_module_forward_hook(lambda *a: said.append("g")),
    ]
    m(X.clone().requires_grad_()).sum().backward()
    print(said)
    [h.remove() for h in hs]

    class Boom(nn.Module):
        def forward(self, x):
            raise ValueError("in forward")

    try:
        nn.Sequential(Boom())(X)
    except ValueError as e:
        print([f.name for f in traceback.extract_tb(e.__traceback__)])

    class F(torch.autograd.Function):
        @staticmethod
        def forward(c, x):
            return x

        @staticmethod
        def backward(c, g):
            raise ValueError("in backward")

    try:
        F.apply(X.clone().requires_grad_()).sum().backward()
    except ValueError as e:
        print([f.name for f in traceback.extract_tb(e.__traceback__)])
    try:
        m.train(5)
    except ValueError as e:
        print(e)
    try:
        m.to("nowhere")
    except RuntimeError as e:
        print(str(e)[:50], [f.name for f in traceback.extract_tb(e.__traceback__)])
    try:
        X.to(1, 2, 3, 4, 5, 6)
    except (TypeError, RuntimeError) as e:
        print(str(e).splitlines()[0])


@section
def overriding():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(6, 2)

        def train(self, mode=True):
            super().train(mode)
            self.said = mode
            return self

        def to(self, *a, **k):
            self.moved = True
            return super().to(*a, **k)

        def __call__(self, *a):
            return super().__call__(*a)

        def forward(self, x):
            return self.l(x)

    m = M().train(False).to("cpu")
    print(m.said, m.moved, m(X).shape, m.eval().training)
    m.train = lambda mode=True: m
    print(m.train(False) is m)


@section
def torch_functions():
    class T(torch.Tensor):
        @classmethod
        def __torch_function__(cls, f, types, args=(), kwargs=None):
            calls.append((f.__name__, f is getattr(torch.Tensor, f.__name__, None)))
            return super().__torch_function__(f, types, args, kwargs or {})

    calls = []
    t = X.as_subclass(T)
    t.to("cpu").cpu()
    print(calls)
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(self, f, types, args=(), kwargs=None):
            calls.append(torch.overrides.resolve_name(f))
            return f(*args, **(kwargs or {}))

    calls = []
    with Mode():
        X.to(torch.float64)
        X.cpu()
        mlp().to("cpu")
    print(calls[:4], len(calls))
    print(
        torch.nn.Module.__call__ == torch.nn.Module._wrapped_call_impl,
        torch.nn.Module.__dict__["__call__"].__name__,
    )


@section
def mocks():
    from unittest import mock

    m = mlp()
    with mock.patch.object(nn.Module, "to", autospec=True) as f:
        m2 = mlp()
        m2.to("cpu")
        print(f.call_count)
    with mock.patch.object(torch.optim.SGD, "step", autospec=True) as f:
        torch.optim.SGD(m.parameters(), lr=0.1).step()
        print(f.call_count)
    print(
        inspect.getmembers(nn.Module, inspect.isfunction)[:3] != [],
        len(inspect.getmembers(nn.Module, inspect.isfunction)),
        len(inspect.getmembers(torch.optim.SGD, inspect.isfunction)),
    )
    d = torch.device("meta")
    with d:
        meta = nn.Linear(2, 2)
    print(meta.weight.device, meta.to_empty(device="cpu").weight.device)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        print(nn.Linear(3, 3)(torch.ones(1, 3).to(torch.float32).cpu()).shape)


@section
def distributed():
    import torch.multiprocessing as mp

    mp.spawn(rank_main, ("file://" + os.path.join(tempfile.mkdtemp(), "store"),), nprocs=2)


def rank_main(rank, port):
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel as DDP

    dist.init_process_group("gloo", init_method=port, rank=rank, world_size=2)
    m = DDP(mlp())
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    r = [one(m, o) for _ in range(3)]
    with m.no_sync():
        m(X).sum().backward()
    t = torch.ones(2) * (rank + 1)
    dist.all_reduce(t)
    w = dist.all_reduce(t, async_op=True)
    w.wait()
    ts = [torch.zeros(2), torch.zeros(2)]
    dist.all_gather(ts, t)
    dist.broadcast(t, 0)
    dist.barrier()
    ob = [None, None]
    dist.all_gather_object(ob, rank)
    from torch.distributed.optim import ZeroRedundancyOptimizer

    z = ZeroRedundancyOptimizer(m.parameters(), torch.optim.Adam, lr=0.01)
    r.append(one(m, z))
    from torch.distributed.fsdp import fully_shard

    try:
        f = mlp()
        fully_shard(f)
        o = torch.optim.AdamW(f.parameters())
        r += [one(f, o), one(f, o)]
    except Exception as e:
        r.append(repr(e)[:200])
    dist.barrier()
    c = copy.deepcopy(m.module)
    dist.destroy_process_group()
    if not rank:
        print(r, t, ts, ob, c(X).sum().item())


if __name__ == "__main__":
    for function in SECTIONS:
        if function.__name__ in sys.argv[1:]:
            print("==", function.__name__, flush=True)
            function()
