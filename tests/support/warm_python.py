# SPDX-License-Identifier: Apache-2.0
"""Scripts in processes of their own without importing torch for each: one process
imports what they have in common and forks for every script."""

import os
import subprocess
import sys
import tempfile

import warm_fork


class WarmPython:
    """Has `modules` imported; each script finds them there, and is a process of its own."""

    def __init__(self, modules, python_path=None):
        env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
        env["OMP_NUM_THREADS"] = "1"  # threads of a pool would not come along through a fork
        if python_path:
            env["PYTHONPATH"] = str(python_path)
        self._folder = tempfile.TemporaryDirectory()
        self._socket = os.path.join(self._folder.name, "socket")
        self._process = subprocess.Popen(
            [sys.executable, warm_fork.__file__, "serve", self._socket, *modules],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout.readline() == b"ready\n"

    def command(self, script, *arguments):
        """A command that is the script in what it prints, takes and ends with."""
        return [
            sys.executable,
            warm_fork.__file__,
            "ask",
            self._socket,
            str(script),
            *map(str, arguments),
        ]

    def run(self, path, arguments, folder, env):
        """What subprocess.run() would give."""
        with open(os.devnull) as null, temporary() as out, temporary() as err:
            streams = [file.fileno() for file in (null, out, err)]
            code = warm_fork.ask(self._socket, [str(path), *arguments], env, str(folder), streams)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read())
        return subprocess.CompletedProcess([str(path)], code, *texts)

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self._folder.cleanup()


def temporary():
    return tempfile.TemporaryFile("w+")
