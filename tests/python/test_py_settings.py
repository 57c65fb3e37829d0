# SPDX-License-Identifier: Apache-2.0
"""Each name that a setting has, through each door: a file, the line, a variable, a mapping,
a pydantic model, a dataclass as tyro fills it. The file, read in C, says what is right."""

import argparse
import dataclasses
import json
import random

import gait as package
import pytest
from gait import _variables

SECTION = {  # the guide's own, each value as ever
    "wait": 1,
    "warmup": 1,
    "active": 3,
    "repeat": 1,
    "record_shapes": True,
    "profile_memory": True,
    "with_stack": False,
}
FIELDS = [field.name for field in dataclasses.fields(package.Config)]


pytestmark = pytest.mark.usefixtures("nothing_set")


@pytest.fixture
def table(gait):
    return json.loads(gait("config", "list", "--json").stdout)


@pytest.fixture
def names(table):
    """{name: a legal value that is not the default}, of all settings and aliases."""
    rows = {s["name"].split(".")[1]: s for s in table["settings"] if s["name"][0] == "p"}
    means = {alias["name"]: alias["means"].split(".")[1] for alias in table["aliases"]}
    values = {name: value_of(rows[means.get(name, name)]) for name in [*rows, *means]}
    values["epochs"] = 0  # from it `active` follows, in C at once, in Python with the schedule
    return values


def value_of(row):
    if row["kind"] == "bool":
        return not row["default"]
    if row["kind"] == "number":
        return 200 if row["name"].endswith("every_n_steps") else 7
    if row["kind"] == "choice":
        return row["choices"][1]
    return "cpu,cuda" if row["kind"] == "list" else "words"


def as_yaml(section):
    return "profiling:\n" + "".join(f"  {k}: {json.dumps(v)}\n" for k, v in section.items())


def of_file(section, path):
    path.write_text(as_yaml(section))
    return package.Config.load(path, environment=False)


def as_dataclass(section):
    fields = [(key, type(value), value) for key, value in section.items()]
    return dataclasses.make_dataclass("Profiling", fields)()


def as_namespace(section):
    return argparse.Namespace(**section)


def as_omegaconf(section):
    return pytest.importorskip("omegaconf").OmegaConf.create(section)


def as_model(section):
    pydantic = pytest.importorskip("pydantic")
    fields = {key: (type(value), value) for key, value in section.items()}
    return pydantic.create_model("Profiling", **fields)()


def as_tyro(section):
    tyro = pytest.importorskip("tyro")
    return tyro.cli(type(as_dataclass(section)), args=[])


MAPPINGS = [dict, as_dataclass, as_namespace, as_omegaconf, as_model, as_tyro]


def outcome(make):
    try:
        config = make()
    except ValueError as error:
        return str(error).rpartition("' ")[2]  # without where it stands
    return {name: getattr(config, name) for name in FIELDS}


@pytest.mark.parametrize("made", MAPPINGS)
def test_every_name_in_a_mapping_is_what_it_is_in_a_file(names, made, tmp_path):
    for name, value in names.items():
        section = {name: value}
        wanted = outcome(lambda section=section: of_file(section, tmp_path / "theirs.yaml"))
        got = outcome(lambda section=section: package.Config.from_mapping(made(section)))
        assert got == wanted, name


@pytest.mark.parametrize("made", MAPPINGS)
def test_the_guides_literal_section_is_on_and_counts_epochs(made, tmp_path):
    config = package.Config.from_mapping(made(SECTION))
    assert (config.enabled, config.unit, config.skip_first) == (True, "epoch", 0)
    assert outcome(lambda: config) == outcome(lambda: of_file(SECTION, tmp_path / "theirs.yaml"))
    off = package.Config.from_mapping(made({**SECTION, "enabled": False}))
    assert not off.enabled


def test_no_section_is_off_and_an_empty_one_is_on():
    assert not package.Config.from_mapping(None).enabled
    assert package.Config.from_mapping({}).enabled
    with pytest.raises(TypeError, match="a section has keys and values: a int has none"):
        package.Config.from_mapping(7)


def test_a_field_of_a_pydantic_model_takes_the_section():
    pydantic = pytest.importorskip("pydantic")

    class Theirs(pydantic.BaseModel):
        profiling: package.Config | None = None

    assert Theirs().profiling is None
    read = Theirs.model_validate({"profiling": SECTION}).profiling
    assert (read.enabled, read.unit, read.active) == (True, "epoch", 3)
    other = Theirs(profiling={"profiling_wait_epochs": 4, "torch_profiling": True}).profiling
    assert (other.wait, other.enabled, other.store_traces) == (4, True, False)
    assert Theirs(profiling=package.Config(active=5)).profiling == package.Config(active=5)
    with pytest.raises(pydantic.ValidationError, match="did you mean 'profiling.wait'"):
        Theirs(profiling={"wiat": 1})


