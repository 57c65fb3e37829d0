# SPDX-License-Identifier: Apache-2.0
"""`gait view`: who is let in, what pages say, and how a page follows its run."""

import contextlib
import http.client
import json
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse

import pytest
from browser import CHROMIUM, Browser, NoBrowser

from tests.cli.test_answers import HOSTILE, make_job, make_run

pytestmark = pytest.mark.xdist_group("browser")


class View:
    def __init__(self, build, path, *options):
        command = [str(build / "gait"), "view", "--no-browser", *options, str(path)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.url = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.url)
        self.netloc, self.home = parts.netloc, parts.path

    def ask(self, path="", method="GET", home=None, **headers):
        """Status, body and headers of a reply."""
        connection = http.client.HTTPConnection(self.netloc, timeout=60)
        target = (self.home if home is None else home) + path
        connection.request(method, target, headers={k.title(): v for k, v in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.headers

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


@pytest.fixture
def view(build):
    with contextlib.ExitStack() as stack:

        def start(path, *options):
            started = View(build, path, *options)
            stack.callback(started.process.stderr.close)
            stack.callback(started.process.stdout.close)
            stack.callback(started.process.wait)
            stack.callback(started.process.kill)
            return started

        yield start


def add_rank(tmp_path):
    """A fifth process writes into the run's folder."""
    (shard,) = make_run(tmp_path, names=HOSTILE, ranks=(7,)).iterdir()
    shard.rename(tmp_path / "job" / "late.gait")


@pytest.fixture
def job(view, tmp_path):
    make_job(tmp_path / "job")
    return view(tmp_path / "job")


def test_pages_are_the_answers_of_the_command_line(gait, job, tmp_path):
    pages = [word.split('"')[0] for word in job.ask()[1].split('<a href="')[1:]]
    assert {"report", "ops", "steps", "breakdown", "findings"} <= set(pages)
    for page in pages:
        status, text, headers = job.ask(page + ".json")
        said = gait(page, "--json", tmp_path / "job")
        if said.returncode:
            assert status >= 400 and text.strip() in said.stderr, page
            continue
        assert status == 200 and headers["Content-Type"] == "application/json"
        assert json.loads(text) == json.loads(said.stdout), page
        status, text, headers = job.ask(page)
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert 'aria-current="page"' in text
    assert job.ask("info.csv?table=shards")[1] == gait(
        "info", "--format", "csv", "--table", "shards", tmp_path / "job").stdout  # fmt: skip
    want = gait("breakdown", "--steps", "--json", tmp_path / "job").stdout
    assert json.loads(job.ask("breakdown.json?steps")[1]) == json.loads(want)
    for page, options in ("steps", ["--steps=2..3", "--ranks=0"]), ("gaps", ["--from=1ms"]):
        query = "&".join(option.removeprefix("--") for option in options)
        want = gait(page, *options, "--json", tmp_path / "job").stdout
        assert json.loads(job.ask(f"{page}.json?{query}")[1]) == json.loads(want)
    assert "chooses nothing" in job.ask("steps?ranks=99")[1]


@pytest.mark.parametrize(
    "query, words",
    [("nothing=1", "no option 'nothing'"), ("a%zz", "not well formed"), ("steps", "no option")],
)
def test_a_query_that_is_not_understood_is_refused_with_a_sentence(job, query, words):
    status, text, _ = job.ask("info?" + query)
    assert status == 400 and words in text.replace("&#39;", "'") and "<nav" in text


def test_only_the_token_from_this_machine_is_let_in(job):
    assert job.ask()[0] == job.ask("", "HEAD")[0] == 200
    assert job.ask("", "HEAD")[1] == ""
    for home in ("/", "/" + "0" * 32 + "/", job.home[:-2] + "/", "/x" + job.home):
        assert job.ask(home=home)[0] == 403
    assert job.ask(host="example.org")[0] == job.ask(origin="http://example.org")[0] == 403
    assert job.ask(origin="http://" + job.netloc)[0] == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
        assert job.ask("", method)[0] == 405
    status, _, headers = job.ask(home=job.home.rstrip("/"))
    assert (status, headers["Location"]) == (301, job.home)
    for path in ("../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "view.css/.."):
        assert job.ask(path)[0] == 404
    policy = job.ask()[2]["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy


def test_many_and_slow_clients_get_their_turn(job):
    host, port = job.netloc.split(":")
    idle = [socket.create_connection((host, int(port))) for _ in range(20)]
    idle[0].sendall(b"GET / HTTP")
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(job.ask("state")[0])) for _ in range(200)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [200] * 200
    late = socket.create_connection((host, int(port)))  # of the others some gave way
    late.sendall(b"x" * 9000)
    assert late.recv(100).startswith(b"HTTP/1.1 431")
    late.close()
    for one in idle:
        one.close()
    assert job.ask()[0] == 200


def test_a_run_that_grows_and_goes_is_told(view, tmp_path):
    make_job(tmp_path / "job")
    job = view(tmp_path / "job")
    before = json.loads(job.ask("info.json")[1])
    first = json.loads(job.ask("state")[1])["version"]
    add_rank(tmp_path)
    while json.loads(job.ask("state")[1])["version"] == first:
        pass
    after = json.loads(job.ask("info.json")[1])
    assert len(after["shards"]) == len(before["shards"]) + 1
    for shard in (tmp_path / "job").glob("*"):
        shard.unlink()
    while json.loads(job.ask("state")[1])["is_open"]:
        pass
    status, text, _ = job.ask("info")
    assert status == 404 and "job" in text and "<nav" in text
    assert job.end() == 0


def test_a_socket_is_this_users_alone_and_goes_with_the_server(view, tmp_path):
    make_job(tmp_path / "job")
    path = tmp_path / "s"
    served = view(tmp_path / "job", "--socket", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        home = urllib.parse.urlsplit(served.url.split()[0]).path
        client.sendall(f"GET {home}state HTTP/1.1\r\nHost: localhost:8000\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200")
    assert served.end() == 0 and not path.exists()


def test_what_cannot_be_served_is_refused_with_one_sentence(gait, job, tmp_path):
    port = job.netloc.split(":")[1]
    cases = [
        (("--port", port, tmp_path / "job"), f"cannot listen on port {port}"),
        (("--port", "1", "--socket", "s", tmp_path / "job"), "--socket excludes --port"),
        (("--socket", "s" * 200, tmp_path / "job"), "is longer than"),
        ((tmp_path / "nothing",), "nothing"),
    ]
    for options, words in cases:
        done = gait("view", "--no-browser", *options)
        assert (done.returncode, done.stdout) == (2, "") and words in done.stderr


# --- in a browser -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not CHROMIUM:
        pytest.skip("no Chromium here (Debian, Ubuntu: chromium); make setup could not install it")
    with Browser(tmp_path_factory.mktemp("chromium")) as running:
        try:
            running.ask("Browser.getVersion")
        except NoBrowser as why:
            pytest.skip(f"{CHROMIUM} does not start: {why}")
        yield running


def test_tables_are_sorted_and_filtered(browser, job):
    page = browser.open(job.url + "info")
    table = "document.querySelector('main table')"
    column = f"[...{table}.tBodies[0].rows].map(row => row.cells[0].textContent)"
    names = page.value(column)
    page.value(f"{table}.tHead.querySelector('.sort').click()")
    assert page.value(column) == sorted(names, reverse=True)
    page.value(f"{table}.tHead.querySelector('.sort').click()")
    assert page.value(column) == sorted(names)
    assert page.seen("Log.entryAdded") == []
    page.key("]", "]")
    page.until("!location.pathname.endsWith('/info') && document.readyState == 'complete'")
    page.key("?", "?")
    page.until("document.querySelector('#keys')?.open")


def test_a_page_follows_its_run(browser, view, tmp_path):
    make_job(tmp_path / "job")
    job = view(tmp_path / "job")
    page = browser.open(job.url + "info")
    rows = "document.querySelectorAll('main tbody')[0].rows.length"
    before = page.value(rows)
    add_rank(tmp_path)
    page.until(f"{rows} > {before}")
    assert page.value("document.querySelectorAll('script').length") == 1
    job.end()
    page.until("document.querySelector('#news')?.textContent.includes('has ended')")


def test_the_script_is_the_one_that_its_source_makes(root, tmp_path):
    if not shutil.which("npm"):
        pytest.skip("no npm here: the script cannot be built")
    made = tmp_path / "view.js"
    done = subprocess.run([root / "tools/make-view", made], capture_output=True, text=True)
    if not (root / "web/node_modules/esbuild").exists():
        pytest.skip("npm cannot fetch esbuild")
    assert done.returncode == 0, done.stderr
    assert made.read_text() == (root / "src/cli/view/view.js").read_text()
