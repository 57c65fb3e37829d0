# SPDX-License-Identifier: Apache-2.0
"""Pages and pictures of answers, in a real browser: readable, whole, and by themselves."""

import itertools
import os
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

import pytest
import stored_runs
from browser import CHROMIUM, Browser, NoBrowser

from tests.cli.test_answers import HOSTILE, make_job, make_run

# one worker: a browser is large
pytestmark = pytest.mark.xdist_group("browser")

AXE = pathlib.Path(
    os.environ.get("GAIT_AXE", pathlib.Path(sys.prefix, "node_modules/axe-core/axe.min.js"))
)
SERIOUS = """
axe.run().then(found => found.violations.filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => one.id + ": " + one.nodes.map(node => node.html).join("\\n")))
"""
SCHEMES = ("light", "dark")
SVG = "{http://www.w3.org/2000/svg}"


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


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """A PyTorch training on two ranks, with all sections that a report has."""
    folder = tmp_path_factory.mktemp("runs")
    stored_runs.unpack(folder)
    return folder


def look_as(page, scheme, width, media="screen"):
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
             mobile=False)  # fmt: skip
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.ask("Emulation.setEmulatedMedia", media=media, features=features)


def pages_of(gait, training, tmp_path):
    make_job(tmp_path / "job")
    make_run(tmp_path, names=[name[:300] for name in HOSTILE], ranks=(0,))
    (tmp_path / "s.txt").write_text("a (a.py:1);" + "b" * 200 + " (b.py:2) 3\n")
    (tmp_path / "a.py").write_text("x = 1  # " + "long " * 60 + "\n")
    asked = [("report", training / "profile"), ("report", training / "ddp"), ("report", "job")]
    asked += [("report", "run"), ("info", "job"), ("gaps", training / "ddp")]
    asked += [("ops", training / "profile"), ("doctor",), ("config", "explain"), ("leaf", "s.txt")]
    asked += [("leaf", "--lines", "s.txt"), ("leaf", "--source", "a.py", "s.txt")]
    for number, words in enumerate(asked):
        page = tmp_path / f"{number}-{words[0]}.html"
        assert gait(*words, "-o", page).returncode == 0
        yield page


def test_pages_fit_any_width_and_ask_nobody(gait, browser, training, tmp_path):
    for path in pages_of(gait, training, tmp_path):
        text = path.read_text()
        assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?\s*(https?:)?//""", text)
        assert len(text) < 300_000
        page = browser.open(path)
        for scheme, width in (("light", 380), ("dark", 800), ("light", 1400)):
            look_as(page, scheme, width)
            assert page.value("document.documentElement.scrollWidth") <= width
        look_as(page, "light", 700, "print")
        assert page.value("document.documentElement.scrollWidth") <= 700
        assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        asked = {one["request"]["url"] for one in page.seen("Network.requestWillBeSent")}
        assert asked == {path.as_uri()}


def test_axe_finds_nothing_serious(gait, browser, training, tmp_path):
    if not AXE.exists():
        pytest.skip(f"no axe-core: npm install --prefix {sys.prefix} axe-core, or name its file "
                    "axe.min.js in GAIT_AXE")  # fmt: skip
    looks = itertools.cycle([("light", 380), ("dark", 1400)])  # colours are those of all pages
    for path, (scheme, width) in zip(pages_of(gait, training, tmp_path), looks):
        page = browser.open(path)
        look_as(page, scheme, width)
        page.value(AXE.read_text() + "\n;0")
        done = page.ask("Runtime.evaluate", expression=SERIOUS, awaitPromise=True,
                        returnByValue=True)  # fmt: skip
        assert done["result"]["value"] == [], (path.name, scheme, width)


@pytest.mark.parametrize("key", ["step_curve", "phases", "run"])
def test_a_picture_is_drawn_by_a_browser(gait, browser, training, tmp_path, key):
    path = tmp_path / f"{key}.svg"
    done = gait("report", training / "ddp", "-o", path, "--table", key)
    assert (done.returncode, done.stderr) == (0, "")
    root = xml.parse(path).getroot()
    assert root.tag == SVG + "svg" and not list(root.iter(SVG + "script"))
    page = browser.open(path)
    colours = set()
    for scheme in SCHEMES:
        look_as(page, scheme, 900)
        shape = "path.area" if key == "step_curve" else "rect.bar"
        assert page.value(f"document.querySelector('{shape}').getBBox().width") > 100
        colours.add(page.value("getComputedStyle(document.querySelector('.paper')).fill"))
    assert len(colours) == 2
    right = page.value("Math.max(...[...document.querySelectorAll('text')].map("
                       "text => text.getBBox().x + text.getBBox().width))")  # fmt: skip
    assert right <= 900
    asked = {one["request"]["url"] for one in page.seen("Network.requestWillBeSent")}
    assert asked == {path.as_uri()}


def test_bars_are_as_long_as_the_figures_say(gait, tmp_path):
    make_job(tmp_path / "job")
    phases = stored_runs.json.loads(gait("report", "--json", "job").stdout)["phases"]
    wanted = sorted((phase["total_ns"] for phase in phases), reverse=True)
    gait("report", "job", "-o", "phases.svg", "--table", "phases")
    bars = [
        float(bar.get("width"))
        for bar in xml.parse(tmp_path / "phases.svg").getroot().iter(SVG + "rect")
        if bar.get("class") == "bar"
    ]
    assert sorted(bars, reverse=True) == pytest.approx(
        [bars[0] * total / wanted[0] for total in wanted], abs=0.11
    )
