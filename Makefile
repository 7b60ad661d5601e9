# make demo: see it work.  make test: check it.  Both create the environment first.
PYTHON ?= python3
BIN := .venv/bin
# Worker processes of tests that wait for servers: one more than there are cores.
WAITING = $(shell expr $$(nproc) + 1)
export GAMEWARDEN_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo test test-integration test-nightly check warm docs bench crash fuzz clean
demo: .venv/ready
	$(BIN)/gamewarden demo

# The first tier: needs nothing but Python.
test: .venv/ready
	$(MAKE) --jobs 2 --output-sync check warm
	$(BIN)/pytest -n auto --dist loadfile

# Real servers, browsers and programs, kills, full disks, a second version of Python; skips what is not installed.
test-integration: .venv/ready
	$(BIN)/pytest -n $(WAITING) --dist loadfile -m 'integration and not nightly' --hypothesis-profile integration -rs
	.ci/other-python

# Hours: soak, long fuzz, whole studies, real data, and every property with many examples.
test-nightly: .venv/ready
	$(BIN)/pytest -n auto --dist loadfile -m 'nightly or hypothesis' --hypothesis-profile nightly -rs
	$(BIN)/python tests/crash/killing.py
	$(BIN)/python tests/fuzz --corpus fuzz-corpus

# Compile all kernels ahead, so that no test pays for it.
warm: .venv/ready
	$(BIN)/gamewarden warm

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The pages that say what the code says: docs/cli.md and docs/config.md.
docs: .venv/ready
	$(BIN)/python -m gamewarden.cli.reference docs

bench: .venv/ready
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev,bench]'
	for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

# Hundreds of kills at file operations, for every command that writes; needs a C compiler.
crash: .venv/ready
	$(BIN)/python tests/crash/killing.py

# An hour of hostile inputs; FUZZ_SECONDS=… or FUZZ_INPUTS=… say otherwise. What falls is kept in fuzz-corpus/.
fuzz: .venv/ready
	$(BIN)/python tests/fuzz --corpus fuzz-corpus

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv demo dist build
