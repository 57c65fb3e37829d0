# SPDX-License-Identifier: Apache-2.0
"""Each gate finds the fault planted for it, and is silent where there is none."""

import shutil
import subprocess
import sys

import pytest

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
LAYERS = "gait:\nbase/os:\nbase: base/os gait\nformat: base gait\nrecord: format base gait\n"
RECORD_H = SPDX + "#include <stdint.h>\nint gait_start(void);\nextern int gait_recording;\n"
ERROR_H = SPDX + "const char *gait_error_text(int code);\n"
TRACE_H = SPDX + '#include "error.h"\nint gait_trace_open(const char *path);\n'


@pytest.fixture
def tree(tmp_path):
    """A small clean tree; write(path, text) plants a file in it."""

    def write(path, text):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    write("src/LAYERS", LAYERS)
    write("include/gait/record.h", RECORD_H)
    write("include/gait/error.h", ERROR_H)
    for other in ("derived", "export", "torch", "trace_info"):
        write(f"include/gait/{other}.h", SPDX)
    for other in ("abi", "configuration", "import", "ops", "schedule", "torch_binding", "windows"):
        write(f"include/gait/internal/{other}.h", SPDX)
    write("include/gait/trace.h", TRACE_H)
    write("src/base/fail.h", SPDX + "int fail(int code);\n")
    write("src/base/fail.c", SPDX + '#include "base/fail.h"\n\nint fail(int code)\n{\n}\n')
    write.path = tmp_path
    return write


