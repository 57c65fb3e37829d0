# SPDX-License-Identifier: Apache-2.0
"""The functions of gait._gait where it cannot be loaded: they do nothing."""


class Span:
    """A span that does nothing."""

    site = 0

    def __init__(self, name="", category="python"):
        self.name = name
        self.category = category

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __call__(self, function):
        return function

    def args(self, **_):
        return self


def span(name, category="python"):
    return Span(name, category)


class Step:
    """A step that is not counted."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def step(number=None, /):
    return Step()


def site(category, name):
    return 0


def _nothing(*_):
    return None


begin = end = next = mark = count = arg = step_begin = step_end = _nothing
async_begin = async_end = flow_begin = flow_step = flow_end = _nothing


def start(directory=None, *, overflow=None, ring_bytes=0, role=None, subject_pid=0):
    return False


def _no(*_):
    return False


stop = flush = snapshot = recording = thread_name = _metadata = rank = _no


def last_error():
    import gait

    return gait._why_off


def shard_path():
    return None
