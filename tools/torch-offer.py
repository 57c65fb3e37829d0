# SPDX-License-Identifier: Apache-2.0
"""What pip has to offer of torch, and how much of it would come over the network.

usage: python tools/torch-offer.py choose PYTHON OLDEST NEWEST
       python tools/torch-offer.py size PYTHON REQUIREMENTS

choose prints the version to take: the newest CPU build from OLDEST to NEWEST, else the
newest of any build; an index keeps both, and only the CPU builds say so (2.13.0+cpu).
size prints what the requirements and all they need come to ("1.2 GB").
Both print nothing where that cannot be told. PYTHON is the one whose pip is asked.
"""

import json
import os
import re
import subprocess
import sys

PIP_TELLS_BEFORE = (23, 2)  # earlier ones download a wheel to see what it needs


def pip(python, *words):
    quick = ["--retries", "1", "--timeout", "20"]  # where there is no network, too
    line = [python, "-m", "pip", "--disable-pip-version-check", *quick, *words]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout if done.returncode == 0 else ""


def numbers(version):
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0]))


def choose(python, oldest, newest):
    offered = re.search(
        r"^Available versions: (.*)$", pip(python, "index", "versions", "torch"), re.M
    )
    low, high = numbers(oldest), numbers(newest)
    versions = [
        version
        for version in (offered.group(1).split(", ") if offered else [])
        if low <= numbers(version) and numbers(version)[: len(high)] <= high
    ]
    versions.sort(key=lambda version: (version.endswith("+cpu"), numbers(version)))
    if "constraint" in pip(python, "config", "list"):  # the index knows nothing of them
        while versions and not would_install(python, versions[-1]):
            versions.pop()
    return versions[-1] if versions else ""


def would_install(python, version):
    return bool(pip(python, "install", "--dry-run", "--no-deps", f"torch=={version}"))


def bytes_of(url):
    import ssl
    import urllib.parse
    import urllib.request

    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        return os.path.getsize(urllib.request.url2pathname(parts.path))
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    asked = urllib.request.Request(url, method="HEAD")
    with urllib.request.urlopen(asked, timeout=20, context=context) as answer:
        return int(answer.headers["Content-Length"])


def size(python, requirements):
    found = re.match(r"pip (\d+)\.(\d+)", pip(python, "--version"))
    if not found or tuple(map(int, found.groups())) < PIP_TELLS_BEFORE:
        return ""
    words = ["install", "--quiet", "--dry-run", "--report", "-"]
    told = pip(python, *words, "-r", requirements)
    if not told:
        return ""
    total = sum(bytes_of(item["download_info"]["url"]) for item in json.loads(told)["install"])
    return f"{total / 1e9:.1f} GB" if total >= 1e9 else f"{total / 1e6:.0f} MB"


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    try:
        print({"choose": choose, "size": size}[what](*words))
    except (OSError, ValueError, TypeError, KeyError):
        print()  # an index that does not tell is no reason to stop
