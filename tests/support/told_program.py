# SPDX-License-Identifier: Apache-2.0
"""tests/cli/programs/steady.c, or what answers each line as it does."""

import os
import pathlib
import re
import subprocess


class Program:
    """The steady program, told what to do line by line."""

    def __init__(self, line, run=None, **options):
        environment = {**os.environ, **options.pop("env", {})}
        if run:
            environment["GAIT_DIR"] = str(run)
        self.output = []
        self.process = subprocess.Popen(
            list(map(str, line)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            **options,
        )

    def do(self, *lines):
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            self.output.append(self.process.stdout.readline())
        return self

    def waits(self):
        """How often its main thread gave its processor away to wait for something."""
        pid = self.process.pid
        status = pathlib.Path(f"/proc/{pid}/task/{pid}/status").read_text()
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", status, re.M)[1])

    def end(self):
        """Ends it: its output must be the program's own and nothing else."""
        self.process.stdin.write("quit\n")
        self.process.stdin.flush()
        rest, errors = self.process.communicate(timeout=60)
        assert self.output == ["done\n"] * len(self.output)
        assert (rest, errors, self.process.returncode) == ("bye\n", "", 6)

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=60)
