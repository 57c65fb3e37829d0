# SPDX-License-Identifier: Apache-2.0
"""What gait costs, what devices used, and what only some machines have."""

import ctypes
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import time

from .session import Failed, NotTried, median

OUTSIDE = 0.02  # of a step outside of windows, or what runs of one kind differ by
ENERGY, POWER, BUSY = 0.03, 0.15, 15.0
STEPS = 120


def mean_ms(told, is_wanted):
    times = [ns for number, ns in enumerate(told["step_ns"]) if number >= 20 and is_wanted(number)]
    return statistics.median(times) / 1e6


def cost(session):
    """Pairs, bare and under gait by turns; steps by the program's own clock."""
    bare, outside, inside, walls = [], [], [], []
    share = session.seconds / 4
    since = time.monotonic()
    while len(bare) < 2 or (time.monotonic() - since) * (1 + 1 / len(bare)) < share:
        plain = session.alone("plain", STEPS, out=f"bare-{len(bare)}")
        ours = session.recorded("plain", STEPS, out=f"gait-{len(bare)}")
        bare.append(mean_ms(plain, lambda number: True))
        outside.append(mean_ms(ours, lambda number: number % 20 not in (4, 5, 6, 7, 8)))
        inside.append(mean_ms(ours, lambda number: number % 20 in (5, 6, 7)))
        walls.append(sum(ours["step_ns"]) / sum(plain["step_ns"]) - 1)
        session.same("steps", ours["steps"], plain["steps"])
    judge_cost(session, bare, outside, inside)
    session.figures["whole loop"] = median(walls)
    out, within = (median(those) / median(bare) - 1 for those in (outside, inside))
    pairs = f"{len(bare)} pairs of {median(bare):.2f} ms a step"
    return f"ok, {pairs}: {out:+.2%} outside of windows, {within:+.1%} in them"


def judge_cost(session, bare, outside, inside):
    """By pairs, since a machine drifts; what bare runs differ by is nobody's cost."""
    noise = (max(bare) - min(bare)) / median(bare)
    out = median([ours / alone - 1 for ours, alone in zip(outside, bare)])
    session.at_most("cost outside of windows", out, max(OUTSIDE, noise))
    session.figures.update({"bare ms": bare, "outside ms": outside, "inside ms": inside})


# --- energy ----------------------------------------------------------------------------------


class Counters:
    """NVML's energy counters by UUID, read here with ctypes."""

    def __init__(self):
        try:
            self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as error:
            raise NotTried(f"no NVML here: {error}") from error
        if self.nvml.nvmlInitWithFlags(0):
            raise NotTried("NVML does not begin here")
        self.devices, count = {}, ctypes.c_uint()
        self.nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        for number in range(count.value):
            handle, uuid = ctypes.c_void_p(), ctypes.create_string_buffer(96)
            self.nvml.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle))
            self.nvml.nvmlDeviceGetUUID(handle, uuid, 96)
            self.devices[uuid.value.decode()] = handle

    def joules(self):
        found = {}
        for uuid, handle in self.devices.items():
            mj = ctypes.c_ulonglong()
            if not self.nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(mj)):
                found[uuid] = mj.value / 1000
        return found


class Smi:
    """nvidia-smi's power and utilisation five times a second, where it is."""

    def __init__(self, session):
        self.path, self.process = session.folder / "nvidia-smi.csv", None
        if shutil.which("nvidia-smi"):
            line = ["nvidia-smi", "--query-gpu=uuid,power.draw,utilization.gpu", "-lms", "200"]
            line += ["--format=csv,noheader,nounits"]
            with self.path.open("w") as file:
                self.process = subprocess.Popen(line, stdout=file, stderr=subprocess.DEVNULL)

    def rows(self, uuid):
        """(watts, percent) of the time between; none where there is no nvidia-smi."""
        if self.process is None:
            return []
        self.process.terminate()
        self.process.wait()
        rows = [line.split(",") for line in self.path.read_text().splitlines()]
        numbers = [row for row in rows if len(row) == 3 and row[0].strip() == uuid]
        return [(float(w), float(p)) for _, w, p in numbers if "N" not in w + p]


