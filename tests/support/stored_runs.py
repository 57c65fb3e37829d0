# SPDX-License-Identifier: Apache-2.0
"""Stored runs, and what the tool answered about them before its insides were redrawn.

tests/golden/runs.tar.xz holds small runs (trainings in PyTorch, their workers and ranks,
a C program, sampled stacks); tests/golden/answers.json.xz what was said about each. A
table may get keys and columns; what is there stays.

usage: stored_runs.py pack [OLD=NEW...] RUN...
           makes the archive anew, of these runs: columns are stored plainly, which xz packs
           better; where a text holds OLD, a folder of yours, NEW is put there
       stored_runs.py answers [TOOL]
           asks that tool (build/gait) and keeps what it says. To do so says: these figures
           are meant to change.
"""

import functools
import hashlib
import io
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import gait_decoder
from shard_maker import add_frame, columns_of, trailer

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests/golden"
RUNS = GOLDEN / "runs.tar.xz"
ANSWERS = GOLDEN / "answers.json.xz"
FILES_OF_V1 = sorted((GOLDEN / "v1").glob("*.gait"))
# Python reads these through the library, which it cannot load with a sanitizer in it.
OPS_TABLES = () if os.environ.get("GAIT_SANITIZE") else ("profile", "evals", "ddp")

# name: arguments in front of the path; a file each
JSON_QUESTIONS = {
    "report": ("report", "--json"),
    "report_peak": ("report", "--json", "--peak-flops", "1T"),
    "info": ("info", "--json"),
    "leaf": ("leaf", "--json", "-n", "all"),
    "leaf_lines": ("leaf", "--json", "--lines", "-a", "-n", "all"),
    "leaf_processes": ("leaf", "--json", "--by", "process", "-n", "all"),
    "leaf_steps": ("leaf", "--json", "--phase", "steps", "-n", "all"),
    "leaf_forward": ("leaf", "--json", "--phase", "forward", "-n", "all"),
}
JSON_EXPORTS = {
    "chrome": ("export", "--format", "chrome", "-o", "-"),
    "chrome_steps": ("export", "--format", "chrome", "--steps", "--internal", "-o", "-"),
    "pt_trace": ("export", "--format", "pt-trace", "-o", "-"),
    "speedscope": ("flame", "--format", "speedscope", "-o", "-"),
}
TEXT_EXPORTS = {
    "csv": ("export", "--format", "csv", "-o", "-"),
    "csv_internal": ("export", "--format", "csv", "--internal", "-o", "-"),
    "perfetto": ("export", "--format", "perfetto", "--steps", "-o", "-"),
    "stacks": ("export", "--format", "stacks", "-o", "-"),
    "epochs": ("report", "--epochs-csv", "-"),
}


# --- asking --------------------------------------------------------------------


def ask(tool, words, name, folder):
    """(exit status, what it wrote)."""
    ran = subprocess.run(
        [tool, *words, name],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        env={**os.environ, "TZ": "UTC"},
        check=False,
    )
    return ran.returncode, ran.stdout


def ops_table(run):
    """What `gait run --profile` prints at its end."""
    build = pathlib.Path(os.environ.get("GAIT_BUILD", ROOT / "build"))
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, build / "python/gait/torch/run_table.py", run, folder],
            env={**os.environ, "PYTHONPATH": str(build / "python")},
            capture_output=True,
            text=True,
            check=True,
        )
    return ran.stderr


def digest(content):
    return hashlib.sha256(content).hexdigest()[:16]


def canonical(value):
    return json.dumps(value, sort_keys=True).encode()


def shape_of(value):
    """Which keys are anywhere in it; of a list, in any of its elements."""
    if isinstance(value, dict):
        return {key: shape_of(one) for key, one in sorted(value.items())}
    if isinstance(value, list):
        merged = {}
        for one in value:
            merge(merged, shape_of(one) or {})
        return {"[]": merged}
    return {}


def merge(into, shape):
    for key, one in shape.items():
        merge(into.setdefault(key, {}), one)


