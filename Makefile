# python3 with venv is all that is assumed; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz integration browser bench sample-data clean

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | expand -t 14

demo: $(VENV)/installed  ## evaluate the sample data: tables here, report and figures in output/
	$(BIN)/calcli evaluate sample_data/digits_network_test.npy --per-class -o output
	@echo
	$(BIN)/calcli evaluate sample_data/*_test.* --metrics log_loss,brier,accuracy,mean_gap,ece,ks
	@echo; echo "report and figures: output/report.md, output/report.json, output/reliability.png"

test: $(VENV)/dev  ## ruff, mypy and pytest
	$(BIN)/ruff check .
	$(BIN)/mypy
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto

fuzz: $(VENV)/dev  ## hostile input of every kind: make fuzz CASES=100000 SEED=7
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.hostile --cases $(or $(CASES),1000) --seed $(or $(SEED),0)

integration: $(VENV)/integration  ## read and write through an object store and web servers started here
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest tests/integration

browser: $(VENV)/browser  ## open pages of results in a browser, if chromium is installed
	$(BIN)/pytest tests/browser

bench: $(VENV)/bench  ## speed and memory beside other libraries; takes long
	$(BIN)/python -m tests.benchmarks

sample-data: $(VENV)/dev  ## make sample_data/ again from the data sets inside scikit-learn
	$(BIN)/python sample_data/make.py

clean:  ## remove what was made here
	rm -rf $(VENV) build dist output *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
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

$(VENV)/bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group bench
	@touch $@
