# SPDX-License-Identifier: Apache-2.0
"""Starts threads of all kinds, says what Python calls each, renames some when told, and waits."""

import _thread
import concurrent.futures
import json
import os
import sys
import threading

GO_ON = threading.Event()
READY = threading.Semaphore(0)


class Derived(threading.Thread):
    """Has attributes of its own in front of the name, and asks for its dict."""

    def __init__(self, name):
        for i in range(40):
            setattr(self, f"own_{i}", i)
        super().__init__(name=name, daemon=True)
        vars(self)["one_more"] = 1

    def run(self):
        wait()


def wait():
    READY.release()
    GO_ON.wait()


def names():
    known = {thread.native_id: thread.name for thread in threading.enumerate()}
    return {tid: known.get(tid) for tid in map(int, os.listdir("/proc/self/task"))}


def tell():
    print(json.dumps(names()), flush=True)


def start_all():
    threading.Thread(target=wait, daemon=True).start()
    threading.Thread(target=wait, name="a name of more than fifteen characters").start()
    threading.Thread(target=wait, name="Größe 走る \U0001f600", daemon=True).start()
    Derived("derived").start()
    pool = concurrent.futures.ThreadPoolExecutor(2)
    for _ in range(2):
        pool.submit(wait)
    _thread.start_new_thread(wait, ())  # has no Thread object
    for _ in range(7):
        READY.acquire()


start_all()
tell()
for line in sys.stdin:  # each is a list of names for the threads that have one
    wanted = json.loads(line)
    for thread, name in zip(threading.enumerate(), wanted):
        thread.name = name
    tell()
os._exit(0)
