# SPDX-License-Identifier: Apache-2.0
"""Who runs in everyday code of short calls, beside a sampler that stops the program."""

import functools
import os

import pytest

from tests.accuracy import everyday_shares, sampled_shares
from tests.support.sampled_programs import KNOWN, PYTHONS, RIGHT

FULL = bool(os.environ.get("GAIT_TEST_FULL"))


@pytest.mark.skipif(not RIGHT, reason="processes may not be read here")
@pytest.mark.skipif(not FULL, reason="takes minutes; GAIT_TEST_FULL=1")
@pytest.mark.skipif(not everyday_shares.find_py_spy(), reason="no py-spy; make bench-peers")
@pytest.mark.parametrize("minor", [minor for minor in KNOWN if minor >= 11])
def test_functions_get_the_shares_that_a_stopped_program_shows(build, minor):
    if minor not in PYTHONS:
        pytest.skip(f"no CPython 3.{minor} here; GAIT_TEST_PYTHONS names more")
    record = functools.partial(sampled_shares.record, build)
    results = {
        name: everyday_shares.beside(record, PYTHONS[minor], name, 3)
        for name in everyday_shares.NAMES
    }
    if not everyday_shares.is_undisturbed(results.values()):
        pytest.skip("the machine is too busy to say: rounds were missed")
    assert everyday_shares.beyond_bounds(results) == []
