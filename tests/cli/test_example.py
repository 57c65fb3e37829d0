# SPDX-License-Identifier: Apache-2.0
"""examples/train_c: it learns, and being on record changes nothing it computes."""

import csv
import os
import re
import shutil
import subprocess

import pytest

# one training on record serves many tests, and each worker would make its own
pytestmark = pytest.mark.xdist_group("example")

STEPS = 500
SHORT = 100  # steps of what is only compared
PHASES = {"input", "forward", "backward", "optimizer", "evaluation", "checkpoint"}

# What a reader would have who deletes gait: every call gone, arguments and all.
WITHOUT_GAIT = """
#include <stdint.h>
#define gait_start(options) 0
#define gait_stop() ((void)0)
#define gait_record_error() ""
#define gait_site(category, name) ((void)(name), 0u)
#define GAIT_SITE(category, name) 0u
#define gait_begin(site) ((void)(site))
#define gait_end() ((void)0)
#define gait_next(site) ((void)0)
#define gait_count(site, value) ((void)(value))
#define gait_count_real(site, value) ((void)0)
#define gait_step_begin(number) ((void)0)
#define gait_step_end() ((void)0)
#define gait_async_begin(site, id) ((void)0)
#define gait_async_end(site, id) ((void)0)
#define gait_flow_begin(site, id) ((void)0)
#define gait_flow_end(site, id) ((void)0)
#define gait_key(name) 0u
#define gait_arg_int(key, value) ((void)0)
#define gait_arg_text(key, text) ((void)0)
#define gait_thread_name(name) ((void)0)
#define gait_metadata(key, json) ((void)0)
"""

CXX_USER = """
#include <gait/record.h>
#include <gait/trace.h>
int main()
{
    gait_options options = {};
    options.size = sizeof options;
    options.directory = "cxx-run";
    if (gait_start(&options) != GAIT_OK)
        return 1;
    gait_step_begin(1);
    gait_begin(GAIT_SITE("cxx", "outer"));
    gait_next(GAIT_SITE("cxx", "other"));
    gait_arg_real(gait_key("real"), 0.5);
    gait_count(GAIT_SITE("cxx", "gauge"), 7);
    gait_mark(GAIT_SITE("cxx", "mark"));
    gait_end();
    gait_step_end();
    return gait_stop();
}
"""

UNSANITIZED = pytest.mark.skipif(
    bool(os.environ.get("GAIT_SANITIZE")), reason="a user's build has no sanitizer in it"
)


