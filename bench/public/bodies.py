# SPDX-License-Identifier: Apache-2.0
"""What the steps of a program were, from what the second clock logged.

A step is a loop body in which the optimizers were stepped: from the request for its
first batch to the next request of that loader; where the loop was left, or has no
loader, to the end of its optimizer round.
"""

import bisect
import dataclasses

MADE_FOR_NS = 10_000_000  # an iterator made this long before its first request is made for it
ROUND = ("step", "zero_grad")


@dataclasses.dataclass
class Truth:
    """The steps of one process: (begin, end, samples) each, and the time in them by phase."""

    steps: list
    phases: dict

    @property
    def total(self):
        return sum(end - begin for begin, end, _ in self.steps)

    @property
    def median(self):
        lengths = sorted(end - begin for begin, end, _ in self.steps)
        return lengths[(len(lengths) - 1) // 2]

    @property
    def samples(self):
        return sum(samples for _, _, samples in self.steps)

    @property
    def training(self):
        return self.total - self.phases["evaluation"] - self.phases["checkpoint"]


def rounds_of(log, optimizers):
    """The optimizers' rounds: (begin of the first step, end of the last one) of each step."""
    steps = [event for event in log if event[0] == "step"]
    assert len(steps) % optimizers == 0, f"{len(steps)} steps of {optimizers} optimizers"
    groups = [steps[at : at + optimizers] for at in range(0, len(steps), optimizers)]
    return [(group[0][1], group[-1][2]) for group in groups]


def round_end(log, begins, end):
    """Where the round ends: with a `zero_grad` that follows its last step at once."""
    for kind, _, last, _, _ in log[bisect.bisect_left(begins, end) :]:
        if kind not in ROUND or kind == "step":
            break
        end = last
    return end


def made(log, begins, ask):
    """Where the body begins whose first request this is: at the making that led to it."""
    before = log[bisect.bisect_left(begins, ask) - 1]
    return before[1] if before[0] == "make" and ask - before[2] < MADE_FOR_NS else ask


def asked_bodies(log, rounds, asks):
    """Bodies of loops that a loader drives."""
    begins = [event[1] for event in log]
    bodies, after = [], 0
    for first, last in rounds:
        mine = [ask for ask in asks if after <= ask[1] < first and ask[4] >= 0]
        who = mine[-1][3]
        mine = [ask for ask in mine if ask[3] == who]
        following = [ask[1] for ask in asks if ask[1] >= last and ask[3] == who]
        end = following[0] if following else round_end(log, begins, last)
        bodies.append((made(log, begins, mine[0][1]), end, sum(ask[4] for ask in mine)))
        after = end
    return bodies


def free_bodies(log, rounds, batch):
    """Bodies of loops without a loader: round behind round, evaluation and saving left out."""
    begins = [event[1] for event in log]
    bodies, after = [], 0
    for _, last in rounds:
        between = [event for event in log if after <= event[1] < last]
        outside = [event[2] for event in between if event[0] in ("save", "train")]
        work = [e[1] for e in between if e[0] in ("forward", "backward", "zero_grad")]
        begin = after
        if outside or not after:
            begin = next(at for at in work if at >= max(outside, default=0))
        after = round_end(log, begins, last)
        bodies.append((begin, after, batch))
    return bodies


def bare_bodies(log, batch):
    """Bodies of loops with neither a loader nor an optimizer: forward to forward."""
    outside = [event[1] for event in log if event[0] in ("save", "eval")]
    bodies, begin, done = [], None, 0
    for kind, first, last, _, mode in log:
        if kind == "forward" and mode == 1 and begin is None:
            if bodies and not any(done <= at < first for at in outside):
                bodies[-1] = (bodies[-1][0], first, batch)
            begin = first
        elif kind == "backward":
            bodies.append((begin, last, batch))
            begin, done = None, last
    return bodies


NAMES = {
    "make": "input",
    "ask": "input",
    "outer": "input",
    "forward": "forward",
    "backward": "backward",
    "step": "optimizer",
    "zero_grad": "optimizer",
    "save": "checkpoint",
}


def modes_of(log, bodies):
    """(begin, end) of each time in eval mode, which ends where a step begins."""
    evaluations, since = [], None
    for kind, begin, _, _, mode in log:
        trains = kind == "train" or (kind == "forward" and mode == 1) or kind == "backward"
        if kind == "eval" and since is None:
            since = begin
        elif trains and since is not None:
            end = min((first for first, *_ in bodies if since < first < begin), default=begin)
            evaluations.append((since, end))
            since = None
    return evaluations


def pieces_of(log, bodies):
    """(phase, begin, end) of all that was clocked, each instant in the innermost one."""
    evaluations = modes_of(log, bodies)
    spans = [("evaluation", *evaluation) for evaluation in evaluations]
    for kind, begin, end, *_ in log:
        inside = any(first <= begin < last for first, last in evaluations)
        if kind in NAMES and (kind == "save" or not inside):
            spans.append((NAMES[kind], begin, end))
    pieces, stack, at = [], [], 0
    for name, begin, end in [*sorted(spans, key=lambda span: span[1]), ("", 1 << 63, 1 << 63)]:
        while stack and stack[-1][1] <= begin:
            inner, last = stack.pop()
            pieces.append((inner, at, last))
            at = max(at, last)
        if stack:
            pieces.append((stack[-1][0], at, begin))
        at = begin
        stack.append((name, end))
    return [piece for piece in pieces if piece[1] < piece[2]]


def truth_of(log, recipe):
    """What the steps of the process were whose log this is."""
    asks = [event for event in log if event[0] in ("ask", "outer")]
    if not recipe.optimizers:
        bodies = bare_bodies(log, recipe.batch)
    elif recipe.loader:
        bodies = asked_bodies(log, rounds_of(log, recipe.optimizers), asks)
    else:
        bodies = free_bodies(log, rounds_of(log, recipe.optimizers), recipe.batch)
    phases = dict.fromkeys(
        ("input", "forward", "backward", "optimizer", "evaluation", "checkpoint"), 0
    )
    for name, begin, end in pieces_of(log, bodies):
        for first, last, _ in bodies:
            phases[name] += max(0, min(end, last) - max(begin, first))
    return Truth(bodies, phases)
