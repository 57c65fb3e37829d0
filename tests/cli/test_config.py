# SPDX-License-Identifier: Apache-2.0
"""`gait config`: what settings are, where they came from, and each way to write them wrongly."""

import json
import os
import subprocess

import pytest

OURS = "GAIT_CONFIG GAIT_DIR GAIT_RING GAIT_OVERFLOW GAIT_TORCH_WINDOWS".split()

OVERVIEW = """
training_pipeline:
  _target_: itwinai.pipeline.Pipeline
  steps:
    training_step:
      _target_: itwinai.torch.trainer.TorchTrainer
      enable_torch_profiling: True
      store_torch_profiling_traces: True
      measure_gpu_data: True
      measure_epoch_time: True
"""

GUIDE = """
latent_dims: 256
training:
  epochs: 10  # Shorter run for profiling
  diagnostics_freq_epochs: 0  # Disable diagnostics during profiling

profiling:
  wait: 1              # Number of epochs to skip before profiling starts
  warmup: 1            # Number of warmup epochs (not recorded)
  active: 3            # Number of epochs to actively profile
  repeat: 1            # Number of times to repeat the cycle
  record_shapes: true  # Record tensor shapes in traces
  profile_memory: true # Profile memory allocations
  with_stack: false    # Record source code stack traces (adds overhead)
"""

HYDRA = """
profiling:
  enabled: true
  output_dir: "outputs/profiler_logs"
  schedule_every_n_steps: 50
  wait_steps: 1
  warmup_steps: 1
  active_steps: 3
  repeat_cycles: 2
"""


