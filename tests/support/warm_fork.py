# SPDX-License-Identifier: Apache-2.0
"""The process that imports once and forks for every script (warm_python.py starts
it), and the small one that asks it for a script and ends as the script did."""

import atexit
import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import threading
import types

ANSWER_BYTES = 64
REQUEST_BYTES = 1 << 20


def ask(path, words, env, folder, streams):
    """Has a script run; gives its exit code, which is negative for a signal."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.connect(path)
        job = {"words": words, "env": dict(env), "folder": folder}
        socket.send_fds(line, [json.dumps(job).encode()], streams)
        answer = line.recv(ANSWER_BYTES)
        assert answer, "the process that forks is gone"
        return json.loads(answer)


def serve(path, modules):
    """Forks for each that asks, until stdin ends; returns in the children only."""
    import gc
    import select

    for module in modules:
        __import__(module)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    os.write(1, b"ready\n")
    asking = {}  # those whose script runs, by its pidfd
    while True:
        lines = {line: pid for pid, line in asking.values()}
        ready = select.select([listener, 0, *asking, *lines], [], [])[0]
        for line in lines if 0 in ready else set(ready) & set(lines):
            os.kill(lines[line], signal.SIGKILL)  # nobody waits for it any more
        if 0 in ready:
            sys.exit()
        for ended in set(ready) & set(asking):
            pid, line = asking.pop(ended)
            os.close(ended)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with contextlib.suppress(OSError):
                line.sendall(json.dumps(code).encode())
            line.close()
        if listener in ready:
            line, _ = listener.accept()
            text, numbers, _flags, _address = socket.recv_fds(line, REQUEST_BYTES, 3)
            pid = os.fork()
            if pid == 0:
                close_all([listener, line, *lines], asking)
                return json.loads(text), numbers
            for number in numbers:
                os.close(number)
            asking[os.pidfd_open(pid)] = pid, line


def close_all(sockets, numbers):
    for one in sockets:
        one.close()
    for number in numbers:
        os.close(number)


def become(job, numbers):
    """This process is from now on what starting the script would have made of it."""
    for number, place in zip(numbers, range(3), strict=True):
        os.dup2(number, place)
        os.close(number)
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["env"])
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None
    sys.argv = list(job["words"])
    sys.orig_argv = [sys.executable, *sys.argv]
    folders = [entry for entry in os.environ.get("PYTHONPATH", "").split(":") if entry]
    sys.path[:1] = [os.path.dirname(os.path.abspath(sys.argv[0])), *folders]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules["__main__"].__file__ = sys.argv[0]
    # a Python that starts has imported none: Debian's brings one of its own, which would
    # stand in the way of gait's, and of a user's
    sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401, gait's waits there
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    with open(sys.argv[0]) as source:
        return compile(source.read(), sys.argv[0], "exec"), sys.modules["__main__"].__dict__


def end_now(code):
    """All that an end does but for taking torch apart, 0.15 s in Python and as much in C."""
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()
    gait = sys.modules.get("gait")
    is_recording = "GAIT_DIR" in os.environ or (gait and gait.recording())
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if is_recording:
        ctypes.PyDLL(None).exit(code or 0)  # the recorder is C, and stops there
    os._exit(code or 0)


if __name__ == "__main__":
    what, path, *rest = sys.argv[1:]
    if what == "ask":
        code = ask(path, rest, os.environ, os.getcwd(), (0, 1, 2))
        if code < 0:
            os.kill(os.getpid(), -code)
        sys.exit(code)
    try:
        exec(*become(*serve(path, rest)))
    except SystemExit as end:
        end_now(end.code)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        end_now(1)
    end_now(None)
