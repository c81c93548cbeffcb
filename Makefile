# python3 with venv is all that is assumed; everything else goes into .venv.
PYTHON ?= python3
OLDEST ?= python3.11
NEWEST ?= $(firstword $(foreach minor,16 15 14 13 12,$(shell \
	for one in python3.$(minor) "$$(pyenv root 2> /dev/null)"/versions/3.$(minor).*/bin/python; do \
	"$$one" -c "import venv" 2> /dev/null && echo "$$one" && break; done)) $(PYTHON))
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz differential faults oldest newest integration browser dist docs bench sample-data clean

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | expand -t 14

demo: $(VENV)/installed  ## evaluate the sample data: tables here, report and figures in output/
	$(BIN)/calcli evaluate sample_data/digits_network_test.npy --details -o output
	@echo
	$(BIN)/calcli evaluate sample_data/*_test.*
	@echo; echo "report and figures: output/report.md, output/report.json, output/reliability.png"

test: $(VENV)/dev  ## ruff, mypy and pytest
	$(BIN)/ruff check .
	$(BIN)/mypy
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto

fuzz: $(VENV)/dev  ## hostile input of every kind: make fuzz CASES=100000 SEED=7
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.hostile --cases $(or $(CASES),1000) --seed $(or $(SEED),0)

differential: $(VENV)/dev  ## random valid files beside scikit-learn and numpy: make differential FILES=1000 SEED=7
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.differential --files $(or $(FILES),400) --seed $(or $(SEED),0)

faults: $(VENV)/dev  ## runs that are killed, or have no room: make faults RUNS=1000 SEED=7
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.faults --runs $(or $(RUNS),400) --seed $(or $(SEED),0)

oldest:  ## the tests, or TESTS, on the oldest Python and versions that pyproject.toml admits, in .venv-oldest
	$(OLDEST) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	sed -n '/^dependencies = \[/,/^\]/s/ *"\([a-z]*\)>=\(.*\)",/\1==\2/p' pyproject.toml > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip install --quiet --constraint .venv-oldest/constraints.txt --editable . --group dev
	OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/pytest -n auto -W ignore::DeprecationWarning $(TESTS)

newest:  ## the tests, or TESTS, on the newest Python and versions that are there, in .venv-newest
	$(NEWEST) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-newest/bin/python -m pip install --quiet --upgrade --editable . --group dev
	OPENBLAS_NUM_THREADS=1 .venv-newest/bin/pytest -n auto $(TESTS)

integration: $(VENV)/integration  ## read and write through an object store and web servers started here
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest tests/integration

browser: $(VENV)/browser  ## open pages of results in a browser, if chromium is installed
	$(BIN)/pytest tests/browser

dist: $(VENV)/dist  ## build sdist and wheel in dist/, and try them in an empty environment
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	PYTHON=$(PYTHON) $(BIN)/pytest tests/release

docs: $(VENV)/docs  ## the guide as a site, in site/, with its figures drawn anew
	$(BIN)/python -m tests.site build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/bench  ## speed and memory beside other libraries; takes long
	$(BIN)/python -m tests.benchmarks

sample-data: $(VENV)/dev  ## make sample_data/ again from the data sets inside scikit-learn
	$(BIN)/python sample_data/make.py

clean:  ## remove what was made here
	rm -rf $(VENV) .venv-oldest .venv-newest build dist site output *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The files below only mark when something was installed. The installation is editable, so that it
# follows the sources, and is made again when pyproject.toml changes.
$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/installed: pyproject.toml | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

$(VENV)/integration: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --group integration
	@touch $@

$(VENV)/browser: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --group browser
	@touch $@

$(VENV)/dist: $(VENV)/dev
	$(BIN)/python -m pip install --quiet --group dist
	@touch $@

$(VENV)/docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

$(VENV)/bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group bench
	@touch $@
