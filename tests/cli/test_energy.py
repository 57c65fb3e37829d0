# SPDX-License-Identifier: Apache-2.0
"""`gait run` reads a stand-in for NVIDIA's library and folders that look like sysfs; what it
says is held against the watts that these have."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
SECONDS = 5.5


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", SUPPORT / "fake_nvml.c"],
        check=True,
    )
    return folder


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.fixture
def sysfs(tmp_path):
    """A package of a processor, its memory, a card of AMD and a sensor of the whole machine."""
    zone = tmp_path / "root/sys/class/powercap/intel-rapl:0"
    for folder, name in ((zone, "package-0"), (zone / "../intel-rapl:0:0", "dram")):
        write(folder / "name", name)
        write(folder / "energy_uj", 5_000_000)
        write(folder / "max_energy_range_uj", 262_143_328_850)
    card = tmp_path / "root/sys/class/drm/card0/device"
    write(card / "gpu_busy_percent", 90)
    write(card / "unique_id", "c0ffee")
    write(card / "mem_info_vram_used", 4096)
    write(card / "hwmon/hwmon3/power1_average", 250_000_000)
    write(card / "hwmon/hwmon3/power1_cap", 300_000_000)
    write(tmp_path / "root/sys/class/hwmon/hwmon0/name", "power_meter")
    write(tmp_path / "root/sys/class/hwmon/hwmon0/power1_average", 400_000_000)
    return tmp_path / "root"


class Measure:
    def __init__(self, gait, folder):
        self.gait, self.folder = gait, folder

    def __call__(self, program, *options, env, name="run"):
        done = self.gait(
            "run",
            *options,
            "-o",
            str(self.folder / name),
            "--",
            *program,
            env={**os.environ, **{key: str(value) for key, value in env.items()}},
        )
        assert done.returncode == 0, done.stderr
        return done

    def ask(self, name="run", *options):
        done = self.gait("energy", "--json", str(self.folder / name), *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def measure(gait, tmp_path):
    return Measure(gait, tmp_path)


def test_two_gpus_of_known_watts(measure, library, gait):
    began = time.monotonic()
    measure(["sleep", str(SECONDS)], env={"LD_LIBRARY_PATH": library})
    wall = time.monotonic() - began
    answer = measure.ask("run", "--co2", "100", "--price", "0.5", "--pue", "1.2")
    for gpu, watts in zip(answer["devices"], (100, 150), strict=True):
        length = gpu["measured_ns"] / 1e9
        truth = watts * length
        assert SECONDS - 0.3 <= length <= wall
        assert abs(gpu["joules"] - truth) <= 0.02 * truth
        assert gpu["joules_low"] <= truth <= gpu["joules_high"]
        assert abs(gpu["mean_watts"] - watts) <= 0.02 * watts
        assert gpu["peak_watts"] == watts and abs(gpu["power_joules"] - truth) <= 0.02 * truth
        assert gpu["watt_hours"] == pytest.approx(gpu["joules"] / 3600)
        assert gpu["memory_peak_bytes"] == 12_345_000_000 and gpu["clock_mhz"] == 1980
        assert not gpu["is_lost"] and gpu["failures"] == gpu["stuck_ns"] == gpu["resets"] == 0
    first, second = answer["devices"]
    assert (first["kernel_resident_percent"], second["temperature_peak_c"]) == (75, 61)
    assert [(gpu["index"], gpu["uuid"]) for gpu in answer["devices"]] == [
        (0, first["key"]),
        (1, second["key"]),
    ]
    assert first["throttled_power_ns"] == 0
    assert second["throttled_power_ns"] == pytest.approx(second["measured_ns"], rel=0.01)
    total = first["joules"] + second["joules"]
    assert answer["total"]["joules"] == pytest.approx(total)
    assert answer["co2_grams"] == pytest.approx(total / 3.6e6 * 1.2 * 100)
    assert answer["cost"] == pytest.approx(total / 3.6e6 * 1.2 * 0.5)
    report = json.loads(gait("report", "--json", str(measure.folder / "run")).stdout)
    assert report["energy"]["joules"] == pytest.approx(total)
    assert report["events"] == 0  # readings are none of the program's events
    for form in ("text", "csv", "md", "html"):
        shown = gait("energy", "--format", form, str(measure.folder / "run"))
        assert shown.returncode == 0 and "Stand-in" in shown.stdout
    text = gait("energy", str(measure.folder / "run")).stdout
    for gpu in first, second:
        named = f"GPU {gpu['index']} of {gpu['host']}: {gpu['uuid']}, {gpu['watt_hours']:.3g} Wh"
        assert named in " ".join(text.split())
    assert all(len(line) <= 78 for line in text.splitlines()[3:]), text


@pytest.mark.parametrize(
    "how, key", [("lost:1", "is_lost"), ("reset:1", "resets"), ("stuck:0.8", "stuck_ns")]
)
def test_a_gpu_that_fails_is_flagged(measure, library, how, key):
    # a counter has to stand for 5 s, and a busy machine reads it each 2 s
    length = 8 if key == "stuck_ns" else 2
    measure(["sleep", str(length)], env={"LD_LIBRARY_PATH": library, "FAKE_NVML_FAIL": how})
    first, second = measure.ask()["devices"]
    assert first[key] and not second[key]
    # what is measured is right all the same
    for gpu, watts in ((first, 100), (second, 150)):
        truth = watts * gpu["measured_ns"] / 1e9
        assert gpu["joules_low"] <= truth <= gpu["joules_high"]
        assert abs(gpu["joules"] - truth) <= 0.05 * truth
    assert first["measured_ns"] < 1.3e9 if key == "is_lost" else first["measured_ns"] > 1.7e9


@pytest.mark.parametrize(
    "visible, numbers",
    [("1", [1]), ("", []), ("GPU-00000001", [1]), ("0,1", [0, 1]), ("5", [])],
)
def test_only_visible_gpus_are_read(measure, library, visible, numbers):
    env = {"LD_LIBRARY_PATH": library, "CUDA_VISIBLE_DEVICES": visible}
    measure(["true"], "--energy", "50", env=env)
    devices = measure.ask()["devices"] if numbers else []
    assert [int(device["key"][4:12]) for device in devices] == numbers
    assert measure.ask()["is_measured"] == bool(numbers)


def test_sensors_of_sysfs(measure, sysfs):
    counter = sysfs / "sys/class/powercap/intel-rapl:0/energy_uj"
    program = ["sh", "-c", f"sleep 0.5; echo 25000000 >{counter}; sleep 0.7"]
    measure(program, env={"GAIT_METER_ROOT": sysfs, "CUDA_VISIBLE_DEVICES": "0"})
    answer = measure.ask()
    devices = {device["name"]: device for device in answer["devices"]}
    assert {name: device["kind"] for name, device in devices.items()} == {
        "AMD GPU": "gpu", "package-0": "cpu", "dram": "dram", "power_meter": "node",
    }  # fmt: skip
    card = devices["AMD GPU"]
    assert card["key"] == "GPU-c0ffee" and card["kernel_resident_percent"] == 90
    assert card["joules"] == pytest.approx(250 * card["measured_ns"] / 1e9, rel=0.01)
    package = devices["package-0"]
    assert package["joules_low"] <= 20 <= package["joules_high"]
    # the machine's sensor holds the others: it is no part of the sum
    parts = [devices[name]["joules"] for name in ("AMD GPU", "package-0", "dram")]
    assert answer["total"]["joules"] == pytest.approx(sum(parts))


def test_nothing_to_measure_says_why_where_it_is_asked_for(measure, gait, tmp_path):
    env = {"GAIT_METER_ROOT": tmp_path / "nowhere"}
    done = measure(["true"], "--energy", "10", env=env)
    assert "energy was not measured: libnvidia-ml.so.1 is not installed" in done.stderr
    assert not measure.ask()["is_measured"]
    text = " ".join(gait("energy", str(tmp_path / "run")).stdout.split())
    assert "not measured: nvml: libnvidia-ml.so.1" in text and "not measured: rapl" in text
    quiet = measure(["true"], env=env, name="quiet")
    assert "energy" not in quiet.stderr and not list((tmp_path / "quiet").glob("*.gait"))


def test_itwinais_flag_switches_it(measure, library):
    env = {"LD_LIBRARY_PATH": library}
    measure(["true"], "--measure_gpu_data", "false", env=env, name="off")
    assert not list((measure.folder / "off").glob("*.gait"))
    measure(["true"], "--measure-gpu-data", "true", env=env, name="on")
    assert measure.ask("on")["is_measured"]


def test_several_in_one_directory_read_a_gpu_once(measure, library, build):
    """Two ranks of a job: one reads, and the other goes on when it has ended."""
    folder = measure.folder / "run"
    env = {
        **os.environ, "LD_LIBRARY_PATH": str(library), "FAKE_NVML_GPUS": "1",
        "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2",
    }  # fmt: skip
    ranks = [
        subprocess.Popen(
            [build / "gait", "run", "-q", "-o", folder, "--", "sleep", length],
            env={**env, "SLURM_PROCID": str(rank)},
        )
        for rank, length in enumerate(("1.5", "4"))
    ]
    assert [rank.wait() for rank in ranks] == [0, 0]
    (gpu,) = measure.ask()["devices"]
    assert 3.5e9 < gpu["measured_ns"] < 4.5e9
    truth = 100 * gpu["measured_ns"] / 1e9
    assert gpu["joules_low"] <= truth <= gpu["joules_high"]


def test_a_driver_that_spins_is_asked_less_often(gait, measure, library, tmp_path):
    """An H200's takes 1 ms of a processor for each call; half of one was gone at the beginning."""
    env = {"LD_LIBRARY_PATH": library, "FAKE_NVML_SPIN_US": 5000, "FAKE_NVML_PERIOD_MS": 100}
    measure(["sleep", "1.2"], env={**env, "FAKE_NVML_GPUS": 1})
    done = gait("export", tmp_path / "run", "--format", "csv", "--internal")
    rows = [row.split(",") for row in done.stdout.splitlines() if ",energy," in row]
    starts = [int(row[6]) for row in rows if row[0] == "counter"]
    close = [start for start in starts if start - starts[0] < 600_000_000]
    assert 3 <= len(close) <= 14  # 75 where 3 ms are all that lies between two; 4 on a busy machine
