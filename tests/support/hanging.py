# SPDX-License-Identifier: Apache-2.0
"""Runs tests/torch/scripts/hangs.py on four gloo processes and says from outside whether it
hangs, for the tests of `gait stuck` and for bench/stuck_hangs.py."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from torch_trainings import RANKS as RANKS_STARTED

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "torch/scripts/hangs.py"
RANKS = 4
# where the rank is that holds the others up
PLACES = {
    "loader": "hang_in_loader",
    "sleep": "hang_in_sleep",
    "stop": "plant",
    "collective": "gather_metrics",
    "order": "in_order",
    "checkpoint": "__reduce__",
}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Hanging:
    """Four ranks, of which one does WHAT, until the `with` block ends. `options` of `gait run`;
    None: without it."""

    def __init__(self, python, tool, folder, what, rank, step=5, options=("-q",)):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.run = self.folder / "run"
        self.tool, self.what, self.rank = str(pathlib.Path(tool).resolve()), what, rank
        env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
        env.update(OMP_NUM_THREADS="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
        env.update(WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS))
        line = ["sh", "-c", RANKS_STARTED, "ranks"]
        line += python(SCRIPT, self.folder, what, rank, step)
        if options is not None:
            line = [self.tool, "run", *options, "-o", str(self.run), "--", *line]
        self.errors = open(self.folder / "stderr", "w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            line,
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stderr=self.errors,
            start_new_session=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)  # forked off by somebody else
            except ProcessLookupError:
                continue
        self.process.wait(60)
        self.errors.close()

    def until(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{self.what}: nothing was planted"
            assert self.process.poll() is None, "the ranks have ended"
            time.sleep(0.02)

    def planted(self):
        """Waits until the work has begun."""
        self.until((self.folder / "planted").exists)
        return self

    def progress(self):
        return [(self.folder / f"progress{one}").stat().st_size for one in range(RANKS)]

    def pids(self):
        """The processes of the ranks, as far as they have begun."""
        found = []
        for one in range(RANKS):
            path = self.folder / f"progress{one}"
            text = path.read_bytes()[:16].strip() if path.exists() else b""
            found += [int(text)] if text else []
        return found

    def settled(self, quiet=0.5):
        """Waits until all are held up: nobody made a step for so long."""
        last, since = self.progress(), time.monotonic()
        while time.monotonic() - since < quiet:
            now = self.progress()
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.02)
        return self

    def ask(self, *words):
        """What `gait stuck` says, with its exit code as `code`."""
        line = [self.tool, "stuck", "--json", *map(str, words)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120)
        answer = json.loads(done.stdout) if done.stdout else {}
        return {**answer, "code": done.returncode, "stderr": done.stderr}

    def is_named(self, answer):
        """Whether it names the rank, and where that is."""
        causes = [one for one in answer.get("ranks", []) if one["is_cause"]]
        if answer["code"] != 1 or [one["pid"] for one in causes] != [self.pids()[self.rank]]:
            return False
        return causes[0]["function"].rpartition(".")[2] == PLACES[self.what]