@pytest.fixture
def config(gait, tmp_path, monkeypatch):
    """Run `gait config` in an empty folder with no setting in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name in OURS or name.startswith("GAIT_PROF")]:
        monkeypatch.delenv(name)

    def run(*arguments, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return gait("config", *arguments)

    run.folder = tmp_path
    (tmp_path / "yaml-there").write_text("a: 1\n")
    if "built without libyaml" in run("check", "yaml-there").stderr:
        pytest.skip("built without libyaml")
    return run


def write(config, text, name="x.yaml"):
    path = config.folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def settings(config, *arguments, **environment):
    done = config("explain", "--json", *arguments, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["settings"]


def of_profiling(answer):
    return {
        name.split(".")[1]: entry["value"]
        for name, entry in answer.items()
        if entry["level"] != "default" and name.startswith("profiling.")
    }


# --- the documents' own files ---


def test_the_trainers_flags_of_the_overview(config):
    answer = settings(config, "-c", write(config, OVERVIEW))
    said = of_profiling(answer)
    assert said.pop("unit") == "epoch" and said.pop("skip_first") == 0
    assert said == {
        "enabled": True,
        "store_traces": True,
        "measure_gpu_data": True,
        "measure_epoch_time": True,
    }
    assert answer["profiling.enabled"]["from"] == "x.yaml:7"
    assert answer["profiling.enabled"]["as"] == "enable_torch_profiling"


def test_the_section_of_the_guide(config):
    answer = settings(config, "-c", write(config, GUIDE))
    assert of_profiling(answer) == {
        "epochs": 10,  # of its training
        "enabled": True,
        "unit": "epoch",
        "skip_first": 0,
        "wait": 1,
        "warmup": 1,
        "active": 3,
        "repeat": 1,
        "record_shapes": True,
        "profile_memory": True,
        "with_stack": False,
    }
    assert answer["profiling.active"]["from"] == "x.yaml:10"


def test_the_flags_of_the_guide(config):
    line = """--profiling.wait 1 --profiling.warmup 1 --profiling.active 3 --profiling.repeat 1
        --profiling.record_shapes True --profiling.profile_memory True
        --profiling.with_stack False"""
    answer = settings(config, *line.split())
    assert of_profiling(answer) == {
        "enabled": True,
        "unit": "epoch",
        "skip_first": 0,
        "wait": 1,
        "warmup": 1,
        "active": 3,
        "repeat": 1,
        "record_shapes": True,
        "profile_memory": True,
        "with_stack": False,
    }


def test_the_section_of_the_hydra_guide_and_its_command_lines(config):
    file = write(config, HYDRA)
    answer = settings(config, "-c", file)
    said = of_profiling(answer)
    assert said.pop("skip_first") == 0
    assert said == {
        "enabled": True,
        "unit": "step",
        "output_dir": "outputs/profiler_logs",
        "every_n_steps": 50,
        "wait": 1,
        "warmup": 1,
        "active": 3,
        "repeat": 2,
    }
    line = "profiling.enabled=true profiling.repeat_cycles=3 profiling.active_steps=5"
    line += " profiling.schedule_every_n_steps=25"
    answer = settings(config, "-c", file, *line.split())
    values = [answer["profiling." + key]["value"] for key in "repeat active every_n_steps".split()]
    assert values == [3, 5, 25]
    assert answer["profiling.repeat"]["overrides"][0]["from"] == "x.yaml:9"
    off = settings(config, "-c", file, "profiling.enabled=false")
    assert off["profiling.enabled"]["value"] is False


def test_the_last_of_two_named_profilers_counts_with_a_notice(config):
    done = config("explain", "--json", "profiler=simple", "profiler=pytorch")
    answer = json.loads(done.stdout)
    assert answer["settings"]["profiling.profiler"]["value"] == "pytorch"
    assert any("the last one counts" in notice for notice in answer["notices"])


# --- every spelling ---


def aliases(gait):
    return json.loads(gait("config", "list", "--json").stdout)


def legal_value(setting):
    if setting["kind"] == "bool":
        return "true" if not setting["default"] else "false"
    if setting["kind"] == "number":
        return "77"
    if setting["kind"] == "choice":
        return next(word for word in setting["choices"] if word != setting["default"])
    if setting["kind"] == "list":
        return setting["choices"][1]
    return {"size": "64K", "text": "all"}[setting["kind"]]


def test_every_alias_is_its_setting_on_the_line_and_in_a_file(config, gait):
    table = aliases(gait)
    by_name = {setting["name"]: setting for setting in table["settings"]}
    assert len(table["aliases"]) > 25
    for alias in table["aliases"]:
        setting = by_name[alias["means"]]
        value = legal_value(setting)
        is_long = setting["kind"] == "number" and alias["means"] != "profiling.every_n_steps"
        extra = ["profiling.every_n_steps=200"] if is_long else []
        switch = [] if alias["means"] == "profiling.enabled" else ["profiling.enabled=true"]
        extra += ["profiling.with_stack=1"] * (
            alias["means"] not in ("profiling.with_stack", "profiling.enabled")
        )
        names = ["profiling." + alias["name"]] + [alias["name"]] * alias["stands_alone"]
        for name in names:
            answer = settings(config, f"{name}={value}", *extra, *switch)
            assert str(answer[alias["means"]]["value"]).lower() == value, name
            assert answer[alias["means"]]["as"] == name
            if alias["unit"]:
                assert answer["profiling.unit"]["value"] == alias["unit"]
        file = write(config, f"profiling:\n  {alias['name']}: {value}\n")
        answer = settings(config, "-c", file, *extra, *switch)
        assert str(answer[alias["means"]]["value"]).lower() == value
        assert answer[alias["means"]]["from"] == "x.yaml:2"


SPELLINGS = {
    "enabled": "enable_torch_profiling torch_profiling enabled profile",
    "store_traces": "store_torch_profiling_traces store_torch_traces export_to_chrome",
    "measure_gpu_data": "measure_gpu_data",
    "measure_epoch_time": "measure_epoch_time",
    "wait": "wait wait_steps profiling_wait_epochs",
    "warmup": "warmup warmup_steps profiling_warmup_epochs",
    "active": "active active_steps",
    "repeat": "repeat repeat_cycles",
    "every_n_steps": "schedule_every_n_steps every_n_steps",
    "skip_first": "skip_first",
    "output_dir": "output_dir dirpath",
    "with_stack": "with_stack",
    "with_flops": "with_flops",
    "with_modules": "with_modules record_module_names",
    "nsight_enabled": "nsight_enabled emit_nvtx nsight",
    "nsight_output": "nsight_output",
    "record_shapes": "record_shapes",
    "profile_memory": "profile_memory",
    "worker_name": "filename",
    "sort_by": "sort_by_key sort_by",
    "row_limit": "row_limit",
    "group_by_input_shape": "group_by_input_shapes",
    "line_count_restriction": "line_count_restriction",
    "dump_stats": "dump_stats",
    "extended": "extended",
    "export_to_flame_graph": "export_to_flame_graph",
    "metric": "metric",
    "py_spy": "py_spy",
    "profiler": "profiler",
}


def test_each_name_of_the_documents_is_known(gait):
    table = aliases(gait)
    means = {alias["name"]: alias["means"] for alias in table["aliases"]}
    means.update({s["name"].split(".")[1]: s["name"] for s in table["settings"]})
    for key, names in SPELLINGS.items():
        for name in names.split():
            assert means.get(name) == "profiling." + key, name


def test_every_alias_is_a_variable_too(config, gait):
    table = aliases(gait)
    kinds = {setting["name"]: setting for setting in table["settings"]}
    for alias in table["aliases"]:
        if alias["means"] in ("profiling.profiler", "profiling.active"):
            continue
        value = legal_value(kinds[alias["means"]])
        name = "GAIT_PROFILING_" + alias["name"].upper()
        extra = ["profiling.every_n_steps=200"] * ("every_n" not in alias["means"])
        extra = extra if kinds[alias["means"]]["kind"] == "number" else []
        done = gait(
            "config", "explain", "--json", "profiling.enabled=1", *extra,
            env={**os.environ, name: value},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        entry = json.loads(done.stdout)["settings"][alias["means"]]
        if alias["means"] != "profiling.enabled":
            assert (str(entry["value"]).lower(), entry["from"]) == (value, name)


@pytest.mark.parametrize(
    "words, sentence",
    [
        ("nsight_output=x", "does nothing while 'nsight_enabled' is false"),
        ("use_gzip=1 store_traces=0", "does nothing while 'store_traces' is false"),
        ("output_dir=x store_traces=0", "does nothing while 'store_traces' is false"),
        ("epochs=9 unit=step", "does nothing while 'unit' is step"),
        ("skip_first_wait=1 wait=0", "does nothing while 'wait' is 0"),
        ("group_by_stack_n=2 with_stack=1 table=no", "does nothing while 'table' is false"),
        ("row_limit=5 table=no", "does nothing while 'table' is false"),
        ("line_count_restriction=3", "does nothing while 'profiler' is pytorch"),
        ("extended=no profiler=advanced", "does nothing while 'profiler' is advanced"),
    ],
)
def test_what_was_said_in_vain_is_told(config, words, sentence):
    line = ["profiling." + word for word in words.split()]
    notices = json.loads(config("explain", "--json", *line).stdout)["notices"]
    assert [sentence in notice for notice in notices].count(True) == 1
    name = line[0].split("=")[0]
    assert any(notice.startswith(f"'{name}' (command line) does") for notice in notices)


def test_settings_of_ops_beside_another_profiler_are_told(config):
    line = ["profiling.profiler=simple", "profiling.active=5"]
    answer = json.loads(config("explain", "--json", *line).stdout)
    (notice,) = answer["notices"]
    assert "'profiling.active' (command line) records no ops while 'profiler' is simple" in notice
    assert answer["settings"]["profiling.enabled"]["value"] is False
    line.append("profiling.enabled=true")
    answer = json.loads(config("explain", "--json", *line).stdout)
    assert answer["notices"] == [] and answer["settings"]["profiling.enabled"]["value"] is True


def test_a_file_without_a_section_says_nothing(config, tmp_path):
    (tmp_path / "theirs.yaml").write_text("training: {epochs: 9}\n")
    answer = settings(config, "--config", "theirs.yaml")
    assert {entry["level"] for entry in answer.values()} == {"default"}
    answer = settings(config, "--config", "theirs.yaml", "--profiling.wait", "2")
    assert answer["profiling.unit"]["value"] == "epoch"
    answer = settings(config, "--config", "theirs.yaml", "profile=1", "--profiling.wait", "2")
    assert answer["profiling.unit"]["value"] == "step"


# --- precedence ---


def test_command_line_over_variable_over_file_over_default(config):
    write(config, "profiling:\n  wait: 2\n  warmup: 2\n  active: 2\n", "gait.yaml")
    answer = settings(
        config, "profiling.wait=4", GAIT_PROFILING_WAIT="3", GAIT_PROFILING_WARMUP="3"
    )
    wait, warmup, active, repeat = (
        answer["profiling." + key] for key in "wait warmup active repeat".split()
    )
    assert (wait["value"], wait["from"]) == (4, "command line")
    assert [(o["value"], o["from"]) for o in wait["overrides"]] == [
        (3, "GAIT_PROFILING_WAIT"),
        (2, "gait.yaml:2"),
        (1, "default"),
    ]
    assert (warmup["value"], warmup["from"]) == (3, "GAIT_PROFILING_WARMUP")
    assert (active["value"], active["from"]) == (2, "gait.yaml:4")
    assert (repeat["value"], repeat["from"]) == (1, "default")


def test_a_key_that_hydra_would_add(config):
    answer = settings(config, "+profiling.wait=4", "++profiling.active=5")
    assert (answer["profiling.wait"]["value"], answer["profiling.active"]["value"]) == (4, 5)


@pytest.mark.parametrize(
    "text",
    [
        b"profiling:\r\n  wait: 6\r\n",
        b"\xef\xbb\xbfprofiling: {wait: 6}",
        "profiling: {wait: 6}".encode("utf-16"),
        b'{"profiling": {"wait": 6}}',
        b"---\nprofiling: {wait: 6}\n...\n",
        b"%YAML 1.1\n---\nprofiling: {wait: 0006}\n",
    ],
)
def test_ways_to_write_a_file(config, text):
    assert settings(config, "-c", write(config, text))["profiling.wait"]["value"] == 6


def test_a_named_file_is_read_instead_of_gait_yaml(config):
    write(config, "profiling: {wait: 2}", "gait.yaml")
    other = write(config, "profiling: {wait: 3}")
    assert settings(config)["profiling.wait"]["from"] == "gait.yaml:1"
    assert settings(config, "-c", other)["profiling.wait"]["value"] == 3
    assert settings(config, GAIT_CONFIG=other)["profiling.wait"]["value"] == 3
    named = settings(config, "-c", "gait.yaml", GAIT_CONFIG=other)
    assert named["profiling.wait"]["value"] == 2


def test_gait_yaml_counts_steps_and_the_section_of_another_file_epochs(config):
    write(config, "profiling: {wait: 2}", "gait.yaml")
    other = write(config, "profiling: {wait: 2}")
    assert settings(config)["profiling.unit"]["value"] == "step"
    assert settings(config)["profiling.skip_first"]["value"] == 1
    assert settings(config, "-c", other)["profiling.unit"]["value"] == "epoch"
    own = write(config, "profiling: {wait: 2, unit: step, skip_first: 4}")
    assert settings(config, "-c", own)["profiling.unit"]["value"] == "step"
    assert settings(config, "-c", own)["profiling.skip_first"]["value"] == 4


def test_a_file_that_a_variable_names_and_is_not_there(config):
    done = config("explain", GAIT_CONFIG="nowhere.yaml")
    assert done.returncode == 2
    sentence = "gait config: GAIT_CONFIG: cannot read 'nowhere.yaml': No such file or directory\n"
    assert done.stderr == sentence


def test_a_section_may_lie_anywhere_in_the_file(config):
    file = write(config, "a:\n  b:\n    profiling: {wait: 9}\n    seed: 1\n")
    assert settings(config, "-c", file + "#a.b.profiling")["profiling.wait"]["value"] == 9
    assert settings(config, "-c", file)["profiling.wait"]["value"] == 1


def test_variables_of_the_recorder_that_make_no_sense_do_not_stop_anybody(config):
    done = config("explain", "--json", GAIT_RING="many")
    answer = json.loads(done.stdout)
    assert answer["settings"]["recording.ring"]["value"] == 1 << 20
    assert "GAIT_RING" in answer["notices"][0]


@pytest.mark.parametrize(
    "name, value, sentence",
    [
        (
            "GAIT_PROFILING_WIAT",
            "1",
            "unknown setting 'GAIT_PROFILING_WIAT' in the environment; did you mean "
            "'GAIT_PROFILING_WAIT'?",
        ),
        (
            "GAIT_PROFILING_ACTIVE",
            "0",
            "GAIT_PROFILING_ACTIVE: 'profiling.active' takes a number of units, 1 or more, not '0'",
        ),
    ],
)
def test_a_variable_that_is_wrong_is_named(config, name, value, sentence):
    done = config("explain", **{name: value})
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gait config: {sentence}\n")


# --- files that are wrong ---

WRONG = {
    "a tab": ("profiling:\n\twait: 1\n", "2: a tab indents this line; YAML requires spaces"),
    "a key twice": ("profiling:\n  wait: 1\n  wait: 2\n", "3: 'wait' is set twice: line 2 sets it"),
    "two spellings": (
        "profiling:\n  wait: 1\n  wait_steps: 1\n",
        "3: 'wait_steps' is set twice: line 2 sets it as 'wait'",
    ),
    "a section twice": (
        "profiling: {wait: 1}\nprofiling: {wait: 2}\n",
        "2: section 'profiling' is already defined on line 1",
    ),
    "an unknown key": (
        "profiling:\n  wait: 1\n  wormup: 2\n",
        "3: unknown setting 'wormup' in 'profiling'; did you mean 'warmup'?",
    ),
    "somebody else's section": (
        "profiling:\n  vtune_collection: hotspots\n",
        "2: unknown setting 'vtune_collection' in 'profiling'; 'gait config list' shows all "
        "settings. If this section belongs to another program, name the section for gait: "
        "--config x.yaml#SECTION",
    ),
    "a word for a number": (
        "profiling:\n  wait: one\n",
        "2: 'wait' takes a number of units, 0 or more, not 'one'",
    ),
    "a fraction": (
        "profiling:\n  wait: 1.5\n",
        "2: 'wait' takes a number of units, 0 or more, not '1.5'",
    ),
    "a list for a number": (
        "profiling:\n  wait: [1]\n",
        "2: 'wait' takes a number of units, 0 or more, not a list",
    ),
    "a mapping for a truth": (
        "profiling:\n  with_stack: {a: b}\n",
        "2: 'with_stack' takes true or false, not a mapping",
    ),
    "a text for the section": (
        "profiling: soon\n",
        "1: 'profiling' takes nested settings, not 'soon'",
    ),
    "a list for the section": (
        "profiling: [wait]\n",
        "1: 'profiling' takes settings below it, not a list",
    ),
    "a list for the file": ("- a\n- b\n", "1: expected keys with settings, found a list"),
    "a text for the file": ("hello\n", "1: expected keys with settings, found a text"),
    "an alias of a list": (
        "a: &a [1]\nprofiling:\n  wait: *a\n",
        "3: alias '*a' is not a single value: write the value here",
    ),
    "an alias of a section": (
        "a: &a {wait: 1}\nprofiling: *a\n",
        "2: alias '*a' is not a single value: write the value here",
    ),
    "a merge": (
        "a: &a {wait: 1}\nprofiling:\n  <<: *a\n",
        "3: '<<' is not supported in 'profiling': write out its settings",
    ),
    "a tag": (
        "profiling:\n  wait: !env WAIT\n",
        "2: 'wait' has the tag '!env', which gait does not support: write the plain value",
    ),
    "an interpolation": (
        "profiling:\n  output_dir: ${oc.env:HOME}/x\n",
        "2: 'output_dir' refers to another value with '${', which only your program can resolve: "
        "write the value",
    ),
    "a second document": (
        "profiling: {wait: 1}\n---\nprofiling: {wait: 2}\n",
        "2: a second document begins here; only one is read",
    ),
    "what was left open": (
        'profiling:\n  output_dir: "x\n',
        "3: invalid YAML: found unexpected end of stream",
    ),
    "bytes": (b"\x7fELF\x02\x01\x00\x00", "1: invalid text: control characters are not allowed"),
    "no UTF-8": (b"a: 1\nb: \xff\xff\n", "2: invalid text: invalid leading UTF-8 octet"),
    "depth": ("a: " + "[" * 300, "1: more than 100 levels deep"),
    "a zero byte": ('profiling:\n  output_dir: "a\\0b"\n', "2: 'output_dir' holds a zero byte"),
    "a beep": (
        'profiling:\n  output_dir: "a\\x07b"\n',
        "2: 'output_dir' must not contain a control character, as 'a?b' does",
    ),
    "stored, not enabled": (
        "t:\n  store_torch_profiling_traces: True\n  _target_: itwinai.torch.T\n",
        "2: 'store_torch_profiling_traces' stores nothing while profiling is off: add "
        "'enable_torch_profiling: True' or remove the setting",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_file_that_is_wrong_is_refused_in_one_sentence_with_its_line(config, what):
    text, sentence = WRONG[what]
    for action in (["check", write(config, text)], ["explain", "-c", "x.yaml"]):
        done = config(*action)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr in (f"gait config: x.yaml:{sentence}\n",)


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "a: 1\n", "profiling:\n", "profiling: null\n", "---\n...\n"],
    ids=repr,
)
def test_a_file_without_settings_is_legal_and_sets_nothing(config, text):
    answer = settings(config, "-c", write(config, text))
    assert answer["profiling.enabled"]["value"] is False


def test_an_empty_section_switches_profiling_on(config):
    assert settings(config, "-c", write(config, "profiling: {}"))["profiling.enabled"]["value"]
    assert settings(config, "-c", write(config, "profiling: true"))["profiling.enabled"]["value"]


def test_null_is_not_set(config):
    answer = settings(config, "-c", write(config, "profiling: {wait: null, filename: ~}"))
    assert answer["profiling.wait"]["from"] == "default"


def test_sections_of_others_are_left_alone_whatever_they_hold(config):
    text = """
