# SPDX-License-Identifier: Apache-2.0
"""What is said on stderr on some machines, whatever a test does there."""

import re

LINES = [
    # gait, of each run where there is no shared memory; tested by itself
    r"gait: /dev/shm: .* on its disk",
    # Triton 3.9, which torch 2.15 with CUDA imports: at the end of many a training,
    # with gait or without
    r"nanobind: .*",
    r" - leaked (?:instance|type|function|keep_alive) .*",
    r" - \.\.\. skipped remainder",
    r"See https://nanobind\.readthedocs\.io/.*",
]
BESIDES = re.compile("^(?:" + "|".join(LINES) + ")\n?", re.M)


def without_these(stderr):
    return BESIDES.sub("", stderr)