def test_variables_know_the_aliases_of_the_table(table):
    ours = {
        alias["name"]: (
            alias["means"].split(".")[1],
            alias["stands_alone"],
            alias["unit"] or "",
        )
        for alias in table["aliases"]
    }
    assert ours == _variables.ALIASES


def compare_variables(section, monkeypatch):
    """What C and what Python make of the same variables."""
    given = {"GAIT_PROFILING_" + name.upper(): str(value) for name, value in section.items()}
    with monkeypatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        wanted = outcome(package.Config.load)
        got = outcome(package.Config.from_environment)
    if isinstance(wanted, dict):  # contradictions are for who starts a run to find
        assert got == wanted, section
    return isinstance(wanted, dict)


def test_every_name_is_a_variable_in_c_and_in_python_alike(names, monkeypatch):
    for name, value in names.items():
        compare_variables({name: value}, monkeypatch)


def test_any_variables_together_mean_the_same_in_c_and_in_python(names, monkeypatch):
    dice = random.Random(16)
    agreed = 0
    for _ in range(400):
        chosen = dice.sample(sorted(names), dice.randrange(1, 5))
        section = {name: names[name] for name in chosen}
        for name in section:  # a switch may be off, too
            if isinstance(section[name], bool):
                section[name] = dice.random() < 0.5
        agreed += compare_variables(section, monkeypatch)
    assert agreed > 200


@pytest.mark.parametrize("unit", ["step", "epoch"])
def test_flags_variables_mappings_and_files_count_alike(unit, tmp_path, monkeypatch):
    """By the guide's words epochs, by the Hydra guide's names steps, all from the first on."""
    words = {"epoch": {"wait": 1, "active": 2}, "step": {"wait_steps": 1, "active_steps": 2}}[unit]
    line = [part for key, value in words.items() for part in (f"--profiling.{key}", str(value))]
    for key, value in words.items():
        monkeypatch.setenv("GAIT_PROFILING_" + key.upper(), str(value))
    variables, passed_on = package.Config.load(), package.Config.from_environment()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    ways = {
        "variables": variables,
        "what gait run passes on": passed_on,
        "flags": package.Config.from_args(line)[0],
        "mapping": package.Config.from_mapping(words),
        "file": of_file(words, tmp_path / "theirs.yaml"),
    }
    for way, config in ways.items():
        assert (config.enabled, config.unit) == (True, unit), way
        assert (config.skip_first, config.wait, config.active) == (0, 1, 2), way


def test_the_unit_that_a_file_says_stands_against_a_flag(tmp_path):
    path = tmp_path / "theirs.yaml"
    path.write_text("profiling: {unit: step, wait: 1}\n")
    config = package.Config.from_yaml(path, ["--profiling.wait", "2"])
    assert (config.unit, config.wait) == ("step", 2)
    own = tmp_path / "gait.yaml"
    own.write_text("profiling: {wait: 1}\n")
    config = package.Config.from_yaml(own, ["--profiling.wait", "2"])
    assert (config.unit, config.skip_first, config.wait) == ("step", 1, 2)


def test_with_the_decorators_switch_steps_are_counted():
    config, _ = package.Config.from_args(["--profile", "--profiling.active", "5"])
    assert (config.unit, config.skip_first, config.active) == ("step", 1, 5)
    switch = {"GAIT_PROFILING_PROFILE": "1", "GAIT_PROFILING_ACTIVE": "5"}
    assert package.Config.from_environment(switch).unit == "step"


@pytest.mark.parametrize("flag", ["torch_profiling", "enable_torch_profiling"])
def test_itwinais_flag_stores_no_traces_without_its_other_one(flag, tmp_path):
    config = package.Config.from_mapping({flag: True})
    assert config.enabled and not config.store_traces
    assert any("add 'store_torch_profiling_traces: True'" in n for n in config.notices)
    both = package.Config.from_mapping({flag: True, "store_torch_traces": True})
    assert both.store_traces and both.notices == []
    with pytest.raises(ValueError, match="add 'enable_torch_profiling: True' or remove"):
        package.Config.load(None, ["store_torch_traces=1"])
    assert not of_file({flag: True}, tmp_path / "theirs.yaml").store_traces
    assert package.Config.from_mapping({"enabled": True}).store_traces
