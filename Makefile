# make demo: install and train for two minutes.  make test: install and run the fast tests.  Needs Python 3.11-3.13.
SHELL := /bin/sh
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && { echo "$$p"; break; }; done)
BIN := .venv/bin
# Where torch comes from, such as the address of the CPU builds that PyTorch's "Get started" page shows; see docs/install.md.
TORCH_INDEX ?=
PLAYER := train,web,plot
# One numeric thread per process: several processes share the cores, and more threads only get in each other's way.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check site nightly nightly-margins nightly-reliability bench docs install install-dev clean

demo: install
	@$(BIN)/pvp-ml demo

# Five processes suit two cores: a third of the tests' time is waiting.
test: install-dev
	@$(BIN)/python -m pytest -q -n 5 --dist worksteal -m "not nightly"

check: install-dev
	@$(BIN)/ruff format --check -q . || { echo "fix with: .venv/bin/ruff format ."; exit 1; }
	@$(BIN)/ruff check -q .
	@$(BIN)/codespell src tests docs *.md
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict
	@$(BIN)/python -m pytest -q tests/test_house_rules.py tests/test_generated_docs.py

nightly: install-dev
	@$(BIN)/python -m pytest -q -m nightly

nightly-margins: install-dev
	@$(BIN)/python benchmarks/learning_margins.py --seeds 10 --all --processes 2

# The reliability promises R1 to R20, each with its figures; about two hours. Some of it: make nightly-reliability ROWS="R1 R18"
nightly-reliability: install-dev
	@$(BIN)/python tests/reliability/table.py $(ROWS)

bench: install-dev
	@$(BIN)/pvp-ml bench sim --game connect4
	@$(BIN)/pvp-ml bench train --game connect4

# The documentation as a site, in build/site.
site: install-dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict
	@echo "open build/site/index.html"

docs: install-dev
	@$(BIN)/pvp-ml config options --markdown > TRAIN_OPTIONS.md

install: .venv/.installed
install-dev: .venv/.installed-dev

# A stamp is newer than everything that decides what is installed; while it is, no network is needed.
.venv/.installed .venv/.installed-dev: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed; name one with: make PYTHON=/path/to/python3.12"; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv
	@echo "installing into .venv, once: up to 2.4 GB, or 5 GB and more where pip takes torch's CUDA build (the choice: docs/install.md)"
	@test -z "$(TORCH_INDEX)" || $(BIN)/python -m pip install -q "$$(grep '^torch==' constraints.txt)" -i "$(TORCH_INDEX)"
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -q -c constraints.txt \
		-e ".[$(if $(findstring -dev,$@),dev,$(PLAYER))]"
	@touch .venv/.installed $@

clean:
	rm -rf .venv .test-cache build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
