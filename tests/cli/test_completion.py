# SPDX-License-Identifier: Apache-2.0
"""bash, zsh and fish themselves complete gait's lines, by the script that the tool prints."""

import json
import os
import select
import shutil
import subprocess
import time

import pytest
from terminals import fork_in_terminal

# What each shell is told: to load the script, to let Ctrl-G put all that fits into the
# line, and to say it is ready. `echo` in front of the line then shows what became of it.
SET_UP = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "bind 'set enable-bracketed-paste off'; bind '\"\\C-g\": insert-completions'; "
        'eval "$(gait completion bash)"; PS1=""; echo read""y\n',
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "unsetopt zle_bracketed_paste 2>/dev/null; PS1=''; setopt no_beep no_prompt_sp; "
        "autoload -U compinit && compinit -u -D; "
        "zstyle ':completion:all:*' completer _all_matches _complete; "
        "zstyle ':completion:all:*' insert true; "
        "zle -C all complete-word _generic; bindkey '^G' all; bindkey -e '^G' all; "
        'eval "$(gait completion zsh)"; echo read""y\n',
    ),
}
SHELLS = ["bash", "zsh", "fish"]


class Terminal:
    """A shell in a terminal; what it prints is read until the wanted text is there."""

    def __init__(self, shell, folder, path):
        line, set_up = SET_UP[shell]
        pid, self.end = fork_in_terminal()
        if pid == 0:
            os.chdir(folder)
            os.environ.update(PATH=path, TERM="dumb", HOME=str(folder), HISTFILE="")
            os.execvp(line[0], line)
        self.pid = pid
        self.count = 0
        self.send(set_up)
        self.read_until("ready\r\n")

    def send(self, text):
        os.write(self.end, text.encode())

    def read_until(self, wanted, seconds=60):
        text, deadline = "", time.monotonic() + seconds
        while wanted not in text:
            ready, _, _ = select.select([self.end], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {wanted!r} in {text!r}"
            text += os.read(self.end, 65536).decode(errors="replace")
        return text

    def complete(self, line):
        """The words in the place of the last one, when all that fits was put there."""
        self.count += 1
        begin, end = f"begin{self.count}:", f":end{self.count}"
        # quotes keep the marks of the typed line and of the echoed one apart
        self.send(f"{line}\x07\x01echo {begin[:-1]}'':\x05 {end[:4]}''{end[4:]}\n")
        text = self.read_until(end)
        answer = text.rpartition(begin)[2].partition(end)[0].split()
        return answer[len(line.split(" ")) - 1 :]

    def close(self):
        os.close(self.end)
        os.waitpid(self.pid, 0)


class Fish:
    """`complete -C` answers what Tab would show."""

    def __init__(self, folder, path):
        self.folder, self.environ = folder, {**os.environ, "PATH": path, "HOME": str(folder)}

    def complete(self, line):
        program = "gait completion fish | source; complete -C $argv[1]"
        done = subprocess.run(
            ["fish", "--no-config", "-c", program, line],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return [word.split("\t")[0] for word in done.stdout.splitlines()]

    def close(self):
        pass


@pytest.fixture(scope="module", params=SHELLS)
def shell(request, build, tmp_path_factory):
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param} here, and none could be installed")
    folder = tmp_path_factory.mktemp("shell")
    for name in ("run1", "run2"):
        (folder / name).mkdir()
    for name in ("a.gait", "gait.yaml", "train.py"):
        (folder / name).write_text("")
    path = f"{build}:{os.environ['PATH']}"
    made = Fish(folder, path) if request.param == "fish" else Terminal(request.param, folder, path)
    yield made
    made.close()


def bare(words):
    return {word.rstrip("/").rpartition("=")[2] for word in words}


def test_a_command(shell, gait):
    assert set(shell.complete("gait re")) == {"record", "report"}
    assert {"run", "completion", "help"} <= set(shell.complete("gait "))
    assert set(shell.complete("gait --v")) == {"--version"}


def test_options_may_stand_behind_the_second_side_of_a_comparison(shell):
    assert set(shell.complete("gait compare run1 -- run2 --fa")) == {"--fail-on"}


def test_options_are_those_of_the_help(shell, gait):
    listed = [line.split() for line in gait("run", "--help").stdout.splitlines()]
    wanted = {word for words in listed for word in words[:2] if word.startswith("--")} - {"--"}
    assert len(wanted) > 8
    words = set(shell.complete("gait run --"))
    assert {word for word in words if not word.endswith(".")} == wanted
    assert set(shell.complete("gait run -q --app")) == {"--append"}


def test_what_a_value_may_be(shell):
    assert bare(shell.complete("gait run --overflow ")) == {"drop", "block", "overwrite"}
    assert bare(shell.complete("gait export -f p")) == {"parquet", "perfetto", "pt-trace"}
    assert bare(shell.complete("gait export --format=p")) == {"parquet", "perfetto", "pt-trace"}
    assert bare(shell.complete("gait config ch")) == {"check"}


def test_settings(shell, gait):
    listed = json.loads(gait("config", "list", "--json").stdout)
    names = {"--" + row["name"] for row in listed["settings"]}
    assert len(names) > 30
    assert set(shell.complete("gait run --profili")) == {"--profiling."}
    begun = {name for name in names if name.startswith("--profiling.w")}
    assert set(shell.complete("gait run --profiling.w")) == begun
    assert bare(shell.complete("gait run --profiling.unit ")) == {"step", "epoch", "seconds"}
    assert bare(shell.complete("gait run --profiling.unit=e")) == {"epoch"}


def test_files_folders_and_runs(shell):
    assert bare(shell.complete("gait report ")) == {"a.gait", "run1", "run2"}
    assert bare(shell.complete("gait run -o run")) == {"run1", "run2"}
    assert bare(shell.complete("gait run --output=run")) == {"run1", "run2"}
    assert bare(shell.complete("gait config check g")) == {"gait.yaml"}
    assert bare(shell.complete("gait diff-stacks run1 ")) == {"a.gait", "run1", "run2"}


def test_a_process(shell):
    line = shell.complete(f"gait top {str(os.getpid())[:-1]}")
    assert str(os.getpid()) in line


def test_the_line_of_the_program_is_its_own(shell):
    assert bare(shell.complete("gait run -q -- cat tr")) == {"train.py"}
    assert "--append" not in shell.complete("gait run -- cat --")
    assert "echo" in shell.complete("gait run -- ech")


def test_a_shell_that_there_is_not(gait):
    done = gait("completion", "tcsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "gait completion: 'tcsh' has no completion script; bash, zsh and fish have one\n"
    )
