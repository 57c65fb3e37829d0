# SPDX-License-Identifier: Apache-2.0
"""What the parts of `tools/check-gpu` share: running a program, asking gait, what was wrong."""

import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MOST_SECONDS = 90  # of one program


class Failed(Exception):
    """A part found a fault, or could not go on."""


class NotTried(Exception):
    """What this machine has not."""


def find_gait():
    """The tool, and the folder that its package is imported from."""
    package = importlib.util.find_spec("gait")
    home = pathlib.Path(package.origin).parent.parent if package and package.origin else None
    named, build = os.environ.get("GAIT"), ROOT / os.environ.get("BUILD", "build")
    places = [named, build / "gait", home and home / "bin/gait", shutil.which("gait")]
    for place in places if not named else [named]:
        if place and os.access(place, os.X_OK):
            tool = pathlib.Path(place).resolve()
            for folder in (tool.parent / "python", tool.parent.parent, home):
                if folder and (folder / "gait/__init__.py").exists():
                    return tool, folder
            return tool, build / "python"
    raise SystemExit("check-gpu: there is no gait: run `make`, or set GAIT=path/to/gait")


class Session:
    """One part's, with a folder of its own."""

    def __init__(self, name, folder, limit_s, seconds):
        self.name, self.folder = name, folder
        self.until = time.monotonic() + limit_s
        self.seconds = seconds  # that were given to all parts
        self.tool, self.package = find_gait()
        self.python, self.figures, self.wrong = sys.executable, {}, []
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    # --- programs ---

    def environment(self, env=()):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GAIT_", "PYTHONPATH"))}
        stand_in = os.environ.get("GAIT_CHECK_STAND_IN")
        if stand_in:
            kept["GAIT_CHECK_STAND_IN"] = stand_in
        paths = [str(self.package), os.environ.get("PYTHONPATH")]  # torch may lie there
        return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **dict(env)}

    def call(self, line, env=(), code=0):
        left = min(MOST_SECONDS, self.until - time.monotonic())
        try:
            done = subprocess.run(
                [str(word) for word in line],
                env=self.environment(env),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=max(1, left),
                cwd=self.folder,
            )
        except subprocess.TimeoutExpired as late:
            if left < MOST_SECONDS:
                raise NotTried(f"the time for it was over, {left:.0f} s") from late
            raise Failed(f"'{pathlib.Path(line[0]).name}' took more than {left:.0f} s") from late
        if code is not None and done.returncode != code:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise Failed(f"{line[0]} ended with {done.returncode}: {' '.join(last)[:300]}")
        return done

    def program(self, what, *words, out="out"):
        return [sys.executable, HERE / "program.py", what, self.folder / out, *words]

    def alone(self, what, *words, out="out", env=()):
        self.call(self.program(what, *words, out=out), env)
        return self.told(out)

    def recorded(self, what, *words, out="out", windows="5/3/20", options=("-q",), env=()):
        """Under `gait run`; the run lies in self.run."""
        run = [self.tool, "run", *options, "-o", self.folder / out / "run", "--"]
        env = {"GAIT_TORCH_WINDOWS": windows, **dict(env)}
        done = self.call(run + self.program(what, *words, out=out), env)
        self.run, self.stderr = self.folder / out / "run", done.stderr
        return self.told(out)

    def told(self, out="out", rank=0):
        told = json.loads((self.folder / out / f"told-{rank}.json").read_text())
        if told.get("why"):
            raise NotTried(told["why"])
        return told

    def ask(self, *words):
        return json.loads(self.call([self.tool, *words, "--json"]).stdout)

    def traces(self, pattern, out="out"):
        return sorted((self.folder / out).glob(pattern))

    # --- judging ---

    def same(self, what, got, want):
        self.figures[what] = got if isinstance(got, int | float) else len(got)
        if got != want:
            self.wrong.append(f"{what}: {differs(got, want)}")

    def near(self, what, got, want, limit):
        """Within that part of it; returns how far it is."""
        apart = abs(got - want) / want if want else float(bool(got))
        self.figures[what] = {"gait": got, "truth": want, "apart": apart, "limit": limit}
        if not apart <= limit:
            self.wrong.append(f"{what}: {got:.6g}, not {want:.6g} (± {limit:.1%})")
        return apart

    def at_most(self, what, got, limit):
        self.figures[what] = {"seen": got, "limit": limit}
        if not got <= limit:
            self.wrong.append(f"{what}: {got:.4g}, at most {limit:.4g}")


def differs(got, want):
    """The first difference of two answers."""
    if isinstance(got, dict) and isinstance(want, dict):
        for key in sorted(got.keys() | want.keys(), key=str):
            if got.get(key) != want.get(key):
                return f"{str(key)[:80]}: {got.get(key)}, not {want.get(key)}"
    if isinstance(got, str) and isinstance(want, str):
        for number, (one, other) in enumerate(zip(got.splitlines(), want.splitlines())):
            if one != other:
                return f"line {number + 1}: {one.strip()[:160]!r}, not {other.strip()[:160]!r}"
    return f"{str(got)[:120]}, not {str(want)[:120]}"


def median(values):
    return statistics.median(values) if values else 0