def energy(session):
    """The counter around the run; the run's own readings in it."""
    counters, length = Counters(), max(3, min(10, session.seconds // 30))
    smi, before = Smi(session), counters.joules()
    try:
        session.recorded("load", length)
        after = counters.joules()
    finally:
        rows = {uuid: smi.rows(uuid) for uuid in counters.devices}
    said = []
    for gpu in session.ask("energy", session.run)["devices"]:
        uuid = gpu["uuid"]
        if uuid not in after:
            continue
        want, bound = after[uuid] - before[uuid], gpu["joules_high"] - gpu["joules_low"]
        limit = ENERGY + bound / 2 / max(want, 1)
        apart = session.near(f"joules of {uuid}", gpu["joules"], want, limit)
        said.append(f"{gpu['joules']:.0f} J, the counter {want:.0f} J ({apart:.1%})")
        judge_smi(session, gpu, rows[uuid])
    if not said:
        raise Failed("gait measured no device that NVML has a counter of")
    return "ok, " + "; ".join(said)


def judge_smi(session, gpu, rows):
    if len(rows) < 5:
        session.figures["nvidia-smi"] = "not here"
        return
    watts = sum(row[0] for row in rows) / len(rows)
    session.near(f"watts of {gpu['uuid']}", gpu["mean_watts"], watts, POWER)
    session.near("watts at most", gpu["peak_watts"], max(row[0] for row in rows), POWER)
    busy = sum(row[1] for row in rows) / len(rows)
    session.at_most(
        "utilisation beside nvidia-smi", abs(gpu["kernel_resident_percent"] - busy), BUSY
    )


def memory(session):
    told = session.alone("snapshot")
    answer = session.ask("memory", session.folder / "out/snapshot.pickle")
    peak = max(device["peak_bytes"] for device in answer["devices"])
    # what was asked for, and what blocks of the allocator took for it
    least, most = told["peak_bytes"]
    session.same("peak of memory", min(max(peak, least), most), peak)
    owners = sum(owner["peak_bytes"] for owner in answer["owners"])
    session.same("owners at the peak", owners, peak)
    return f"ok, a peak of {peak / 1e6:,.1f} MB, as the allocator counts"


# --- what only some machines have ------------------------------------------------------------


def nsight(session):
    """Ranges of nsys are the active steps of the schedule: 3 to 5 by default."""
    if not shutil.which("nsys"):
        raise NotTried("nsys is not installed")
    out, run = session.folder / "ranges", session.folder / "run"
    line = ["nsys", "profile", "--capture-range=cudaProfilerApi", "--capture-range-end=stop"]
    line += ["--trace=nvtx,cuda", "-o", out, session.tool, "run", "-q", "-o", run]
    line += ["--profile", "--profiling.nsight_enabled", "true", "--"]
    session.call([*line, *session.program("plain", 12)])
    session.call(["nsys", "export", "--type=sqlite", "-o", f"{out}.sqlite", f"{out}.nsys-rep"])
    query = "SELECT COALESCE(n.text, s.value) FROM NVTX_EVENTS n LEFT JOIN StringIds s"
    query += " ON s.id = n.textId ORDER BY n.start"
    with sqlite3.connect(f"{out}.sqlite") as file:
        names = [name for (name,) in file.execute(query) if name and name.startswith("Profiler")]
    session.same("ranges", names, [f"ProfilerStep#{number}" for number in (3, 4, 5)])
    return f"ok, {len(names)} ranges follow the schedule"


def hidden(session):
    """No device is visible: the run is recorded, and nothing is said of devices."""
    code = "import torch, gait\nn = torch.nn.Linear(4, 1); o = torch.optim.SGD(n.parameters(), .1)"
    code += "\nfor _ in range(30):\n o.zero_grad(); n(torch.ones(2, 4)).sum().backward(); o.step()"
    program = session.folder / "hidden.py"
    program.write_text(code + "\n")
    session.run = session.folder / "run"
    line = [session.tool, "run", "-q", "-o", session.run, "--", session.python, program]
    env = {"CUDA_VISIBLE_DEVICES": ""}
    session.call(line, env)
    session.same("ranks with devices", len(session.ask("breakdown", session.run)["ranks"]), 0)
    (rank,) = session.ask("report", session.run)["ranks"]
    session.same("steps", rank["steps"], 30)
    return "ok, 30 steps and no device"


def mig(session):
    listed = (
        shutil.which("nvidia-smi")
        and subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
    )
    if not listed or "MIG-" not in listed:
        raise NotTried("no MIG device here")
    session.recorded("load", 3)
    devices = session.ask("energy", session.run)["devices"]
    session.same("devices of which a part is used", any(gpu["is_part"] for gpu in devices), True)
    return f"ok, {len(devices)} devices of which a part is used, marked"


def mps(session):
    pipe = pathlib.Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))
    if not (pipe / "control").exists():
        raise NotTried("MPS is not running here")
    from .recordings import variant

    return "ok under MPS, " + variant(session, "plain")


def permission(session):
    nodes = [node for node in ("/dev/nvidiactl", "/dev/nvidia0") if os.path.exists(node)]
    if not nodes:
        raise NotTried("there is no /dev/nvidia*")
    if all(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        raise NotTried("this user may use the devices")
    return hidden(session)