defaults: [_self_, {model: resnet}]
model: &model {_target_: a.B, wait: [1, 2], profiling: {x: 1}, ? [complex] : key}
copies: [*model, *model]
trainer: {profiler: simple, measure_epoch_time: maybe, <<: *model, <<: *model}
recording: {microphone: left}
profiling: {wait: 7}
"""
    answer = settings(config, "-c", write(config, text))
    assert answer["profiling.wait"]["value"] == 7
    assert answer["profiling.profiler"]["from"] == "default"
    assert answer["profiling.measure_epoch_time"]["from"] == "default"


def test_gait_yaml_holds_nothing_but_our_sections(config):
    write(config, "profling: {wait: 1}\n", "gait.yaml")
    assert (
        "gait.yaml:1: no section 'profling'; did you mean 'profiling'?" in config("explain").stderr
    )
    write(config, "model: {x: 1}\n", "gait.yaml")
    assert "gait.yaml has 'profiling' and 'recording'" in config("explain").stderr
    write(config, "recording: {ring: 64K, windows: all, overflow: block}\n", "gait.yaml")
    answer = settings(config)
    assert answer["recording.ring"]["value"] == 65536
    assert answer["profiling.enabled"]["value"] is False


def test_a_section_that_is_nearly_ours_is_pointed_at(config):
    done = config("check", write(config, "a: 1\nprofilling: {wait: 1}\n"))
    assert done.returncode == 0
    assert "x.yaml:2: section 'profilling' is ignored; did you mean 'profiling'?" in " ".join(
        done.stdout.split()
    )


def test_aliases_of_scalars_are_followed_and_bombs_are_not_expanded(config):
    answer = settings(config, "-c", write(config, "n: &n 5\nprofiling: {wait: *n, active: *n}\n"))
    assert answer["profiling.wait"]["value"] == answer["profiling.active"]["value"] == 5
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 40):
        bomb += f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 9) + "]\n"
    answer = settings(config, "-c", write(config, bomb + "profiling: {wait: 4}\n"))
    assert answer["profiling.wait"]["value"] == 4


@pytest.mark.parametrize("kind", ["Simple", "Advanced", "PyTorch", "XLA"])
def test_the_section_of_a_lightning_profiler(config, kind):
    text = f"""
