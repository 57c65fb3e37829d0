# SPDX-License-Identifier: Apache-2.0
"""number_reused.py GAIT OUTPUT: while GAIT records a Python, that ends and another has its number.

In a pid namespace of its own. Prints "done" when the recording has ended by itself.
"""

import os
import signal
import subprocess
import sys
import time

LAST = "/proc/sys/kernel/ns_last_pid"
PROGRAM = "def {0}():\n while True: sum(range(99))\nprint('ready', flush=True)\n{0}()"


def begin(function):
    return subprocess.Popen([sys.executable, "-c", PROGRAM.format(function)],
                            stdout=subprocess.PIPE)  # fmt: skip


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


def is_sampled():
    return b"first" in subprocess.run([gait, "leaf", out], capture_output=True).stdout


def state(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]


gait, out = sys.argv[1:]
first = begin("first")
first.stdout.readline()
recording = subprocess.Popen([gait, "record", "-o", out, "--pid", str(first.pid)])
wait_for(is_sampled)
recording.send_signal(signal.SIGSTOP)  # so that it does not see the first one end
wait_for(lambda: state(recording.pid) == "T")
first.kill()
first.wait()
while True:
    with open(LAST, "w") as last:
        last.write(str(first.pid - 1))
    second = begin("second")
    if second.pid == first.pid:
        break
    second.kill()
    second.wait()
second.stdout.readline()
recording.send_signal(signal.SIGCONT)
recording.wait()
print("done", os.path.exists(f"/proc/{second.pid}"), flush=True)
second.kill()
