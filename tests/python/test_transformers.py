# SPDX-License-Identifier: Apache-2.0
"""gait.transformers in a real Trainer: offline, a tiny random model."""

import importlib.util
import json
import re

import pytest

TRAINING = """
import os, sys
os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from gait.transformers import GaitCallback

config = GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=32, n_positions=16,
                    bos_token_id=0, eos_token_id=0)
data = [dict(input_ids=(x := torch.randint(0, 32, (8,))), labels=x) for _ in range(32)]

class Failing(torch.utils.data.Dataset):
    def __len__(self):
        return len(data)

    def __getitem__(self, index):
        if index == 20:
            raise RuntimeError("on purpose")
        return data[index]

def train(data=data, **options):
    args = TrainingArguments("out", per_device_train_batch_size=4, num_train_epochs=2,
                             report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True,
                             train_sampling_strategy="sequential")
    Trainer(GPT2LMHeadModel(config), args, train_dataset=data,
            callbacks=[GaitCallback(**options)]).train()

train(profiler="simple", filename="p")
train(profiler="advanced", filename="a", line_count_restriction=30)
train()
train(profiler="pytorch", filename="ops")
try:
    train(Failing(), profiler="simple", filename="failed")
except RuntimeError as error:
    print(error)
"""


def test_a_trainers_steps_epochs_and_functions(record, tmp_path):
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("no transformers here")
    run = record(TRAINING)
    text = (tmp_path / "out/train-p.txt").read_text()
    rows = dict(re.findall(r"^\|  (\w+) *\t\|  \S+ *\t\|  (\d+)", text, re.MULTILINE))
    assert {name: int(rows[name]) for name in ("train", "epoch", "step")} == {
        "train": 1,
        "epoch": 2,
        "step": 16,
    }
    text = (tmp_path / "out/train-a.txt").read_text()
    step = text.split("Profile stats for: step\n")[1].split("Profile stats for")[0]
    assert "(training_step)" in step and "(enable)" not in step
    assert len(run.events("step")) >= 4 * 16
    (trace,) = (tmp_path / "out").glob("train-ops-run_training_batch.*.pt.trace.json")
    events = json.loads(trace.read_text())["traceEvents"]
    steps = {event["name"] for event in events if "ProfilerStep#" in event.get("name", "")}
    assert steps == {f"ProfilerStep#{number}" for number in (2, 3, 4)}
    assert "ProfilerStep*" in (tmp_path / "out/train-ops.txt").read_text()
    assert run.stdout.endswith("on purpose\n")
    assert "|  step" in (tmp_path / "out/train-failed.txt").read_text()


def test_without_transformers_one_sentence_says_so(record):
    run = record(
        """
        import sys
        sys.modules["transformers"] = None
        from gait.transformers import GaitCallback
        try:
            GaitCallback()
        except ImportError as error:
            print(error)
        """,
        recording=False,
    )
    assert "pip install transformers" in run.stdout
