# SPDX-License-Identifier: Apache-2.0
"""The flame graph in a real browser, touched as people touch it: pointer and keys."""

import re

import pytest

from tests.sample.test_flame import HOSTILE
from tests.support import browser as chromium
from tests.support.sampled_programs import until

# one worker: a browser is large
pytestmark = pytest.mark.xdist_group("browser")

STACKS = """\
<module> (train.py:1);step (train.py:9);forward (model.py:3) 300
<module> (train.py:1);step (train.py:9);backward (model.py:5) 500
<module> (train.py:1);load (data.py:2) 150
<module> (train.py:1);load (data.py:2);forward (data.py:8) 50
"""
FRAME = "all.find(g => g.label.startsWith(%r))"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if not chromium.CHROMIUM:
        pytest.skip("no Chromium here (Debian, Ubuntu: chromium); make setup could not install it")
    with chromium.Browser(tmp_path_factory.mktemp("chromium")) as running:
        try:
            running.ask("Browser.getVersion")
        except chromium.NoBrowser as why:
            pytest.skip(f"{chromium.CHROMIUM} does not start: {why}")
        yield running


@pytest.fixture
def show(browser, gait, tmp_path):
    """show(stacks, options) opens their graph; it must load nothing else and fail nowhere."""
    pages = []

    def begin(stacks, *words):
        (tmp_path / "s.txt").write_text(stacks, encoding="utf-8", errors="surrogateescape")
        done = gait("flame", "-o", "flame.svg", *words, "s.txt")
        assert done.returncode == 0, done.stderr
        pages.append(browser.open(tmp_path / "flame.svg"))
        return pages[-1]

    yield begin
    for page in pages:
        asked = {one["request"]["url"] for one in page.seen("Network.requestWillBeSent")}
        assert asked == {(tmp_path / "flame.svg").as_uri()}
        assert page.seen("Runtime.exceptionThrown") == []
        assert [e["entry"]["text"] for e in page.seen("Log.entryAdded")] == []


def box_of(page, label):
    """Where a frame is on the screen: (left, top, width, height); None: it is not shown."""
    shown = page.value(
        f"(g => {{const r = g.r.getBoundingClientRect(); return g.style.display === 'none' ? null"
        f" : [r.x, r.y, r.width, r.height]}})({FRAME % label})"
    )
    return shown


def middle(page, label):
    left, top, width, height = box_of(page, label)
    return left + width / 2, top + height / 2


def test_a_click_zooms_and_escape_shows_all(show):
    page = show(STACKS)
    assert box_of(page, "all")[2] == pytest.approx(1200, abs=1)
    assert box_of(page, "step")[2] == pytest.approx(960, abs=1)
    page.click(*middle(page, "step"))
    assert until(lambda: box_of(page, "load") is None)
    assert box_of(page, "step")[2] == pytest.approx(1200, abs=1)
    assert box_of(page, "backward")[2] == pytest.approx(750, abs=1)
    assert box_of(page, "<module>")[2] == pytest.approx(1200, abs=1)
    page.key("Escape")
    assert until(lambda: box_of(page, "load"))
    assert box_of(page, "backward")[2] == pytest.approx(600, abs=1)
    page.click(*middle(page, "load"))
    assert until(lambda: box_of(page, "step") is None)
    page.click(*middle(page, "all"))
    assert until(lambda: box_of(page, "step"))


def test_a_search_marks_what_it_finds_and_sums_it_once(show):
    page = show(STACKS)
    found = "found.textContent"
    page.key("/", "/")
    page.ask("Input.insertText", text="FORWARD|step")
    assert until(lambda: page.value(found) == "3 frames, 85.00 %")
    marked = "all.filter(g => g.classList.contains('hit')).map(g => g.label)"
    assert sorted(page.value(marked)) == [
        "forward (data.py:8)",
        "forward (model.py:3)",
        "step (train.py:9)",
    ]
    colour = f"getComputedStyle({FRAME % 'step'}.r).fill"
    assert page.value(colour) == "rgb(230, 0, 230)"
    page.ask("Input.insertText", text="(")
    assert until(lambda: page.value(found) == "not a pattern") and page.value(marked) == []
    page.key("Escape")
    assert until(lambda: page.value(found) == "") and page.value("box.value") == ""


def test_the_frame_under_the_pointer_is_told_beside_it(show):
    page = show(STACKS)
    words_of = "first.textContent + '|' + second.textContent"
    tip = f"getComputedStyle(tip).display === 'none' ? '' : {words_of}"
    assert page.value(tip) == ""
    for label, words in [("load", "load (data.py:2)|200 samples, 20.00 %"),
                         ("backward", "backward (model.py:5)|500 samples, 50.00 %")]:  # fmt: skip
        page.mouse("mouseMoved", *middle(page, label))
        assert until(lambda: page.value(tip) == words)  # noqa: B023
        box = page.value("(r => [r.left, r.top, r.right, r.bottom])(tip.getBoundingClientRect())")
        assert box[0] >= 0 and box[1] >= 0 and box[2] <= 1200.5
    page.mouse("mouseMoved", 5, 55)
    assert until(lambda: page.value(tip) == "")


