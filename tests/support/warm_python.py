# SPDX-License-Identifier: Apache-2.0
"""Scripts in processes of their own without importing torch for each: one process
imports what they have in common and forks for every script."""

import json
import os
import subprocess
import sys

ZYGOTE = r"""
import atexit, json, os, sys, traceback
import argparse, gzip, itertools, time, warnings, weakref
import torch, torch.profiler, gait, gait.torch
import gait.torch.profiler, gait.torch.averages, gait.torch.traces, gait.torch.handlers
for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.chdir(job["folder"])
        for name, number in (("out", 1), ("err", 2)):
            file = os.open(job["folder"] + "/." + name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(job["env"])
        import tempfile
        tempfile.tempdir = None
        sys.argv = [job["path"], *job["arguments"]]
        code = 0
        names = {"__name__": "__main__", "__file__": job["path"]}
        sys.modules["__main__"].__dict__.update(names)
        try:
            with open(job["path"]) as source:
                text = source.read()
            exec(compile(text, job["path"], "exec"), sys.modules["__main__"].__dict__)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:
            traceback.print_exc()
            code = 1
        try:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps(code), flush=True)
"""


class WarmPython:
    """run(path, …) gives what subprocess.run() would."""

    def __init__(self, python_path):
        env = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
        self._process = subprocess.Popen(
            [sys.executable, "-c", ZYGOTE],
            # threads of a pool would not come along through a fork
            env={**env, "PYTHONPATH": str(python_path), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, path, arguments, folder, env):
        job = {"path": str(path), "arguments": list(arguments), "folder": str(folder), "env": env}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that forks is gone"
        texts = []
        for name in (".out", ".err"):
            with open(os.path.join(folder, name)) as file:
                texts.append(file.read())
            os.unlink(os.path.join(folder, name))
        return subprocess.CompletedProcess([str(path)], json.loads(answer), *texts)

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
