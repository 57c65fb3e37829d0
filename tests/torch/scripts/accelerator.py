# SPDX-License-Identifier: Apache-2.0
"""A training whose work is on an accelerator, of the kind of stand_in.py, that tells what it
launched. Words: `manual` has no loader, `own-profiler` uses torch's besides, `fails` cannot
record devices, `two` has two of them, `ahead` launches more than they can do meanwhile, `bare`
never had a loader."""

import sys
import threading

import stand_in

if "fails" in sys.argv:
    stand_in.state["failing"] = "prepare"
if "loses" in sys.argv:
    stand_in.state["failing"] = "disable"
for word in sys.argv:
    if word.endswith(".gz"):
        stand_in.state["trace"] = word

import torch  # noqa: E402
from plants import tell  # noqa: E402

LIBRARY = torch.library.Library("standin", "DEF")
LIBRARY.define("gemm(Tensor x, Tensor w) -> Tensor")
LIBRARY.define("gemm_backward(Tensor x, Tensor gradient) -> Tensor")
launched = []


def gemm(x, w):
    stand_in.launch("gemm_kernel", 20_000_000 if "ahead" in sys.argv else 40_000)
    stand_in.launch("Memcpy HtoD", 9_000, stream=14, category="gpu_memcpy")
    if "two" in sys.argv:
        stand_in.launch("gemm_kernel", 25_000, device=1)
    return x @ w


def gemm_backward(x, gradient):
    result = x.t() @ gradient  # ops that are over when the kernels are launched
    stand_in.launch("gemm_backward_kernel", 70_000)
    stand_in.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50_000, stream=21)
    return result


LIBRARY.impl("gemm", gemm, "CPU")
LIBRARY.impl("gemm_backward", gemm_backward, "CPU")


class Gemm(torch.autograd.Function):
    @staticmethod
    def forward(context, x, w):
        context.save_for_backward(x)
        return torch.ops.standin.gemm(x, w)

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return None, torch.ops.standin.gemm_backward(x, gradient)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(8, 1))

    def forward(self, x):
        return Gemm.apply(x, self.w)


torch.manual_seed(3)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(480, 8), torch.randn(480, 1))
if "bare" in sys.argv:
    batches = [data[at : at + 8] for at in range(0, 480, 8)]
else:
    batches = torch.utils.data.DataLoader(data, batch_size=8)
losses, theirs = [], 0


def profiled(step):
    """The program's own profiler, in some steps."""
    return torch.profiler.profile() if "own-profiler" in sys.argv and step in (6, 20) else None


def train() -> None:
    global theirs
    for step, (x, y) in enumerate(list(batches) if "manual" in sys.argv else batches):
        own = profiled(step)
        if own:
            own.__enter__()
        optimizer.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if own:
            own.__exit__(None, None, None)
            theirs += 1


if "thread" in sys.argv:
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
else:
    train()
tell(len(losses), losses, calls=stand_in.calls, recordings=stand_in.recordings, theirs=theirs)
