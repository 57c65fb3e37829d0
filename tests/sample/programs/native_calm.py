# SPDX-License-Identifier: Apache-2.0
"""Says whether anything could be noticed of being looked at: signals that were sent
to it all came, no system call was cut short, threads came and went, and it becomes
itself again by exec on its way. The last line is "calm" or what was not.

usage: native_calm.py SECONDS
"""

import ctypes
import os
import select
import signal
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
came = {signal.SIGUSR1: 0, signal.SIGALRM: 0}
sent = 0
short = []


def count(number, _):
    came[number] += 1


def burn():
    total = 0
    for i in range(300):
        total += i * i
    return total


def wait_in_epoll(stop):
    """Waits of 1 ms, of which none may fail: nobody sends this thread a signal."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGALRM])
    poll = select.epoll()
    room = ctypes.create_string_buffer(64)
    while not stop.is_set():
        if libc.epoll_wait(poll.fileno(), room, 4, 1) < 0:
            short.append(ctypes.get_errno())
        burn()


def churn(stop):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGALRM])
    while not stop.is_set():
        brief = threading.Thread(target=burn)
        brief.start()
        brief.join()


seconds = float(sys.argv[1])
if len(sys.argv) == 2:
    print("ready", flush=True)
    end = time.monotonic() + seconds / 2
    while time.monotonic() < end:
        burn()
    os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
signal.signal(signal.SIGUSR1, count)
signal.signal(signal.SIGALRM, count)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
stop = threading.Event()
threads = [threading.Thread(target=each, args=[stop]) for each in (wait_in_epoll, churn)]
for each in threads:
    each.start()
end = time.monotonic() + seconds / 2
while time.monotonic() < end:
    os.kill(os.getpid(), signal.SIGUSR1)
    burn()
    sent += 1
signal.setitimer(signal.ITIMER_REAL, 0)
stop.set()
for each in threads:
    each.join()
calm = came[signal.SIGUSR1] == sent and came[signal.SIGALRM] > 0 and not short
print("calm" if calm else (came, sent, short[:5]), flush=True)
sys.exit(7)
