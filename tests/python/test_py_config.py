# SPDX-License-Identifier: Apache-2.0
"""gait.Config beside the C table, which `gait config` shows."""

import dataclasses
import json
import os
import subprocess
import sys
import types
import typing

import gait as package
import pytest

SECTION = """
training: {epochs: 10, _target_: somebody.Trainer}
profiling:
  wait: 1
  warmup: 1
  active: 3
  repeat: 1
  record_shapes: true
  profile_memory: true
  with_stack: false
"""


pytestmark = pytest.mark.usefixtures("nothing_set")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "latent_default.yaml"
    path.write_text(SECTION)
    return path


def table(gait):
    settings = json.loads(gait("config", "list", "--json").stdout)["settings"]
    return {s["name"].split(".")[1]: s for s in settings if s["name"].startswith("profiling.")}


def test_it_is_a_dataclass_with_the_names_types_and_defaults_of_the_table(gait):
    kinds = {"bool": bool, "number": int, "choice": str, "list": str, "text": str}
    fields = {field.name: field for field in dataclasses.fields(package.Config)}
    hints = typing.get_type_hints(package.Config)
    rows = table(gait)
    assert list(fields) == list(rows)
    for name, row in rows.items():
        default = row["default"]
        if isinstance(default, list):
            default = ",".join(default)
        assert hints[name] is kinds[row["kind"]], name
        assert fields[name].default == ("" if default is None else default), name


def test_importing_gait_imports_neither_dataclasses_nor_ctypes(build):
    program = "import sys, gait; print([m for m in ('dataclasses', 'ctypes') if m in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(build / "python")}
    line = [sys.executable, "-c", program]
    assert subprocess.check_output(line, env=environment, text=True) == "[]\n"


def test_a_file_an_argument_and_a_variable(file, monkeypatch):
    config = package.Config.from_yaml(file)
    assert (config.enabled, config.unit, config.wait, config.active) == (True, "epoch", 1, 3)
    assert config.origins["active"] == f"{file}:6"
    monkeypatch.setenv("GAIT_PROFILING_ACTIVE", "5")
    monkeypatch.setenv("GAIT_PROFILING_WAIT", "6")
    config = package.Config.from_yaml(file, ["profiling.wait=7"])
    assert (config.wait, config.active, config.warmup) == (7, 5, 1)
    assert config.origins["active"] == "GAIT_PROFILING_ACTIVE"
    assert package.Config.load(file, environment=False).active == 3


def test_a_programs_own_line_keeps_what_is_not_ours(file):
    line = "--training.epochs 10 --profiling.active 2 model=resnet profiling.wait=0 -v -- x".split()
    config, rest = package.Config.from_args(line, path=file)
    assert (config.active, config.wait) == (2, 0)
    assert rest == ["--training.epochs", "10", "model=resnet", "-v", "--", "x"]
    config, rest = package.Config.from_args(["--profile"])
    assert config.enabled and rest == []
    config, rest = package.Config.from_args([])
    assert not config.enabled and rest == []


def test_a_section_of_hydra_with_its_own_names():
    section = {
        "enabled": True,
        "output_dir": "outputs/profiler_logs",
        "schedule_every_n_steps": 50,
        "wait_steps": 1,
        "warmup_steps": 1,
        "active_steps": 3,
        "repeat_cycles": 2,
        "activities": ["cpu", "cuda"],
        "filename": None,
    }
    config = package.Config.from_mapping(section)
    assert (config.every_n_steps, config.repeat, config.unit) == (50, 2, "step")
    assert (config.output_dir, config.activities) == ("outputs/profiler_logs", "cpu,cuda")
    assert not package.Config.from_mapping({**section, "enabled": False}).enabled


def test_it_is_a_structured_config_of_omegaconf():
    omegaconf = pytest.importorskip("omegaconf")
    made = omegaconf.OmegaConf.structured(package.Config)
    merged = omegaconf.OmegaConf.merge(
        {"profiling": made}, omegaconf.OmegaConf.from_dotlist(["profiling.active=5"])
    )
    assert merged.profiling.active == 5
    assert package.Config.from_mapping(merged.profiling).active == 5
    assert omegaconf.OmegaConf.to_object(merged.profiling) == package.Config(active=5)
    with pytest.raises(omegaconf.errors.OmegaConfBaseException):
        omegaconf.OmegaConf.merge(made, {"actve": 5})


