# Everything that one does with a checkout. Each target prepares what it needs, in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help tools services install dev wheel demo test test-all lint rust-test soak fuzz bench lsf-plugin format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

HELP := more: docs/troubleshooting.md
tools:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) is missing; install Python 3.10 or later (Debian: apt install python3 python3-venv; $(HELP))"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "error: $$($(PYTHON) --version) is too old; install Python 3.10 or later, or name one: make PYTHON=python3.12 ($(HELP))"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "error: Python's venv module is missing; install it (Debian: apt install python3-venv; $(HELP))"; exit 2; }
	@command -v cc >/dev/null || { echo "error: a C compiler is missing; install one (Debian: apt install gcc libc6-dev; macOS: xcode-select --install; $(HELP))"; exit 2; }
	@command -v cargo >/dev/null || { echo "error: cargo is missing; install Rust 1.82 or later (https://rustup.rs; Debian 13: apt install cargo rustfmt rust-clippy; $(HELP))"; exit 2; }
	@cargo --version | awk '{ split($$2, version, "."); exit version[1] == 1 && version[2] < 82 }' || { echo "error: $$(cargo --version) is too old; install Rust 1.82 or later (https://rustup.rs; $(HELP))"; exit 2; }

# A program, and the package that it comes in.
SERVICES := valgrind:valgrind parallel:parallel tsp:task-spooler stress-ng:stress-ng slurmctld:slurm-wlm munged:munge chromium:chromium
services: ## Install the system packages that some tests and benchmarks need (root, Debian); without them those tests skip
	@command -v apt-get >/dev/null || { echo "error: 'make services' needs apt-get (Debian, Ubuntu); install by hand: $(SERVICES)"; exit 2; }
	@test "$$(id -u)" = 0 || { echo "error: 'make services' installs system packages: run it as root (sudo make services)"; exit 2; }
	@missing=; for each in $(SERVICES); do command -v $${each%%:*} >/dev/null || missing="$$missing $${each##*:}"; done; \
	test -z "$$missing" || { apt-get update --quiet=2 && DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends $$missing; }

PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt
# Bytecode is made of what is imported, when it is imported: to make it of all packages at once takes half the time.
PIP += --no-compile
MATURIN := PATH="$(CURDIR)/$(BIN):$$PATH" VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin
CORE := core/Cargo.toml core/cbindgen.toml $(shell find core/src -name '*.rs')
# Two things at a time: the core compiles on one core of the machine while packages are fetched and unpacked on another.
BESIDE := $(MAKE) --no-print-directory --jobs 2 $(VENV)/.core

# The stamps make a second call quick: each step is done again only when what it is made from changes.
$(VENV)/.made: constraints.txt | tools
	$(PYTHON) -m venv $(VENV)
	$(PIP) maturin cffi 'tomli; python_version < "3.11"'
	touch $@

$(VENV)/.base: $(VENV)/.made pyproject.toml .ci/packages.py
	$(BIN)/python .ci/packages.py > $@.txt
	$(PIP) --requirement $@.txt
	touch $@

$(VENV)/.extras: $(VENV)/.base
	$(BIN)/python .ci/packages.py dev > $@.txt
	$(PIP) --requirement $@.txt
	touch $@

$(VENV)/.core: $(VENV)/.made $(CORE)
	@echo "compiling the core"
	@$(MATURIN) develop --release --skip-install > $@.log 2>&1 || { cat $@.log; exit 1; }
	touch $@

# The core is compiled by now: this takes three seconds.
$(VENV)/.installed: $(VENV)/.core $(VENV)/.base
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) --no-build-isolation --no-deps --editable .
	touch $@

install: ## Make .venv, build the core, install Shunter in it (editable), with what its base needs
	@$(BESIDE) $(VENV)/.base
	@$(MAKE) --no-print-directory $(VENV)/.installed

dev: ## The same with all extras and the tests' tools
	@$(BESIDE) $(VENV)/.extras
	@$(MAKE) --no-print-directory $(VENV)/.installed

wheel: $(VENV)/.made ## Build a wheel, which needs no compiler where it is installed, and a source archive in dist/
	rm -rf dist
	$(MATURIN) build --release --strip --out dist --manifest-path core/Cargo.toml
	$(MATURIN) sdist --out dist --manifest-path core/Cargo.toml

demo: install ## From a generated log to a recommendation with a page, demo/report.html (a minute)
	$(BIN)/shunter advise 'generate:lublin?seed=1&jobs=20000&cores=256&load=0.75&requests=factor&site=fcfs/easy' --quick --out demo

test: lint rust-test ## Formatting, lint, types, Rust tests and the quick suite (8 minutes on two cores)
	$(PYTEST)

test-all: lint rust-test ## The same with every test: slow ones, repetitions, all examples (40 minutes)
	$(PYTEST) --all

# Three on two cores, for many tests wait for processes.
PYTEST := $(BIN)/python -m pytest --numprocesses 3 --quiet

lint: dev
	cargo fmt --manifest-path core/Cargo.toml --check
	cargo clippy --manifest-path core/Cargo.toml --quiet --all-targets -- --deny warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --no-incremental # what it keeps of the generated border to the core goes stale

rust-test: tools
	cargo test --manifest-path core/Cargo.toml --quiet

MINUTES ?= 10
soak: dev ## Run the property tests with fresh seeds for a given time: make soak MINUTES=60
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

COUNT ?= 20000
SEED ?= 1
fuzz: dev ## Read damaged files of every kind: make fuzz COUNT=200000 SEED=7
	$(BIN)/python -m tests.fuzz --count $(COUNT) --seed $(SEED)

bench: dev ## Run the benchmarks; they print figures and ratios
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/read_traces.py
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/gpu.py
	$(BIN)/python benchmarks/compare.py
	PYTHONPATH=. $(BIN)/python benchmarks/envs.py
	$(BIN)/python benchmarks/matmul.py
	PYTHONPATH=. $(BIN)/python benchmarks/decide.py
	PYTHONPATH=. $(BIN)/python benchmarks/serve.py
	PYTHONPATH=. $(BIN)/python benchmarks/gantt.py
	PYTHONPATH=. $(BIN)/python benchmarks/advise.py --quick --count 5
	PYTHONPATH=. $(BIN)/python benchmarks/live.py --seconds 20
	PYTHONPATH=. $(BIN)/python benchmarks/train.py --quick
	PYTHONPATH=. $(BIN)/python benchmarks/replay.py
	$(BIN)/python benchmarks/gantt.py
	PYTHONPATH=. $(BIN)/python benchmarks/ray_engine.py
	PYTHONPATH=. $(BIN)/python benchmarks/lsf_plugin.py --cycles 1000 --valgrind-cycles 0
	PYTHONPATH=. $(BIN)/python benchmarks/local_queue.py --jobs 2000 --queued 0,10000
	PYTHONPATH=. $(BIN)/python benchmarks/local_queue_kills.py --kills 50
	PYTHONPATH=. $(BIN)/python benchmarks/local_queue_reality.py --jobs 60

lsf-plugin: tools ## Build the plugin for LSF's scheduler: plugins/lsf/README.md
	$(MAKE) --directory plugins/lsf

format: dev ## Format and mend what can be mended by a tool
	cargo fmt --manifest-path core/Cargo.toml
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove everything that was built
	rm -rf $(VENV) dist core/target src/shunter/_core/__init__.py src/shunter/_core/ffi.py src/shunter/_core/*.so demo plugins/lsf/build
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
