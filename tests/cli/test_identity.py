# SPDX-License-Identifier: Apache-2.0
"""What a run says of itself: names of its shards, its line, versions, commit and tags."""

import json
import os
import re
import socket
import sys

import pytest
from shard_maker import ShardMaker

LAUNCHER = re.compile(r"^(GAIT|SLURM|PMI|PMIX|OMPI|FLUX|PALS|HOROVOD|MV2|LSB|JSM)_|^RANK$")
RECORDS = "import gait\nwith gait.span('work'): pass\n"


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in list(os.environ):
        if LAUNCHER.match(name):
            monkeypatch.delenv(name)


def info(gait, path):
    return json.loads(gait("info", "--json", path).stdout)


def names(folder):
    return sorted(path.name for path in folder.glob("*.gait"))


LAUNCHED = [
    ({"RANK": "3", "WORLD_SIZE": "4"}, ".rank3"),
    ({"SLURM_PROCID": "11", "SLURM_STEP_NUM_TASKS": "12"}, ".rank11"),
    ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, ""),  # a batch script
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, ".rank2"),
    ({"PMI_RANK": "0", "PMI_SIZE": "2"}, ".rank0"),
    ({"RANK": "../x", "WORLD_SIZE": "4"}, ""),
    ({}, ""),
]


@pytest.mark.parametrize("launcher, rank", LAUNCHED, ids=lambda value: str(value))
def test_the_rank_stands_in_the_name_of_a_shard(gait, tmp_path, launcher, rank):
    line = ("run", "-q", "-o", "run", "--", sys.executable, "-c", RECORDS)
    assert gait(*line, env={**os.environ, **launcher}).returncode == 0
    (name,) = names(tmp_path / "run")
    host = re.escape(socket.gethostname())
    assert re.fullmatch(host + re.escape(rank) + r"\.\d+\.\d+\.gait", name)
    (shard,) = info(gait, tmp_path / "run")["shards"]
    assert shard["rank"] == (int(rank[5:]) if rank else None)


def test_a_name_that_lies_does_not_count_and_old_names_are_read(gait, tmp_path):
    """Who a shard is of its metadata say."""
    ranks = {"node0.rank7.1.2.gait": 3, "node0.2.2.gait": 5, "node0.rank1.3.2.gait": None}
    for pid, (name, rank) in enumerate(ranks.items(), 1):
        shard = ShardMaker(host="node0", pid=pid, rank=rank)
        os.replace(shard.write(tmp_path / "made"), tmp_path / name)
    told = {os.path.basename(row["path"]): row["rank"] for row in info(gait, tmp_path)["shards"]}
    assert told == ranks


def test_shards_of_many_ranks_stand_in_their_order(gait, tmp_path):
    for rank in (10, 2, 0, 1):
        made = ShardMaker(host="node0", pid=100, rank=rank).write(tmp_path / "made")
        os.replace(made, tmp_path / f"node0.rank{rank}.100.1.gait")
    assert [row["rank"] for row in info(gait, tmp_path)["shards"]] == [0, 1, 2, 10]
