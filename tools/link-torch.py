# SPDX-License-Identifier: Apache-2.0
"""Make the torch of this Python importable in a virtual environment.

Only torch and what it needs are linked, into a folder of their own: the rest
of a site-packages (pytest plugins, other versions of our tools) stays out.

usage: python tools/link-torch.py VENV
"""

import importlib.metadata
import pathlib
import re
import subprocess
import sys


def closure(*names):
    """The installed distributions that these need, themselves included."""
    found, waiting = {}, list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another platform, or optional
        for line in found[name].requires or []:
            if "extra ==" not in line:
                waiting.append(re.match(r"[\w.-]+", line).group())
    return found.values()


def top_level(distribution, site):
    """What a distribution adds to the folder it lies in."""
    if distribution.files:
        names = {file.parts[0] for file in distribution.files}
        return {name for name in names if name not in ("..", "__pycache__")}
    # packages of Debian list no files: the names of their modules, else their own
    listed = (distribution.read_text("top_level.txt") or "").split()
    own = distribution.metadata["Name"].replace("-", "_")
    modules = listed or [own, own.lower()]
    names = {name + ending for name in modules for ending in ("", ".py")}
    about = re.escape(distribution.metadata["Name"]).replace("\\-", "[-_]")
    kept = re.compile(about + r"-.*\.(dist|egg)-info$", re.IGNORECASE)
    return names | {path.name for path in site.iterdir() if kept.match(path.name)}


def main():
    venv = pathlib.Path(sys.argv[1])
    links = venv.resolve() / "linked-torch"
    links.mkdir(exist_ok=True)
    for distribution in closure("torch", "numpy"):
        site = pathlib.Path(distribution.locate_file("")).resolve()
        for name in top_level(distribution, site):
            link = links / name
            if link.is_symlink():
                link.unlink()
            if not link.exists() and (site / name).exists():
                link.symlink_to(site / name)
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    python = str(venv / "bin" / "python")
    site = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    pathlib.Path(site.stdout.strip(), "linked-torch.pth").write_text(f"{links}\n")


if __name__ == "__main__":
    main()