def only(value, shape):
    """The value without keys that the shape does not know."""
    if isinstance(value, dict):
        return {key: only(one, shape[key]) for key, one in value.items() if key in shape}
    if isinstance(value, list):
        return [only(one, shape.get("[]", {})) for one in value]
    return value


def answers_of(tool, name, folder, before=None):
    """{question: answer} about a run or a file. Of long JSON only a digest is kept, and
    which keys it had: with `before`, keys that were not there then do not count."""
    answers = {}
    for question, words in JSON_QUESTIONS.items():
        status, said = ask(tool, words, name, folder)
        answers[question] = json.loads(said) if not status else status
    for question, words in JSON_EXPORTS.items():
        status, said = ask(tool, words, name, folder)
        if status:
            answers[question] = status
            continue
        value = json.loads(said)
        shape = before[question][0] if before and before.get(question) else shape_of(value)
        answers[question] = [shape, digest(canonical(only(value, shape)))]
    for question, words in TEXT_EXPORTS.items():
        status, said = ask(tool, words, name, folder)
        answers[question] = digest(said) if not status else status
    if name in OPS_TABLES:
        answers["ops_table"] = ops_table(folder / name).splitlines()
    return answers


def differences(old, new, where=""):
    """Where the new answer is not the old one; keys may be added."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                yield f"{where}.{key} is gone"
            else:
                yield from differences(value, new[key], f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where} had {len(old)} elements, now {len(new)}"
        for number, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(one, other, f"{where}[{number}]")
    elif old != new or type(old) is not type(new):
        yield f"{where} was {old!r}, now {new!r}"


# --- the archive ---------------------------------------------------------------


def unpack(folder, path=RUNS, only=""):
    """Of the runs those whose names begin with `only`."""
    filtered = hasattr(tarfile, "data_filter")  # since Python 3.11.4, and Debian 12 has 3.11.2
    with tarfile.open(path) as archive:
        members = [member for member in archive if member.name.startswith(only)]
        archive.extractall(folder, members, **({"filter": "data"} if filtered else {}))


@functools.cache
def stored_answers():
    with lzma.open(ANSWERS, "rt") as file:
        return json.load(file)


def write_answers(tool):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        unpack(folder)
        answers = {run.name: answers_of(tool, run.name, folder) for run in sorted(folder.iterdir())}
        for path in FILES_OF_V1:
            name = f"v1/{path.name}"
            answers[name] = answers_of(tool, name, GOLDEN)
    with lzma.open(ANSWERS, "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        file.write(canonical(answers))


def plain(data, renamed=()):
    """The shard with its columns stored plainly, frame by frame; as it is where rows of devices
    are linked, which the maker of shards does not write."""
    shard = gait_decoder.Shard(data)
    if shard.damage or not shard.is_complete:
        raise SystemExit("only whole shards can be packed")
    out, index = bytearray(), []
    for frame, columns in shard.data:
        table, _ = gait_decoder.KNOWN[frame.table]
        if table == "index":
            continue  # it is written anew
        if "link" in columns:
            return data
        for old, new in renamed if table == "string" else ():
            columns["text"] = [text.replace(old, new) for text in columns["text"]]
        names = [name for name, _ in columns_of(table)]
        rows = list(zip(*(columns[name] for name in names), strict=True))
        add_frame(out, index, table, frame.track, rows)
    offset = len(out)
    add_frame(out, index, "index", 0, list(index))
    return bytes(out) + trailer(offset, len(index))


def add_member(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def pack(words):
    renamed = [word.encode().split(b"=") for word in words if "=" in word]
    runs = [pathlib.Path(word) for word in words if "=" not in word]
    with tarfile.open(RUNS, "w:xz", preset=9 | lzma.PRESET_EXTREME) as archive:
        for run in runs:
            for path in sorted(run.glob("*.gait")):
                add_member(archive, f"{run.name}/{path.name}", plain(path.read_bytes(), renamed))


def main(words):
    if words[:1] == ["pack"]:
        pack(words[1:])
    elif words[:1] == ["answers"]:
        write_answers(words[1] if words[1:] else str(ROOT / "build/gait"))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
