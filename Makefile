# hf-fairness: `make help` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
OUT ?= out
CHECKED := build/checked
# Several processes of one thread each get through the tests sooner than one process whose threads wait for each other.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PROCESSES := --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest --durations 20

.DEFAULT_GOAL := help
.PHONY: help demo test test-all bench slow style quality format clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# torch is installed on its own first: a bare "torch" requirement may resolve to a build several gigabytes larger.
$(VENV)/.torch: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip
	$(PIP) install --quiet "$$(grep '^torch==' constraints.txt)"
	touch $@

$(VENV)/.demo: $(VENV)/.torch setup.cfg
	$(PIP) install --quiet --constraint constraints.txt --editable '.[demo]'
	touch $@

$(VENV)/.test: $(VENV)/.torch setup.cfg
	$(PIP) install --quiet --constraint constraints.txt --editable '.[test,quality]'
	touch $@

demo: $(VENV)/.demo  ## Audit all-MiniLM-L6-v2, mitigate it with CCD, audit again: report in out/demo (about 5 minutes)
	$(BIN)/hf-fairness demo --output_dir $(OUT)/demo

test: $(VENV)/.test checked  ## Every area in small, doctests of the package and the README (at most 10 CPU-minutes)
	$(ONE_THREAD) $(BIN)/python -m pytest -q --doctest-glob=README.md README.md
	cd $(CHECKED) && $(ONE_THREAD) ../../$(BIN)/python -m pytest -p no:cacheprovider --confcutdir=. -c ../../setup.cfg --rootdir=. --doctest-modules hf_fairness --ignore-glob='*/app.py' -q
	$(PYTEST) -m 'not whole' $(PROCESSES)

test-all: test  ## What `test` runs, and then whole pipelines, small studies and kills
	$(PYTEST) -m whole $(PROCESSES)

$(VENV)/.bench: $(VENV)/.test benchmarks/requirements.txt
	$(PIP) install --quiet --no-deps --requirement benchmarks/requirements.txt
	touch $@

bench: $(VENV)/.bench  ## Speed and memory beside peers and rivals, in one run: benchmarks/results.json and a table
	$(BIN)/python -m benchmarks

slow: $(VENV)/.test  ## The whole studies, then every table of benchmarks/README.md and the README (seven hours of one core)
	$(BIN)/python -m benchmarks.swap_quality
	$(BIN)/python -m benchmarks.ccd_quality
	$(BIN)/python -m benchmarks.compare_quality
	$(BIN)/python -m benchmarks.compare_planted
	$(BIN)/python -m benchmarks.refine_quality
	$(BIN)/python -m benchmarks.refine_planted
	$(BIN)/python -m benchmarks.refine_planted --real
	$(BIN)/python -m benchmarks.data_diet_quality
	$(BIN)/python -m benchmarks.data_diet_full
	$(BIN)/python -m benchmarks.gfst_quality
	$(BIN)/python -m benchmarks.gfst_real
	$(BIN)/python -m benchmarks.gfst_news
	$(BIN)/python -m benchmarks.ibadr_quality
	$(BIN)/python -m benchmarks.ibadr_sick
	$(BIN)/python -m benchmarks.interval_coverage
	$(BIN)/python -m benchmarks.bias_score_distilled
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.engines
	$(BIN)/python -m benchmarks.readme

style: $(VENV)/.test  ## Lint and formatting, nothing is changed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.test  ## Apply the formatter and the safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# mypy, import-linter and doctests do not see packages mapped by package_dir in an editable install: check a plain copy.
.PHONY: checked
checked: $(VENV)/.test
	rm -rf $(CHECKED) build/lib build/bdist.*
	$(PIP) install --quiet --no-deps --target $(CHECKED) .

quality: $(VENV)/.test checked  ## Types (mypy) and import layers (import-linter)
	cd $(CHECKED) && ../../$(BIN)/python -m mypy --config-file ../../setup.cfg -p hf_fairness
	cd $(CHECKED) && PYTHONPATH=. ../../$(BIN)/lint-imports --config ../../setup.cfg --no-cache

clean:  ## Remove the virtual environment and everything built
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