trainer: {{max_epochs: 1}}
profiler:
  _target_: pytorch_lightning.profilers.{kind}Profiler
  dirpath: profile
  filename: null
  line_count_restriction: 20
  something_of_theirs: [1, {{a: b}}]
"""
    answer = settings(config, "-c", write(config, text) + "#profiler")
    assert answer["profiling.profiler"]["value"] == kind.lower()
    assert answer["profiling.output_dir"]["value"] == "profile"
    assert answer["profiling.enabled"]["value"] is (kind == "PyTorch")


def test_files_that_are_none_are_refused(config):
    (config.folder / "folder").mkdir()
    os.mkfifo(config.folder / "pipe")
    write(config, "a: 1\n" * 300_000, "huge.yaml")
    write(config, "x: {}", "shut.yaml")
    for name, why in {
        "folder": "is not a regular file",
        "pipe": "is not a regular file",
        "huge.yaml": "larger than 1 MB",
        "missing.yaml": "No such file",
        "#": "is neither a file",
        "x.yaml#": "is neither a file",
    }.items():
        done = config("explain", "-c", name)
        assert done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, name


def test_a_long_flat_file_is_read_in_no_time(config):
    text = "a: {" + ", ".join(f"k{i}: [{i}]" for i in range(50_000)) + "}\nprofiling: {wait: 6}\n"
    assert settings(config, "-c", write(config, text))["profiling.wait"]["value"] == 6


# --- the command itself ---


def test_the_screens_fit_a_terminal(config, golden):
    write(config, GUIDE, "my_profiling_run.yaml")
    explained = config("explain", "-c", "my_profiling_run.yaml", "--profiling.wait", "2")
    golden("config-explain.txt", explained.stdout)
    listed = config("list").stdout
    for text in (explained.stdout, listed):
        assert max(map(len, text.splitlines())) <= 78


@pytest.mark.parametrize(
    "line, sentence",
    [
        (["explian"], "unknown action 'explian'; did you mean 'explain'?"),
        (["x"], "unknown action 'x'; it is one of: explain, check, list"),
        (["check"], "the file is missing: write 'gait config check FILE'"),
        (
            ["explain", "--profiling.wiat", "1"],
            "unknown setting 'profiling.wiat'; did you mean 'profiling.wait'?",
        ),
        (
            ["explain", "y.yaml"],
            "'y.yaml' is not a setting; write it like profiling.wait=1, or name a file with "
            "--config",
        ),
    ],
)
def test_a_line_that_is_wrong_is_refused(config, line, sentence):
    done = config(*line)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gait config: {sentence}\n")


def test_a_file_is_read_as_pyyaml_reads_it(config):
    """Scalars of the guide in all styles, beside another reader of YAML."""
    yaml = pytest.importorskip("yaml")
    text = """