def train(program, folder, steps=SHORT, **environment):
    """Standard output and the checkpoint's bytes of one training."""
    folder.mkdir(exist_ok=True)
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GAIT_")}
    done = subprocess.run(
        [str(program), "--steps", str(steps)],
        cwd=folder,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, (folder / "train_c.checkpoint").read_bytes()


@pytest.fixture(scope="module")
def program(build):
    return build / "examples/train_c/train_c"


@pytest.fixture(scope="module")
def recorded(program, tmp_path_factory):
    """One training on record: its folder, what it printed, its checkpoint."""
    folder = tmp_path_factory.mktemp("recorded")
    printed, checkpoint = train(program, folder, STEPS, GAIT_DIR="run")
    return folder, printed, checkpoint


@pytest.fixture
def short(root, tmp_path):
    """short(flags) builds the example, with a checkpoint at the end of a short training."""

    def build_one(name, *flags):
        sources = shutil.copytree(root / "examples/train_c", tmp_path / (name + ".sources"))
        text = (sources / "train.c").read_text()
        assert text.count(f"CHECKPOINT_EVERY = {STEPS}") == 1
        changed = text.replace(f"CHECKPOINT_EVERY = {STEPS}", f"CHECKPOINT_EVERY = {SHORT}")
        (sources / "train.c").write_text(changed)
        command = [os.environ.get("CC", "cc"), "-std=c11", "-O2", *sorted(sources.glob("*.c"))]
        command += ["-o", tmp_path / name, *flags, "-pthread", "-lm"]
        subprocess.run(command, check=True)
        return tmp_path / name

    return build_one


@pytest.fixture(scope="module")
def events(build, recorded):
    command = [str(build / "gait"), "export", "run", "--format", "csv"]
    done = subprocess.run(command, cwd=recorded[0], capture_output=True, text=True, check=True)
    return list(csv.DictReader(done.stdout.splitlines()))


def names(events, kind, category):
    return [e["name"] for e in events if e["kind"] == kind and e["category"] == category]


def test_loss_falls_and_accuracy_ends_above_95_percent(recorded):
    losses = [float(loss) for loss in re.findall(r"loss (\S+)", recorded[1])]
    accuracy = re.search(r"accuracy (\S+) %\n$", recorded[1])
    assert len(losses) == STEPS // 100
    assert losses[0] > 0.5 > 0.1 > losses[-1]
    assert float(accuracy.group(1)) > 95


def test_every_step_holds_its_phases_once(events):
    steps = [int(e["id"]) for e in events if e["kind"] == "step"]
    phases = names(events, "span", "phase")
    assert steps == list(range(1, STEPS + 1))
    assert set(phases) == PHASES
    for phase in ("input", "forward", "backward", "optimizer"):
        assert phases.count(phase) == STEPS
    assert phases.count("evaluation") == STEPS // 100
    assert phases.count("checkpoint") == STEPS // 500


def test_layers_counters_and_prefetches_are_on_record(events):
    layers = names(events, "span", "layer")
    evaluated = (STEPS // 100 + 1) * 8  # batches of the held-out samples
    for layer in range(1, 5):
        assert layers.count(f"dense {layer} forward") == STEPS + evaluated
        assert layers.count(f"dense {layer} backward") == STEPS
    assert names(events, "counter", "train").count("loss") == STEPS
    assert names(events, "counter", "data").count("queue depth") == 2 * STEPS
    assert names(events, "async", "data").count("prefetch") == STEPS
    assert names(events, "flow", "data").count("batch") == 2 * STEPS
    assert not [e for e in events if e["kind"] == "drop"]


def test_losses_on_record_are_those_that_were_printed(recorded, events):
    values = [float(e["value"]) for e in events if e["kind"] == "counter" and e["name"] == "loss"]
    printed = [float(loss) for loss in re.findall(r"loss (\S+)", recorded[1])]
    for index, loss in enumerate(printed):
        mean = sum(values[index * 100 : (index + 1) * 100]) / 100
        assert mean == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize("options", [["--steps"], ["--steps", "12x"], ["--checkpoint", ""], ["x"]])
def test_bad_options_are_a_usage_line_and_exit_code_2(program, tmp_path, options):
    command = [str(program), *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: train_c ")
    assert not list(tmp_path.iterdir())


def test_checkpoint_span_carries_bytes_and_path(recorded, events):
    spans = [e for e in events if e["kind"] == "span" and e["name"] == "checkpoint"]
    assert f"{len(recorded[2])}" in spans[0]["args"]
    assert "train_c.checkpoint" in spans[0]["args"]


def test_gait_run_passes_the_exit_code_and_the_output_on(gait, program, tmp_path):
    line = [program, "--steps", "100"]
    alone = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert re.match(r"step +100 +loss", alone.stdout)
    done = gait("run", "-o", "run", "--", *line)
    assert (done.returncode, done.stdout) == (0, alone.stdout)
    failed = gait("run", "-o", "run2", "--", program, "--steps", 500, "--checkpoint", "no/such/x")
    assert failed.returncode == 1
    assert "cannot write 'no/such/x'" in failed.stderr


@pytest.fixture
def package_flags(build):
    """What pkg-config says of a build folder that nobody installed."""
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")

    def flags(package):
        path = str(build / "meson-uninstalled")
        command = ["pkg-config", "--cflags", "--libs", package]
        done = subprocess.run(
            command,
            env=dict(os.environ, PKG_CONFIG_PATH=path),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    return flags


@UNSANITIZED
def test_example_built_outside_as_c11_trains_bitwise_the_same_without_gait_and_switched_off(
    package_flags, short, tmp_path
):
    (tmp_path / "none/gait").mkdir(parents=True)
    (tmp_path / "none/gait/record.h").write_text(WITHOUT_GAIT)
    without = train(short("without", "-w", f"-I{tmp_path}/none"), tmp_path / "never")
    assert without[0].startswith(f"step {SHORT:5}   loss ") and len(without[1]) > 10000
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    outside = short("outside", *strict, *package_flags("gait"))
    assert train(outside, tmp_path / "on", GAIT_DIR="run") == without
    assert list((tmp_path / "on/run").glob("*.gait"))
    assert train(outside, tmp_path / "off", GAIT_ENABLE="0", GAIT_DIR="run") == without
    assert not (tmp_path / "off/run").exists()


@UNSANITIZED
def test_headers_serve_a_program_in_cxx17(gait, package_flags, tmp_path):
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler")
    (tmp_path / "user.cc").write_text(CXX_USER)
    command = [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "user.cc", "-o", "user"]
    command += package_flags("gait")
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run([str(tmp_path / "user")], cwd=tmp_path, check=True)
    done = gait("export", "cxx-run", "--format", "csv")
    kinds = [(e["kind"], e["name"]) for e in csv.DictReader(done.stdout.splitlines())]
    assert ("span", "outer") in kinds and ("span", "other") in kinds
    assert ("counter", "gauge") in kinds and ("mark", "mark") in kinds
