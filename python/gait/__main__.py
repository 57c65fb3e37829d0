# SPDX-License-Identifier: Apache-2.0
"""`python -m gait …` is the tool `gait …`, found beside this package."""

import os
import sys


def find_tool():
    package = os.path.dirname(os.path.abspath(__file__))
    beside = [
        os.path.join(os.path.dirname(sys.executable), "gait"),
        os.path.join(package, os.pardir, os.pardir, "gait"),
    ]
    on_path = [os.path.join(folder, "gait") for folder in os.get_exec_path()]
    for tool in beside[::-1] + on_path:
        if os.path.isfile(tool) and os.access(tool, os.X_OK):
            return os.path.abspath(tool)
    return None


def main() -> None:
    tool = find_tool()
    if tool is None:
        sys.exit("gait: the tool 'gait' is neither beside the package nor on PATH: run `make`")
    from ._core import stop

    stop()
    os.environ["GAIT_PACKAGE"] = os.path.dirname(os.path.abspath(__file__))
    os.execv(tool, ["gait", *sys.argv[1:]])


if __name__ == "__main__":
    main()