profiling:
    "wait": 3
    'warmup':   4   # a comment
    ? active
    : 5
    record_shapes: yes
    with_stack: "off"
    output_dir: >-
      some
      folder
    worker_name: 'it''s'
"""
    oracle = yaml.safe_load(text)["profiling"]
    answer = settings(config, "-c", write(config, text))
    for key, value in oracle.items():
        ours = answer["profiling." + key]["value"]
        assert ours == value or (key == "with_stack" and ours is False)


def test_the_page_of_settings_is_current(gait, root):
    assert gait("config", "list", "--markdown").stdout == (root / "docs/CONFIG.md").read_text()


def test_a_tool_without_libyaml_says_so(root, tmp_path):
    """The part that stands in for it, compiled in its place."""
    source = tmp_path / "a.c"
    source.write_text(
        '#include "config/config_file.h"\n#include "base/fail.h"\n#include <stdio.h>\n'
        'int main(void) { struct yaml_source s = {.path = "x.yaml"};\n'
        "  if (yaml_settings_there() || !yaml_settings_read(NULL, &s)) return 1;\n"
        "  puts(fail_text()); return 0; }\n"
    )
    program = tmp_path / "a"
    flags = ["-std=c11", "-D_GNU_SOURCE", f"-I{root}/src", f"-I{root}/include"]
    parts = [source, root / "src/config/yaml_absent.c", root / "src/base/fail.c"]
    subprocess.run(["cc", *flags, *parts, "-o", program, "-lpthread"], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert "built without libyaml" in said and "libyaml-dev" in said


# --- what gait run makes of them ---


def environment_of(config, gait, *options, **variables):
    line = ["run", "-q", *options, "--", "env"]
    done = gait(*line, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    pairs = [line.partition("=")[::2] for line in done.stdout.splitlines()]
    ours = {name: value for name, value in pairs if name.startswith(("GAIT_", "TORCHIND"))}
    return {name: value for name, value in ours.items() if os.environ.get(name) != value}


def test_settings_of_the_recording_reach_the_program_from_line_and_file(config, gait):
    seen = environment_of(
        config,
        gait,
        *"recording.directory=d recording.overflow=block recording.ring=64K".split(),
        *"recording.inductor_kernels=yes recording.windows=all".split(),
    )
    assert seen.pop("GAIT_RUN_ID") and seen.pop("GAIT_INVOCATION") and seen.pop("GAIT_BEGAN")
    assert seen.pop("GAIT_DIR").endswith("/d")
    wanted = {"GAIT_OVERFLOW": "block", "GAIT_RING": "65536", "GAIT_TORCH_WINDOWS": "all"}
    assert seen == {**wanted, "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE": "1"}
    write(config, "recording: {overflow: overwrite, ring: 4K, windows: 1/2/3}", "gait.yaml")
    seen = environment_of(config, gait, "--overflow", "drop", GAIT_TORCH_WINDOWS="7/8/9")
    assert (seen["GAIT_OVERFLOW"], seen["GAIT_RING"]) == ("drop", "4096")
    assert seen["GAIT_TORCH_WINDOWS"] == "7/8/9"


def test_a_schedule_reaches_the_program_and_nothing_else_does(config, gait):
    seen = environment_of(config, gait, "--profiling.wait", "4", "profiling.with_flops=no")
    assert seen.pop("GAIT_RUN_ID") and seen.pop("GAIT_INVOCATION") and seen.pop("GAIT_DIR")
    assert int(seen.pop("GAIT_BEGAN")) > 0
    schedule = dict(part.split("=") for part in seen.pop("GAIT_TORCH_WINDOWS").split(","))
    assert schedule == {
        "wait": "4", "warmup": "1", "active": "3", "repeat": "1", "skip_first": "0",
        "every": "0", "unit": "epoch",
    }  # fmt: skip
    assert seen == {
        "GAIT_PROFILING_ENABLED": "1",
        "GAIT_PROFILING_UNIT": "epoch",
        "GAIT_PROFILING_SKIP_FIRST": "0",
        "GAIT_PROFILING_WAIT": "4",
        "GAIT_PROFILING_WITH_FLOPS": "0",
    }
    seen = environment_of(config, gait, "--profile", "--profiling.wait", "4")
    assert (seen["GAIT_PROFILING_UNIT"], seen["GAIT_PROFILING_SKIP_FIRST"]) == ("step", "1")
    plain = environment_of(config, gait)
    assert set(plain) == {"GAIT_DIR", "GAIT_RUN_ID", "GAIT_INVOCATION", "GAIT_BEGAN"}