@pytest.fixture
def lint(root, tree):
    """Run a gate over the tree: (exit status, what it said)."""

    def run(tool, *arguments):
        command = [sys.executable, str(root / "tools" / tool), *arguments, str(tree.path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize("tool", ["check-layers", "check-sizes", "check-banned", "check-circles"])
def test_a_clean_tree_passes(lint, tool):
    status, said = lint(tool)
    assert status == 0, said


@pytest.mark.parametrize("words, code", [(["--help"], 0), ([], 2)])
def test_check_says_how_it_is_used_and_makes_no_folder_of_it(root, words, code):
    done = subprocess.run([root / "tools/check", *words], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stdout.startswith("usage: tools/check FOLDER [tidy|") and not done.stderr
    assert not (root / "--help").exists()


LAYER_FAULTS = {
    "upward": ("src/base/up.c", '#include "format/schema.h"\n', "base may not include"),
    "os_upward": ("src/base/os/os.h", '#include "base/fail.h"\n', "base/os may not include"),
    "sideways": ("src/record/a.c", '#include "record/none.h"\n', "is no file below src/"),
    "bare": ("src/base/b.c", '#include "fail.h"\n', "is no file below src/"),
    "unlisted": ("src/util/c.c", "int x;\n", "not in src/LAYERS"),
    "public": ("src/base/os/d.c", "#include <gait/error.h>\n", "(gait)"),
    "example": ("examples/e/e.c", '#include "base/fail.h"\n', "outside src/"),
    "python": ("python/gait/ext/native.c", '#include "base/fail.h"\n', "outside src/"),
    "twin": ("src/base/os/fail.c", "int x;\n", "file names are unique"),
    "spaced": ("src/base/f.c", '#  include /* why */ "format/schema.h"\n', "base may not"),
    "record_h": ("include/gait/record.h", "#include <stdio.h>\n", "record.h may not include"),
    "inward": ("include/gait/x.h", '#include "base/fail.h"\n', "no public header"),
    "hidden": ("include/gait/y.h", '#include "internal/ops.h"\n', "installed may not include"),
    "inside": ("bench/b.c", "#include <gait/internal/ops.h>\n", "is not installed"),
}


@pytest.mark.parametrize("fault", LAYER_FAULTS)
def test_layers_finds(tree, lint, fault):
    path, text, complaint = LAYER_FAULTS[fault]
    tree("src/format/schema.h", SPDX)
    tree(path, SPDX + text)
    status, said = lint("check-layers")
    assert status == 1
    assert complaint in said
    assert path in said


def test_layers_knows_what_the_build_makes(tree, lint):
    tree("src/base/version.h.in", SPDX)
    tree("src/base/g.c", SPDX + '#include "base/version.h"\n')
    assert lint("check-layers")[0] == 0


def test_layers_does_not_read_comments(tree, lint):
    tree("src/base/g.c", SPDX + '/*\n#include "format/schema.h"\n*/\n// #include "x.h"\n')
    assert lint("check-layers")[0] == 0


def function(lines=3, body="    x++;\n", head="int long_one(int x)"):
    return SPDX + head + "\n{\n" + body * (lines - 3) + "}\n"


NESTED = """int deep(int a)
{
    while (a)
        if (a > 1)
            for (;;)
                if (a)
                    a--;
}
"""
ELSE_CHAIN = """int chain(int a)
{
    if (a == 1)
        a = 2;
    else if (a == 2)
        a = 3;
    else if (a == 3)
        a = 4;
    else if (a == 4)
        a = 5;
    else
        a = 6;
    switch (a) {
    case 1: {
        while (a)
            if (a)
                a--;
        break;
    }
    default:
        a = (struct s){.x = {1, {2, {3, {4}}}}}.x;
    }
    return a;
}
"""
SIZE_FAULTS = {
    "function": (function(61), "long_one: 61 lines, at most 60"),
    "static": (function(61, head="static const char *long_one(int x, char *s)"), "long_one: 61"),
    "macro_made": (function(61, head='TEST("a sentence with { and (")'), "TEST: 61 lines"),
    "attribute": (function(61, head="__attribute__((cold)) int long_one(int (*f)(int))"), "61"),
    "linkage": (SPDX + 'extern "C" {\n' + function(61) + "}\n", "long_one: 61 lines"),
    "strings": (function(61, body='    f("}", \'}\', "\\"}"); // }\n'), "long_one: 61 lines"),
    "file": (SPDX + "int x;\n" * 800, "801 lines, at most 800"),
    "columns": (SPDX + "int " + "x" * 97 + ";\n", "102 columns"),
    "parameters": (function(head="int f(int a, int b, int c, int d, int e, int g)"), "6 param"),
    "nesting": (SPDX + NESTED, "deep: 4 levels"),
}


@pytest.mark.parametrize("fault", SIZE_FAULTS)
def test_sizes_finds(tree, lint, fault):
    text, complaint = SIZE_FAULTS[fault]
    tree("src/base/grown.c", text)
    status, said = lint("check-sizes")
    assert status == 1
    assert complaint in said


@pytest.mark.parametrize(
    "text",
    [
        function(60),
        SPDX + ELSE_CHAIN,
        function(head="int f(int a, int (*b)(int, int), int c, int d, const char *e, ...)"),
        SPDX + "#define LOOP(x) do { \\\n    x; \\\n} while (0)\n" + function(60)[len(SPDX) :],
    ],
    ids=["sixty lines", "else-if chain and initialisers", "variadic", "after a macro"],
)
def test_sizes_lets_pass(tree, lint, text):
    # company, so that one long function is not nine in ten
    tree("src/base/small.c", SPDX + "".join(f"int f{i}(void)\n{{\n}}\n" for i in range(20)))
    tree("src/base/fits.c", text)
    status, said = lint("check-sizes")
    assert status == 0, said


def test_sizes_measures_the_tenth_longest(tree, lint):
    tree("src/base/grown.c", SPDX + "".join(function(45)[len(SPDX) :] for _ in range(9)))
    status, said = lint("check-sizes")
    assert status == 1
    assert "nine in ten functions have up to 45 lines" in said


def test_sizes_counts_a_headers_code_not_its_manual(tree, lint):
    tree("src/base/manual.h", SPDX + "// how to use it\n" * 100 + "int f(void);\n" * 150)
    assert lint("check-sizes")[0] == 0
    tree("src/base/manual.h", SPDX + "int f(void);\n" * 151)
    status, said = lint("check-sizes")
    assert status == 1
    assert "151 lines of code" in said


def test_sizes_counts_the_files_of_a_folder(tree, lint):
    for i in range(38):  # beside fail.c and fail.h
        tree(f"src/base/f{i}.c", SPDX)
    assert lint("check-sizes")[0] == 0
    tree("src/base/one_more.c", SPDX)
    status, said = lint("check-sizes")
    assert status == 1
    assert "src/base: 41 files, a folder has at most 40" in said


def test_sizes_holds_prototypes_and_python_to_it(tree, lint):
    tree("src/base/wide.h", SPDX + "int f(int a, int b, int c, int d, int e, int g);\n")
    tree("python/gait/long.py", "def f():\n" + "    f()\n" * 60)
    status, said = lint("check-sizes")
    assert status == 1
    assert "f: 6 parameters" in said
    assert "f: 61 lines" in said


BANNED_FAULTS = {
    "strcpy": ("src/cli/a.c", SPDX + "void f(char *s)\n{\n    strcpy(s, s);\n}\n", "strcpy"),
    "printf": ("src/base/a.c", SPDX + 'void f(void)\n{\n    printf("");\n}\n', "only cli"),
    "stderr": ("src/base/a.c", SPDX + "FILE *f = stderr;\n", "stderr is not"),
    "exit": ("src/record/a.c", SPDX + "void f(void)\n{\n    exit (1);\n}\n", "exit is banned"),
    "typedef": ("src/base/a.h", SPDX + "typedef struct a { int b; } a;\n", "no typedef"),
    "todo": ("src/base/a.h", SPDX + "// TODO: later\n", "names its issue"),
    "rename": ("src/cli/a.c", SPDX + "int x = rename(a, b);\n", "rename is own_file.c's"),
    "fopen": ("src/cli/a.c", SPDX + 'int x = !fopen(name(a), "we");\n', "fopen is own_file.c's"),
    "update": ("src/load/a.c", SPDX + 'int x = !fopen(a, "rb+");\n', "fopen is own_file.c's"),
    "creates": ("src/load/a.c", SPDX + "int x = open(a, O_RDWR | O_CREAT, 0);\n", "O_CREAT is"),
    "defines": ("src/load/a.c", SPDX + "#define F (O_WRONLY | O_TRUNC)\n", "own_file.c's"),
    "rows": ("src/analyse/a.c", SPDX + "int x = gait_scan(a);\n", "come from src/facts"),
    "licence": ("src/base/a.h", "int x;\n", "the first line says"),
    "python": ("python/gait/a.py", "x = 1\n", "the first line says"),
}


@pytest.mark.parametrize("fault", BANNED_FAULTS)
def test_banned_finds(tree, lint, fault):
    path, text, complaint = BANNED_FAULTS[fault]
    tree(path, text)
    status, said = lint("check-banned")
    assert status == 1
    assert complaint in said
    assert path in said


@pytest.mark.parametrize(
    "text",
    [
        "// strcpy(a, b) is banned\n",
        'const char *s = "strcpy(a, b)";\n',
        "int my_strcpy(void);\n",
        "// TODO(#12): later\n",
        'void f(FILE *out)\n{\n    fprintf(out, "");\n}\n',
        "void f(struct r *r)\n{\n    r->exit(1);\n}\n",
        "int f(struct r *r)\n{\n    return r->remove(1);\n}\n",
        'FILE *f = fopen("/dev/null", "w");\nFILE *g = fopen("out", "re");\n',
    ],
)
def test_banned_lets_pass(tree, lint, text):
    tree("src/base/a.c", SPDX + text)
    status, said = lint("check-banned")
    assert status == 0, said


GOOD = {
    "gait": "int gait_recording; int gait_start(void) { return 0; }\n"
    "const char *gait_error_text(int c) { (void)c; return 0; }\n",
    "gait-read": "int gait_trace_open(const char *p) { (void)p; return 0; }\n"
    "const char *gait_error_text(int c) { (void)c; return 0; }\n",
}


@pytest.fixture
def libraries(tree):
    """Build both libraries from a source each, with extra flags for the first."""

    def build(extra="", *flags):
        for name, source in GOOD.items():
            text = source + (extra if name == "gait" else "")
            tree(f"{name}.c", text)
            command = ["cc", "-shared", "-fPIC", "-o", str(tree.path / f"lib{name}.so")]
            command += [str(tree.path / f"{name}.c"), *(flags if name == "gait" else [])]
            subprocess.run(command, check=True)
        return str(tree.path)

    return build


def test_exports_passes_what_is_declared(libraries, lint):
    status, said = lint("check-exports", libraries())
    assert status == 0, said


EXPORT_FAULTS = {
    "leak": ("int zstd_thing(void) { return 0; }", [], "exports 'zstd_thing'"),
    "undeclared": ("int gait_secret(void) { return 0; }", [], "exports 'gait_secret'"),
    "needed": (
        "double sqrt(double); double v = 2; static double w(void) { return sqrt(v); }"
        "static double (*volatile keep)(void) = w;",
        ["-Wl,--no-as-needed", "-lm"],
        "needs libm",
    ),
    "weak": (
        "extern int other(void) __attribute__((weak));static int (*volatile keep)(void) = other;",
        [],
        "'other' would be bound",
    ),
    "tls": (
        'static __attribute__((tls_model("initial-exec"))) __thread char b[65];'
        "static char *f(void) { return b; } static char *(*volatile keep)(void) = f;",
        [],
        "65 bytes of initial-exec",
    ),
}


@pytest.mark.parametrize("fault", EXPORT_FAULTS)
def test_exports_finds(libraries, lint, fault):
    extra, flags, complaint = EXPORT_FAULTS[fault]
    status, said = lint("check-exports", libraries(extra + "\n", *flags))
    assert status == 1
    assert complaint in said


def test_exports_finds_what_is_missing(libraries, tree, lint):
    tree("include/gait/record.h", RECORD_H + "int gait_stop(void);\n// int gait_no(void);\n")
    status, said = lint("check-exports", libraries())
    assert status == 1
    assert "does not export 'gait_stop'" in said
    assert "gait_no" not in said


PASSING = "#!/bin/sh\necho 'ok 1 - a'\necho 'ok 2 - b # SKIP no GPU'\necho 1..2\n"
TAP_FAULTS = {
    "not ok": "echo 'not ok 1 - a'; echo 1..1",
    "status": "echo 'ok 1 - a'; echo 1..1; exit 3",
    "no plan": "echo 'ok 1 - a'",
    "too few": "echo 'ok 1 - a'; echo 1..2",
}


@pytest.fixture
def tap_run(root, tree):
    """Run a shell script's TAP under tools/tap-runner."""

    def run(script):
        tree("program", script)
        (tree.path / "program").chmod(0o755)
        command = [sys.executable, str(root / "tools/tap-runner"), str(tree.path / "program")]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout

    return run


def test_tap_runner_closes_like_prove(tap_run):
    status, said = tap_run(PASSING)
    assert status == 0
    assert "All tests successful." in said
    assert "Tests=2" in said
    assert said.endswith("Result: PASS\n")


@pytest.mark.parametrize("fault", TAP_FAULTS)
def test_tap_runner_finds(tap_run, fault):
    status, said = tap_run("#!/bin/sh\n" + TAP_FAULTS[fault] + "\n")
    assert status == 1
    assert said.endswith("Result: FAIL\n")


def test_tap_runner_does_not_take_nothing_for_success(root):
    command = [sys.executable, str(root / "tools/tap-runner"), "-"]
    done = subprocess.run(command, input="", capture_output=True, text=True)
    assert done.returncode == 1


TAP_PROGRAM = """
#include "support/tap.h"
TEST("holds") { ok(1); }
TEST("does not hold") { is_int(2, 3); }
TEST("checks nothing") { }
TEST("is skipped") { skip("no GPU"); }
"""


def test_the_test_framework_reports_failures(root, tree):
    tree("program.c", TAP_PROGRAM)
    program = tree.path / "program"
    subprocess.run(
        ["cc", "-std=c11", f"-I{root}/tests", f"{program}.c", "-o", str(program)], check=True
    )
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 1
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert lines == [
        "ok 1 - holds",
        "not ok 2 - does not hold",
        "not ok 3 - checks nothing",
        "ok 4 - is skipped # SKIP no GPU",
        "1..4",
    ]
    assert "got 2, wanted 3" in done.stdout
    chosen = subprocess.run([str(program), "skipped"], capture_output=True, text=True)
    assert chosen.returncode == 0
    assert subprocess.run([str(program), "no such case"], capture_output=True).returncode == 1
    if shutil.which("prove"):
        assert subprocess.run(["prove", str(program)], capture_output=True).returncode != 0


CIRCLES = {
    "headers": {
        "src/base/one.h": '#include "base/two.h"\n',
        "src/base/two.h": '#include "base/three.h"\n',
        "src/base/three.h": '#include "base/one.h"\n',
    },
    "layers": {"src/LAYERS": "gait:\nbase: format\nformat: record\nrecord: base\n"},
    "folders of the extension": {
        "python/gait/ext/core/a.c": '#include "record/b.h"\n',
        "python/gait/ext/core/a.h": "int a;\n",
        "python/gait/ext/record/b.h": '#include "core/a.h"\n',
    },
    "modules": {
        "python/gait/__init__.py": "from .one import one\n",
        "python/gait/one.py": "def one():\n    from .sub import two\n",
        "python/gait/sub/__init__.py": "",
        "python/gait/sub/two.py": "from .. import three\n",
        "python/gait/three.py": "from .one import one\n",
    },
}


@pytest.mark.parametrize("kind", CIRCLES)
def test_circles_are_found_by_any_detour(tree, lint, kind):
    for path, text in CIRCLES[kind].items():
        tree(path, text)
    status, said = lint("check-circles")
    assert status == 1 and said.startswith(f"{kind} that lead to each other: ")
    assert len(said.splitlines()) == 1


def test_what_is_only_for_types_makes_no_circle(tree, lint):
    late = "if TYPE_CHECKING:\n    from .two import Two\n"
    tree("python/gait/one.py", "TYPE_CHECKING = False\n" + late)
    tree("python/gait/two.py", "from .one import One\n")
    tree("python/gait/_native.pyi", "")
    tree("python/gait/three.py", "from . import _native\n")
    assert lint("check-circles")[0] == 0
    tree("python/gait/one.py", "from .two import Two\n")
    assert lint("check-circles")[0] == 1
