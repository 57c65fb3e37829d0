# SPDX-License-Identifier: Apache-2.0
"""What gait can see of the torch in this Python: a program, `gait doctor torch`.

It looks for all symbols and fields, then records a training of two steps and
compares it with what must be there.
"""

import json
import os
import shutil
import sys
import tempfile
import textwrap
import threading

WIDTH, COLUMN = 78, 30


def put_row(is_fine, name, text) -> None:
    head = f"{'ok' if is_fine else 'note':<5}{name:<{COLUMN - 6}} "
    print(textwrap.fill(text, WIDTH, initial_indent=head, subsequent_indent=" " * COLUMN))


def train(torch) -> None:
    """Forward in one thread, backward in another: two ops that have gradients."""
    weight = torch.ones(5, 2, requires_grad=True)
    box = []
    parts = (lambda: box.append((torch.ones(3, 5) @ weight).sum()), lambda: box[0].backward())
    for part in parts:
        thread = threading.Thread(target=part)
        thread.start()
        thread.join()


def record(torch, gait, windows, directory):
    from gait._vocabulary import OP

    gait.start(directory)
    gait._native._torch_window(windows.SHAPES | windows.MEMORY)
    train(torch)
    gait._native._torch_window(None)
    gait.stop()
    with gait.open(directory) as trace:
        spans = [event for event in trace.events(kind="span") if event.category == OP]
        memory = [event.value for event in trace.events(kind="memory")]
    return spans, memory


def named(spans, name):
    return next((dict(span.args) for span in spans if span.name == name), {})


def self_test(torch, gait, windows):
    """{part: whether the record has what it must have}"""
    directory = tempfile.mkdtemp(prefix="gait-doctor-")
    try:
        spans, memory = record(torch, gait, windows, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    forward, backward = named(spans, "aten::mm"), named(spans, "MmBackward0")
    return {
        "names": bool(forward) and any(span.name == "aten::sum" for span in spans),
        "scopes": backward.get("scope") == 1,
        "sequence numbers": "seq" in forward and forward["seq"] == backward.get("seq"),
        "forward threads": backward.get("fwd_thread", 0) > 0,
        "shapes": forward.get("shapes") == "f32[3,5] f32[5,2]",
        "memory": 3 * 2 * 4 in memory,
    }


def put_text(torch, found, tested) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    put_row(True, "torch", f"{torch.__version__}, Python {version}, {sys.executable}")
    put_row(bool(found["library"]), "library", found["library"] or "not found")
    missing = [symbol["name"] for symbol in found["symbols"] if not symbol["found"]]
    # of the two spellings of `before` a torch has one
    befores = [name for name in missing if "RecordFunction6before" in name]
    missing = [name for name in missing if name not in befores or len(befores) > 1]
    put_row(
        not missing,
        "symbols",
        f"{len(found['symbols']) - len(missing) - (len(befores) == 1)} found"
        + (", not found: " + ", ".join(missing) if missing else ""),
    )
    for field in found["fields"]:
        matches = field["matches"]
        if field["place"] is not None:
            kind = "is" if field["name"].endswith(" tag") else "at"
            text = f"{kind} {field['place']}, the only place that fits"
        else:
            text = f"off: {matches} places fit" if field["tried"] else "off: not looked for"
        put_row(field["place"] is not None, field["name"], text)
    for name, is_right in tested.items():
        put_row(is_right, f"test: {name}", "recorded right" if is_right else "not recorded")


def patches():
    """What a run would have in its places; recording does not begin."""
    from gait import _patches
    from gait.torch import install

    install.install(is_waiting=True)
    return [{"place": str(patch), "why": patch.why} for patch in _patches.installed()]


def put_patches(found, as_json) -> None:
    if as_json:
        print(json.dumps({"patches": found}, indent=2))
        return
    for patch in found:
        print(f"{patch['place']}\n    {patch['why']}")


def main(arguments) -> int:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    sys.path.insert(0, os.path.dirname(os.path.dirname(here)))
    try:
        import torch
    except ImportError as error:
        print(f"gait doctor: no torch in {sys.executable}: {error}", file=sys.stderr)
        return 1
    try:
        import gait
        from gait.torch import windows
    except ImportError as error:
        print(f"gait doctor: {sys.executable} cannot load gait: {error}", file=sys.stderr)
        return 1
    if "--patches" in arguments:
        put_patches(patches(), "--json" in arguments)
        return 0
    windows.attach()
    found = json.loads(gait._native._torch_describe())
    tested = self_test(torch, gait, windows) if found["library"] else {}
    if "--json" in arguments:
        torch_of = {"version": str(torch.__version__), "python": sys.executable}
        print(json.dumps({"torch": torch_of, **found, "self_test": tested}, indent=2))
    else:
        put_text(torch, found, tested)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
