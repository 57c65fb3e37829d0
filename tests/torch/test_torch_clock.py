# SPDX-License-Identifier: Apache-2.0
"""The second clock of bench/public, round the calls of trainings in the styles people write.

bench/public/judge.py asks the same of public programs, which are not here.
"""

import json
import pathlib
import sys

import pytest
from torch_trainings import SCRIPTS, Job

PUBLIC = pathlib.Path(__file__).resolve().parents[2] / "bench" / "public"
sys.path.insert(0, str(PUBLIC))
from bodies import truth_of  # noqa: E402
from judge import compare  # noqa: E402
from public_programs import Program  # noqa: E402

STYLES = {
    Program("mnist", "evaluation after each epoch", ()): "evaluation",
    Program("dcgan", "two optimizers", (), optimizers=2): "checkpoint",
    Program("nanogpt", "no loader, gathered gradients", (), loader=False): "evaluation",
}
OUTSIDE = 12  # delays of 50 ms outside of the steps


def job_of(style):
    clock = Job(PUBLIC / "second_clock.py", args=("log", SCRIPTS / f"{style.name}.py"), warm=True)
    return clock.planted(**{STYLES[style]: OUTSIDE})


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_steps_are_what_a_second_clock_saw(run, style):
    done = run(job_of(style))
    assert done.code == 0, done.stderr
    log = json.loads((done.directory.parent / "log.0.json").read_text())
    found = compare(style, [truth_of(log, style)], done.report)
    rows = {name: (true, told) for name, true, told in found}
    assert rows["steps"][0] == rows["steps"][1] > 0
    # the script may be held up between the two clocks, at the ends of each loop
    held_up_ms = sum(truth["crowd_ns"] for truth in done.truths) / 1e6
    for name in ("step total ms", "training ms", "forward", "backward"):
        true, told = rows[name]
        assert told == pytest.approx(true, rel=0.02, abs=5 + held_up_ms), (name, rows)