def as_shown(name):
    """What XML can hold of a name that may be any bytes."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    text = re.sub("[\ufffe\uffff]", "?", text)
    return re.sub("[\x00-\x1f\x7f]", " ", text)


def test_names_of_any_kind_are_shown_and_nothing_in_them_runs(show):
    names = [*HOSTILE, "<img src=x onerror=hacked=1>", "</title><script>hacked=1</script>",
             "${hacked=1}", "&lt script>hacked=1"]  # fmt: skip
    text = "".join(f"root;{name} {100 + i}\n" for i, name in enumerate(names))
    page = show(text, "--title", "<script>hacked=1</script>")
    assert page.value("document.documentElement.tagName") == "svg"
    assert page.value("document.querySelectorAll('parsererror, img').length") == 0
    assert page.value("document.scripts.length") <= 1 and page.value("typeof hacked") == "undefined"
    labels = page.value("all.map(g => g.label)")
    assert set(labels) == {"all", "root", *(as_shown(name)[:2000] for name in names)}
    for name in names[:3]:
        page.mouse("mouseMoved", *middle(page, as_shown(name)))
        assert until(lambda: page.value("first.textContent") == as_shown(name))  # noqa: B023


def test_a_name_is_cut_between_characters(show):
    names = ["a" * odd + "\U0001f600" * 40 for odd in (1, 2)]
    page = show("".join(f"{name} 5\n" for name in names) + "wide (w.py:1) 90\n")
    for name in names:
        text = page.value(f"all.find(g => g.label === '{name}').t.textContent")
        assert len(text) > 2 and text == name[: len(text) - 1] + "\u2026"


def test_an_icicle_and_a_comparison_open_too(show, tmp_path):
    (tmp_path / "before.txt").write_text(STACKS.replace("150", "950"))
    page = show(STACKS, "--icicle", "--before", "before.txt")
    assert box_of(page, "step")[1] > box_of(page, "all")[1]
    page.mouse("mouseMoved", *middle(page, "load"))
    words = "200 samples, 20.00 %; before 1,000, 55.56 %"
    assert until(lambda: page.value("second.textContent") == words)


def test_a_tall_graph_opens_at_its_root_with_the_search_in_view(show):
    deep = ";".join(f"d{i}" for i in range(150))
    page = show(f"{deep} 20\nwide (w.py:1) 80\n")
    tall = page.value("innerHeight")

    def is_seen(label):
        left, top, _, height = box_of(page, label)
        under = page.value(f"document.elementFromPoint({left + 2}, {top + height / 2}) === "
                           f"{FRAME % label}.r")  # fmt: skip
        return top >= 0 and top + height <= tall and under

    assert until(lambda: is_seen("all") and is_seen("wide")) and not is_seen("d149")
    assert page.value("scrollY") == 0 and box_of(page, "d0")[1] > box_of(page, "all")[1]
    top = "box.getBoundingClientRect().top"
    page.value("scrollTo(0, 9999)")
    assert until(lambda: is_seen("d149") and 0 <= page.value(top) < 40)
    page.mouse("mouseMoved", *middle(page, "d149"))
    assert until(lambda: page.value("first.textContent") == "d149")
    page.key("i", "i")
    assert until(lambda: page.value("scrollY") > 0 and is_seen("all"))
    assert until(lambda: 0 <= page.value(top) < 40) and not is_seen("d149")
    assert box_of(page, "d0")[1] < box_of(page, "all")[1]
    page.key("i", "i")
    assert until(lambda: page.value("scrollY") == 0 and is_seen("all"))
    page.key("i", "i")
    assert until(lambda: page.value("scrollY") > 0 and is_seen("all"))
    page.key("/", "/")
    page.ask("Input.insertText", text="i")
    page.key("i", "i")
    assert until(lambda: page.value("box.value").startswith("i")) and is_seen("all")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_head_is_readable_on_light_and_dark_screens(show, scheme):
    page = show(STACKS)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    page.ask("Emulation.setEmulatedMedia", features=[feature])
    looks = {
        "document.documentElement": "backgroundColor",
        "document.querySelector('#bar rect')": "fill",
        "document.getElementById('head')": "fill",
        "document.getElementById('how')": "fill",
        "document.getElementById('found')": "fill",
    }
    colours = [page.value(f"getComputedStyle({what}).{key}") for what, key in looks.items()]
    light = [sum(map(int, re.findall(r"\d+", colour))) / 765 for colour in colours]
    assert light[0] == light[1] and (light[0] > 0.9) == (scheme == "light")
    assert all(abs(text - light[0]) > 0.5 for text in light[2:])
