# SPDX-License-Identifier: Apache-2.0
"""`gait top`: a screen in a terminal, a table each second elsewhere."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from terminals import open_terminal

from tests.support.sampled_programs import until

ESCAPES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


class Terminal:
    """`gait top` in a terminal of that many columns."""

    def __init__(self, command, columns, kind="xterm"):
        self.leader, self.follower = open_terminal()
        self.resize(columns)
        self.process = subprocess.Popen(
            command,
            stdin=self.follower,
            stdout=self.follower,
            stderr=subprocess.PIPE,
            env={**os.environ, "TERM": kind},
        )
        self.text = ""

    def resize(self, columns):
        size = struct.pack("HHHH", 15, columns, 0, 0)
        fcntl.ioctl(self.follower, termios.TIOCSWINSZ, size)

    def read_until(self, word, seconds=20):
        end = time.monotonic() + seconds
        while word not in self.text and time.monotonic() < end:
            if select.select([self.leader], [], [], 0.1)[0]:
                self.text += os.read(self.leader, 65536).decode(errors="replace")
        return word in self.text

    def screens(self):
        return [ESCAPES.sub("", part).split("\r\n") for part in self.text.split("\x1b[H")[1:]]

    def echoes(self):
        return bool(termios.tcgetattr(self.follower)[3] & termios.ECHO)

    def end(self):
        self.process.wait(20)
        os.close(self.leader)
        os.close(self.follower)
        return self.process.returncode


def test_the_screen_fits_follows_keys_and_leaves_the_terminal_as_it_was(
    build, alternating, tmp_path
):
    target = alternating(sys.executable, busy=2)
    top = Terminal([build / "gait", "top", str(target.pid)], 70)
    assert top.read_until("slow (alternating.py")
    assert not top.echoes()
    os.write(top.leader, b"t")
    assert top.read_until("TOTAL")
    top.text = ""
    top.resize(120)
    assert top.read_until("blocked")
    os.write(top.leader, b"q")
    assert top.read_until("\x1b[?1049l")
    assert top.process.wait(20) == 0
    assert top.echoes() and top.end() == 0
    assert target.poll() is None


def test_a_screen_that_goes_with_its_program_says_so(build, alternating):
    for ends in ("program", "key", "time"):
        target = alternating(sys.executable, busy=2)
        limit = ["-d", "3"] if ends == "time" else []
        top = Terminal([build / "gait", "top", *limit, str(target.pid)], 70)
        assert top.read_until("slow (alternating.py")
        if ends == "program":
            target.kill()
        elif ends == "key":
            os.write(top.leader, b"q")
        assert top.read_until("\x1b[?1049l")
        told = top.process.stderr.read().decode()
        assert top.end() == 0
        wanted = f"gait: process {target.pid} has ended: " if ends == "program" else ""
        assert told.startswith(wanted) and bool(told) == bool(wanted)


FAMILY = """
import os, threading, time
parent = os.getppid()
def busy():
    while os.getppid() == parent: pass
pid = os.fork()
if pid:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    print(flush=True)
else:
    parent = os.getppid()
busy()
"""


CROWDS = """
import os, time
parent = os.getpid()
def busy(end):
    while time.thread_time() < end: pass
print(flush=True)
while True:
    children = [os.fork() for _ in range(4) if os.getpid() == parent]
    if 0 in children:
        busy(time.thread_time() + .2)
        os._exit(0)
    for _ in children: os.wait()
    time.sleep(.5)