@pytest.mark.parametrize(
    "text, arguments, sentence",
    [
        (
            "profiling: {wiat: 1}",
            [],
            "1: unknown setting 'wiat' in 'profiling'; did you mean 'wait'?",
        ),
        ("profiling: {wait: x}", [], "1: 'wait' takes a number of units, 0 or more, not 'x'"),
        (
            "",
            ["profiling.wiat=1"],
            "unknown setting 'profiling.wiat'; did you mean 'profiling.wait'?",
        ),
        ("", ["seed=1"], "'seed=1' is not a setting; write it like profiling.wait=1"),
    ],
)
def test_what_is_wrong_is_a_value_error_with_its_line(tmp_path, text, arguments, sentence):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        package.Config.from_yaml(path, arguments)
    assert str(caught.value).endswith(sentence)


def test_arguments_may_hold_any_bytes():
    odd = b"model=\xff\xfe".decode("utf-8", "surrogateescape")
    config, rest = package.Config.from_args([odd, "profiling.wait=3", "\x7f=x"])
    assert config.wait == 3 and rest == [odd, "\x7f=x"]


def test_what_gait_run_passes_on_is_read_without_c(gait, build, tmp_path):
    """Every setting, through the environment of a child of `gait run`."""
    program = tmp_path / "child.py"
    program.write_text(
        "import json, gait, sys\nconfig = gait.Config.from_environment()\n"
        "assert 'ctypes' not in sys.modules\nprint(json.dumps(vars(config)))\n"
    )
    values = {}
    for name, row in table(gait).items():
        if row["kind"] == "bool":
            values[name] = not row["default"]
        elif row["kind"] == "number":
            values[name] = 11
        elif row["kind"] == "choice":
            values[name] = row["choices"][1]
        elif row["kind"] == "list":
            values[name] = "cpu,cuda"
        else:
            values[name] = "some text"
    values.update(enabled=True, record_shapes=True, with_stack=True, unit="step")
    values.update(every_n_steps=500, profiler="pytorch", max_trace_size="500M")
    words = [f"profiling.{name}={value}" for name, value in values.items()]
    environment = {**os.environ, "PYTHONPATH": str(build / "python")}
    done = gait("run", "-q", *words, "--", sys.executable, program, env=environment)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got == values


def test_variables_that_are_wrong_are_named():
    with pytest.raises(ValueError, match="no setting 'GAIT_PROFILING_WIAT' in the environment"):
        package.Config.from_environment({"GAIT_PROFILING_WIAT": "1"})
    with pytest.raises(ValueError, match="GAIT_PROFILING_WAIT takes a number, not 'x'"):
        package.Config.from_environment({"GAIT_PROFILING_WAIT": "x"})
    assert package.Config.from_environment({"GAIT_PROFILING_WAIT": "4"}) == package.Config(
        enabled=True, wait=4, unit="epoch", skip_first=0
    )


def test_switched_off_it_costs_nothing_and_imports_no_torch():
    before = "torch" in sys.modules
    with package.Config().profile() as prof:
        prof.step()
    assert ("torch" in sys.modules) == before


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["profiling.py_spy=1"], "py_spy: Config.profile() takes no samples: start the script by"),
        (["profiler=advanced"], "use gait.profilers.Advanced, or 'gait run --profiler advanced"),
    ],
)
def test_what_a_script_asks_for_and_does_not_get_is_said(arguments, sentence, capfd):
    config, rest = package.Config.from_args(arguments)
    for _ in range(2):
        config.profile()
    said = " ".join(capfd.readouterr().err.split())
    assert rest == [] and said.count("gait: ") == said.count(sentence) == 1


def test_a_subclass_may_add_fields():
    class Mine(package.Config):
        project: str = "x"

    assert Mine(wait=5, project="y").wait == 5
    assert [field.name for field in dataclasses.fields(Mine)][-1] == "project"


def test_stacks_of_ops_have_a_name_where_the_worker_has_none(tmp_path, monkeypatch):
    from gait import _profiling
    from gait.torch import flame

    written = []
    monkeypatch.setattr(flame, "write", lambda *given: written.append(given))
    prof = types.SimpleNamespace(events=list, with_stack=False)
    _profiling._write_stacks(package.Config(), str(tmp_path), prof)
    assert written[0][3].endswith(f"_{os.getpid()}")
