# `make demo` and `make test` are all the set-up there is.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Tests start leakcap a hundred times: what is compiled is kept, also where the machine would rather not keep it.
# Memory that arrays gave back is kept for the next ones: the system took a twentieth of the time to clear it.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
  MALLOC_TRIM_THRESHOLD_=268435456 MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TOP_PAD_=16777216 $(BIN)/pytest
TESTED := $(PYTEST) -n 2 --dist worksteal --durations=15
# Continuous integration is killed after 90 minutes and then says nothing: no slow test begins after 78.
IN_TIME := LEAKCAP_ENDS=$(shell expr $$(date +%s) + 4680)

.DEFAULT_GOAL := help
.PHONY: help demo explore docs style test check test-slow slowest bench peers attack-peers chromium postgresql nginx oidc-provider r torch flights wheel clean

help: ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "leakcap needs Python 3.11 or newer; set PYTHON=")'
	@echo "Setting up $(VENV); the first time this takes a minute."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml verify/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "leakcap needs Python 3.11 or newer; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -e ./verify
	@touch $@ $(VENV)/.run

# PySpark weighs half a gigabyte: only the slow suites, which CI runs too, bring it in.
$(VENV)/.spark: $(VENV)/.dev scripts/ensure-java
	scripts/ensure-java
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[spark]'
	touch $@

demo: $(VENV)/.run ## the main job: a private release of a hospital's table, and what it leaks
	@mkdir -p build/demo && rm -f build/demo/*
	@echo "The demo starts from an empty ledger each time. A real one is kept: that is what makes a cap a cap."
	$(BIN)/leakcap release examples/hospital/release.toml \
	  --ledger sqlite:///build/demo/hospital.db --report build/demo/report.html
	@echo "Next: make explore, and move ε."

docs: $(VENV)/.dev ## the manual, in build/manual: open build/manual/index.html; warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "Open build/manual/index.html; it needs no server and no network."

$(VENV)/.web: $(VENV)/.run
	@echo "Adding what the explorer needs; the first time this takes half a minute."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[web]'
	@touch $@

explore: $(VENV)/.web ## the explorer in a browser: what ε means, and what the demo has released so far
	@mkdir -p build/demo
	$(BIN)/leakcap serve examples/hospital/release.toml --ledger sqlite:///build/demo/hospital.db

chromium: ## what the browser tests need (Debian's package; nothing if it is there)
	@scripts/ensure-chromium

postgresql: ## what the tests of a team's ledger need (Debian's package; nothing if it is there)
	@scripts/ensure-postgresql

nginx: ## what the slow tests of the curator behind a proxy need (Debian's package; nothing if it is there)
	@scripts/ensure-nginx

oidc-provider: ## what the slow tests of OpenID Connect need (from npm; nothing if it is there)
	@scripts/ensure-oidc-provider

r: ## what the slow tests of the R client need (Debian's packages; nothing if they are there)
	@scripts/ensure-r

torch: ## what the slow tests of trainings run, in build/torch: PyTorch, Opacus, JAX, Optax
	@PYTHON=$(PYTHON) scripts/ensure-torch

flights: ## the 3-million-row table of the slow tests on real tables (from npm; nothing if it is there)
	@scripts/ensure-flights

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check: style ## style, types
	$(BIN)/mypy

# Types are checked beside the tests: one after the other, a processor waited for a minute. The slow suites come
# last, and only where the others pass: what is broken is known in a third of the time.
test: $(VENV)/.dev $(if $(CI),$(VENV)/.spark flights nginx oidc-provider r torch) chromium postgresql style ## everything that must hold (with CI set, the slow suites too)
	@mkdir -p build
	@echo "$(BIN)/mypy, beside the tests"
	@$(BIN)/mypy >build/types.txt 2>&1 & types=$$!; \
	trap 'kill $$types 2>/dev/null; exit 130' INT TERM; \
	$(TESTED) -m "not slow" $(if $(CI),&& $(IN_TIME) $(TESTED) -m slow); tests=$$?; \
	wait $$types; typed=$$?; cat build/types.txt; exit $$((tests ? tests : typed))

test-slow: $(VENV)/.dev $(VENV)/.spark chromium postgresql nginx oidc-provider r torch flights ## the slow suites alone
	$(TESTED) -m slow

slowest: $(VENV)/.dev ## what each file of the tests takes of the processors (IN=tests/ledger: of these)
	PYTHONPATH=tests $(PYTEST) -p slowest -m "not slow" $(IN)

bench: $(VENV)/.dev ## the measured targets, beside the peers if `make peers` has installed them
	@for script in benchmarks/*.py; do echo "== $$script"; \
	  OMP_NUM_THREADS=1 $(if $(wildcard build/peers/.done),build/peers/bin/python,$(BIN)/python) $$script || exit 1; done

peers: ## an environment of their own for the libraries that the benchmarks compare with
	test -x build/peers/bin/python || $(PYTHON) -m venv build/peers
	build/peers/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' qif dit dp-accounting
	touch build/peers/.done
	PYTHON=$(PYTHON) scripts/ensure-peers

attack-peers: $(VENV)/.dev ## the precision attack on leakcap and on the peers that `make peers` has installed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/attacks/precision.py

wheel: $(VENV)/.dev ## the built distribution, in dist/
	$(BIN)/python -m build --wheel --outdir dist .

clean: ## forget what was built
	rm -rf build dist $(VENV)