"""


def test_processes_that_come_and_go_count_while_they_are_there(gait, start):
    target = start([sys.executable, "-c", CROWDS])
    told = gait("top", "-s", "-d", 6, target.pid).stdout
    heads = re.findall(r" ([\d,]+) process.*\nlock held (\d+) %", told)
    assert len(heads) > 3
    assert all(int(processes) <= 5 for processes, _ in heads), heads
    assert all(int(held) <= 100 for _, held in heads), heads
    assert any(int(held) > 10 for _, held in heads), heads


def test_keys_show_processes_and_threads(build, start):
    target = start([sys.executable, "-c", FAMILY])
    top = Terminal([build / "gait", "top", "-s", str(target.pid)], 78)
    assert top.read_until("keys: f functions, p processes, h threads")
    os.write(top.leader, b"p")
    assert top.read_until("threads  process")

    def both():  # the child too, and of the parent two threads
        top.read_until("never", 0.2)
        rows = {(int(n), int(pid)) for n, pid in re.findall(r"%\s+(\d+)  (\d+) python", top.text)}
        return (2, target.pid) in rows and len({pid for _, pid in rows}) == 2

    assert until(both), top.text
    top.text = ""
    os.write(top.leader, b"h")
    assert top.read_until("pid  thread") and top.read_until(f"{target.pid} MainThread")
    top.text = ""
    os.write(top.leader, b"f")
    assert top.read_until("busy (<string>")
    os.write(top.leader, b"q")
    assert top.end() == 0
    assert max(len(line) for screen in top.screens() for line in screen) <= 78


def test_no_line_is_longer_than_a_narrow_terminal(build, alternating):
    target = alternating(sys.executable)
    top = Terminal([build / "gait", "top", str(target.pid)], 30)
    assert top.read_until("100.0%")
    os.kill(target.pid, signal.SIGKILL)
    assert top.read_until("\x1b[?1049l"), "it ends with the process"
    assert top.end() == 0
    lines = [line for screen in top.screens() for line in screen]
    assert lines and max(map(len, lines)) <= 30


def test_without_a_terminal_a_table_is_printed(gait, alternating):
    target = alternating(sys.executable, busy=2, idle=1)
    done = gait("top", "-d", "700ms", target.pid)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert re.search(r"\d%.*slow \(alternating\.py:\d+\)", done.stdout)
    assert re.search(r"lock held \d+ %; threads: python", done.stdout)


def test_a_table_that_cannot_be_printed_is_told(build, alternating):
    words = [build / "gait", "top", "-d", "2", str(alternating(sys.executable).pid)]

    def told():  # where the first table came within the time
        with open("/dev/full", "w") as full:
            done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        return done.returncode == 2 and "cannot write the answer: No space left" in done.stderr

    assert until(told)


def test_what_cannot_be_watched_is_refused(gait):
    for words in (["4194304"], ["x"], ["0"]):
        done = gait("top", *words)
        assert done.returncode == 2 and done.stderr.startswith("gait top: ")
        assert done.stdout == ""


def test_a_terminal_that_knows_no_escapes_gets_a_table(build, alternating):
    target = alternating(sys.executable)
    top = Terminal([build / "gait", "top", "-d", "1", str(target.pid)], 70, "dumb")
    assert top.read_until("total")
    assert "\x1b" not in top.text
    assert top.end() == 0


def size(terminal, lines, columns):
    fcntl.ioctl(terminal.follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def test_a_terminal_of_any_size_is_used_and_no_more_of_it(build, alternating):
    target = alternating(sys.executable)
    top = Terminal([build / "gait", "top", str(target.pid)], 20)
    assert top.read_until("SELF  function")
    os.write(top.leader, b"h")
    assert top.read_until("lock  thread") and top.read_until(f"%  {target.pid}")
    os.write(top.leader, b"f")
    for lines, columns, marks in ((5, 20, "%  slow"), (1, 1, "."), (2, 60, "slow (alternating.py"),
                                  (12, 90, "lock held")):  # fmt: skip
        size(top, lines, columns)

        def fits(lines=lines, columns=columns, marks=marks):
            top.read_until("\x1b[J", 1)
            screens = [part.split("\x1b[J")[0] for part in top.text.split("\x1b[H")[1:]]
            top.text = ""
            rows = [ESCAPES.sub("", screen).split("\r\n") for screen in screens[-1:]]
            return rows and len(rows[0]) <= lines and max(map(len, rows[0])) <= columns and any(
                marks in row for row in rows[0]
            )  # fmt: skip

        assert until(fits), (lines, columns)
    os.write(top.leader, b"q")
    assert top.read_until("\x1b[?1049l")
    assert top.end() == 0
