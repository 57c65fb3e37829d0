# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, asked over its DevTools pipe (no package needed):

with Browser(folder) as browser:
    page = browser.open(path)
    page.value("document.title")
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
SECONDS = 120

# its two pipes must be descriptors 3 and 4
LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
FLAGS = ["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"]
FLAGS += ["--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
FLAGS += ["--window-size=1280,900"]


class NoBrowser(Exception):
    """It is here and does not start."""


def pipe():
    ends = []
    for end in os.pipe():
        ends.append(fcntl.fcntl(end, fcntl.F_DUPFD, 10))
        os.close(end)
    return ends


class Browser:
    def __init__(self, folder):
        theirs_in, self.write_end = pipe()
        self.read_end, theirs_out = pipe()
        command = [sys.executable, "-c", LAUNCH, str(theirs_in), str(theirs_out), CHROMIUM]
        self.process = subprocess.Popen(
            [*command, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(folder)},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.unread, self.number, self.events = b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)

    def message(self, end):
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.read_end], [], [], max(0, end - time.monotonic()))
            part = os.read(self.read_end, 1 << 20) if ready else b""
            if not part:
                raise NoBrowser("it ended" if ready else f"no answer in {SECONDS} s")
            self.unread += part
        text, _, self.unread = self.unread.partition(b"\0")
        return json.loads(text)

    def ask(self, method, session=None, **params):
        """The result of a command; what happens meanwhile goes to `events`."""
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if session:
            request["sessionId"] = session
        try:
            os.write(self.write_end, json.dumps(request).encode() + b"\0")
        except BrokenPipeError:
            raise NoBrowser("it ended") from None
        end = time.monotonic() + SECONDS
        while True:
            answer = self.message(end)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        end = time.monotonic() + SECONDS
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message(end))

    def open(self, path):
        """A page: of a file's path, or of an address on this machine."""
        return Page(self, path)


class Page:
    def __init__(self, browser, path):
        self.browser = browser
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(domain + ".enable")
        browser.events = []
        self.ask("Page.navigate", url=path if isinstance(path, str) else path.as_uri())
        browser.wait_for("Page.loadEventFired")

    def ask(self, method, **params):
        return self.browser.ask(method, self.session, **params)

    def value(self, expression):
        done = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def until(self, expression):
        """Waits until that is true."""
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            assert time.monotonic() < end, f"never true: {expression}"

    def seen(self, method):
        return [e["params"] for e in self.browser.events if e.get("method") == method]

    def mouse(self, kind, x, y):
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def key(self, key, text=""):
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
