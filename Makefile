# The front door: every habit is a target. Meson builds; the scripts in tools/
# do the rest. `make help` lists what there is.

BUILD ?= build
PYTHON ?= python3
T ?= 60
PREFIX ?= /usr/local
export PYTHON BUILD PYTHONS DRY

BIN := $(CURDIR)/.venv/bin
unexport PYTHONPATH PYTHONHOME

.PHONY: all setup build test test-fast lint check check-gpu check-mutation fmt tidy cppcheck compilers asan \
	ubsan tsan fuzz work torture faults bench bench-peers golden docs demo demo-c setup-torch check-torch \
	install uninstall deb sdist wheels check-wheels check-docker check-bare release clean help

all: build

setup:
	@tools/setup build

build: setup
	@tools/build "$(BUILD)"

# Asked for by name it fails where no torch can be had; before `make test` and
# `make demo` it only says so, and they do what needs none.
setup-torch: build
	@tools/setup-torch$(if $(filter setup-torch,$(MAKECMDGOALS)),, || true)

test: lint setup-torch
	@tools/setup-frameworks
	@tools/run-tests "$(BUILD)"

test-fast: lint
	@tools/run-tests "$(BUILD)" unit fast

# Faults that the tests of analyses, renderers and reports must find.
check-mutation: build
	@tools/setup test
	@"$(BIN)/python" tools/check-mutation

check-torch: build
	@tools/setup test
	@tools/try-torch "$(BUILD)" "$(TORCH)"

# Of a machine with a device: what gait says beside what torch, the driver and brute force say.
check-gpu: build setup-torch
	@"$(BIN)/python" tools/check-gpu $(PARTS)

lint: build
	@tools/setup test
	@tools/lint "$(BUILD)"

check: build
	@tools/setup test check
	@tools/check "$(BUILD)"

fmt: setup
	@tools/setup test
	@tools/lint --fix "$(BUILD)"

tidy cppcheck compilers asan ubsan tsan work: build
	@tools/setup test check
	@tools/check "$(BUILD)" $@

fuzz: build
	@tools/setup check
	@FUZZ_SECONDS=$(T) tools/check "$(BUILD)" fuzz

faults: build
	@tools/setup test
	@GAIT_TEST_FULL=1 tools/run-tests "$(BUILD)" unit:record $(patsubst tests/%,%,$(wildcard tests/cli/test_faults_*.py))

torture: build
	@tools/setup test
	@tools/torture "$(BUILD)"

bench: build
	@"$(BIN)/python" bench/run_bench.py "$(BUILD)"

bench-peers:
	@tools/setup peers

golden: build
	@tools/setup test
	@"$(BUILD)/tests/golden/make_golden" tests/golden/v1
	@GAIT_GOLDEN=write "$(BIN)/python" -m pytest -q tests/cli tests/python/test_decoder.py
	@git --no-pager diff --stat -- tests/golden

docs: build
	@tools/make-docs "$(BUILD)"

demo: build setup-torch
	@tools/demo "$(BUILD)"

demo-c: build
	@tools/demo "$(BUILD)" c

# Of what is built, without tests; only where nothing is, `make` comes first, so that `sudo
# make install` sets nothing up as root.
install: export GAIT_TARGET := products
install: $(if $(shell ls "$(BUILD)/build.ninja" 2>&1 >/dev/null),build)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' "$(BIN)/python" tools/install "$(BUILD)" install

uninstall:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' "$(PYTHON)" tools/install "$(BUILD)" uninstall

sdist: setup
	@"$(BIN)/python" tools/wheels --sdist

wheels: setup
	@"$(BIN)/python" tools/wheels $(PYTHONS)

# Each of dist/ in the Python that it is for; without those they are made first.
check-wheels: build $(if $(wildcard dist/gait-*.whl),,wheels)
	@tools/setup test
	@GAIT_WHEELS=dist GAIT_BUILD="$(BUILD)" "$(BIN)/python" -m pytest -q tests/cli/test_wheel*.py

deb:
	@tools/make-deb "$(BUILD)"

# Minutes, root and a network: a bare Debian, made by debootstrap.
check-docker: build
	@tools/setup test
	@GAIT_DOCKER=1 GAIT_BUILD="$(BUILD)" "$(BIN)/python" -m pytest -q tests/cli/test_docker.py

# `make demo` and `make test` of the last commit, where nothing was installed by hand.
check-bare:
	@tools/try-bare

release: build
	@tools/setup test
	@"$(BIN)/python" tools/release "$(VERSION)"

clean:
	@rm -rf build build-*

help:
	@echo 'make              set up what is missing, build the tool, the libraries, the package'
	@echo 'make test         lint, then unit, command-line, Python, accuracy and torch tests'
	@echo 'make test-fast    lint, the unit tests, and what else takes less than a minute in all'
	@echo 'make check        clang-tidy, cppcheck, other compilers, sanitizers, fuzzing'
	@echo 'make check-gpu    on a machine with a GPU: minutes; PARTS="windows energy" for some'
	@echo 'make check-mutation   put faults into analyses and renderers: do the tests find them?'
	@echo 'make install      PREFIX=/usr/local DESTDIR=; uninstall takes the same files away'
	@echo 'make deb          Debian packages, which lintian judges, in build/deb'
	@echo 'make demo         profile a PyTorch training and print its report; demo-c: one in C'
	@echo 'make setup-torch  your torch, or one from pip, into .venv; demo and test do it too'
	@echo 'make check-torch TORCH=x.y.z    the torch tests with another torch'
	@echo 'make fmt          bring C and Python into shape'
	@echo 'make lint         layers, circles, sizes, exports, banned functions, types, formatting'
	@echo 'make fuzz T=60    fuzz the decoder and the reader for T seconds in all'
	@echo 'make faults       200 kills, millions of spans: the recorder under faults, in full'
	@echo 'make torture      let the n-th call fail, for every n: allocations, writes, names'
	@echo 'make bench        measure; bench-peers installs what to compare with'
	@echo 'make golden       rewrite the expected outputs and show what changed'
	@echo 'make wheels       dist/: the sdist, and a wheel for each CPython; PYTHONS="python3.12"'
	@echo 'make release      VERSION=x.y.z: commit, tag, dist/, all tried; DRY=1 leaves nothing'
	@echo 'make check-wheels install each of dist/ in the Python that it is for, and use it'
	@echo 'make check-docker run the lines of the Dockerfile in a bare Debian'
	@echo 'make check-bare   demo and test of the last commit in a bare Debian 12 and 13'
	@echo 'make docs         write the man pages from the table of options'
	@echo 'make asan         one step of check: also ubsan, tsan, tidy, cppcheck, compilers, work'
	@echo 'make clean        remove the build folders (.venv stays)'
