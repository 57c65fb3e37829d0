# SPDX-License-Identifier: Apache-2.0
"""Made-up trainings in PyTorch, written as shards, whose times are known to the nanosecond."""

import json

from tests.support.shard_maker import ShardMaker

START = 1_700_000_000_000_000_000
MS = 1_000_000
STEPS = 150
ARGS = {
    "input": {"asks": 1, "got": 1, "loader": 5, "samples": 0},
    "forward": {"module": 1, "training": 1},
    "optimizer": {"optimizer": 2, "steps": 1},
}
WORK = {"input": 5 * MS, "forward": 55 * MS, "backward": 30 * MS, "optimizer": 10 * MS}


class Training:
    """One process whose steps spend the time that they are given, phase after phase."""

    def __init__(self, pid=2000, start=START, **meta):
        self.now, self.rows, self.modes = start, [], []
        self.shard = ShardMaker(pid=pid, start_ns=start, torch={"version": "2.13.0"}, **meta)
        self.track = self.shard.track(key="1", os_id=pid)
        self.total = 0

    def step(self, phases, **changes):
        """`changes` are to arguments: got=0 is a request that finds the loader exhausted."""
        for name, length in phases.items():
            if name == "evaluation":
                self.modes.append((self.now, self.now + length))
            else:
                args = ARGS.get(name, {})
                args = self.shard.args([(key, changes.get(key, args[key])) for key in args])
                site = self.shard.site("phase", name)
                self.rows.append((self.now, length, site, 0, args))
            self.now += length
            self.total += length

    def ops(self, name, count, length):
        """So many calls of an op, begun with the step that is made next."""
        site = self.shard.site("cpu_op", name)
        self.rows.extend((self.now + MS + n * length, length, site, 1) for n in range(count))

    def record_all(self):
        """From its start to now, ops were on record."""
        site = self.shard.site("torch", "window")
        self.shard.rows("async", self.track, [(START, site, 1, 0), (self.now, site, 1, 1)])

    def report(self, gait, run):
        site = self.shard.site("phase", "evaluation")
        self.shard.spans(self.track, sorted(self.rows, key=lambda row: (row[0], -row[1])))
        for begin, end in self.modes:
            self.shard.rows("async", self.track, [(begin, site, 1, 0), (end, site, 1, 1)])
        self.shard.write(run)
        return asked(gait, run)


def asked(gait, run):
    return json.loads(gait("report", "--json", run).stdout)


def finding(report, name):
    found = [one for one in report["findings"] if one["id"] == name]
    return found[0]["evidence"] if found else None


def said(report):
    return report["verdict"] + " ".join(one["text"] for one in report["findings"])
