# What can be done here; `make help` prints it. Everything below sets itself up in .venv first.

PYTHON ?= python3
VENV := .venv/bin/python
# Another Python that has everything already, e.g. on a GPU machine without network: make gpu-test RUN=python3
RUN ?= $(VENV)
# Tests run in three processes, even on two processors: many of them wait for a browser or a server. Each needs about a gigabyte.
JOBS ?= 3
# Hundreds of processes import torch: where its modules may not be kept compiled, each of them takes 2.5 s longer.
unexport PYTHONDONTWRITEBYTECODE
ROOT_FLAG := $(if $(filter 0,$(shell id -u)),--allow-root)

.DEFAULT_GOAL := help
.PHONY: help setup lab ready slides workshop test test-all exhaustive browser companions sync sync-check test-matrix mutants gpu-test speed gradescope nbgrader site release lint lock

help:  ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

lab: setup  ## Set up and open JupyterLab on the first notebook
	.venv/bin/jupyter lab $(ROOT_FLAG) --notebook-dir=. notebooks/00_start_here.ipynb

ready: setup  ## Set up and say whether this machine is ready for a workshop
	$(RUN) -m checker doctor --workshop

slides: setup  ## Make slides of the notebooks, with films that play: .slides/html (NOTEBOOKS="01_row_softmax …" for some)
	$(RUN) -m classroom slides $(NOTEBOOKS)

workshop: setup  ## Rehearse alone: a board with a class that plays itself (ARGS="--learners 40 --speed 18 --minutes 90")
	$(RUN) -m classroom rehearse $(ARGS)

test: setup browser  ## Set up and run the tests, a real browser included: about 9 minutes on two fast processors, 16 on slow ones
	$(RUN) -m pytest -n $(JOBS) --dist worksteal --durations 20 --durations-min 5 $(ARGS)

test-all: test companions test-matrix exhaustive  ## Run everything, the hours of exhaustive tests included (weekly, and before a release)

exhaustive: setup  ## Run the exhaustive tests alone; PART=2/6 is the second of six parts, on another machine or day
	PART=$(PART) $(RUN) -m pytest tests/exhaustive -n $(JOBS) --dist worksteal --timeout 7200 $(ARGS)
	$(RUN) -m tools.mutants guarded right

sync: setup  ## Make puzzles/ from solutions/, notebooks/ from notebooks/src/ (REPOSITORY=https://… for Colab)
	$(RUN) tools/sync.py $(if $(REPOSITORY),--repository $(REPOSITORY))

sync-check: setup  ## Fail where puzzles/ or notebooks/ are not what `make sync` makes
	$(RUN) tools/sync.py --check

test-matrix: setup  ## Run the simulator's tests on the oldest and the newest Triton and NumPy
	JOBS=$(JOBS) tools/test-matrix

mutants: setup  ## Judge every wrong kernel and mutant, which takes hours, and write docs/mutants.md (ARGS="--puzzle NAME --sample 5" for a look)
	$(RUN) -m tools.mutants $(ARGS)

gpu-test: setup  ## Run what needs a GPU, and write reports/gpu-<device>.json
	$(RUN) -m tools.gpu_report -n $(JOBS) --dist worksteal

speed: setup  ## Time the fast kernels beside libraries and limits, on a GPU: reports/speed-<device>.json, docs/speed.md (ARGS="--quick")
	$(RUN) -m bench.speed $(ARGS)

gradescope: setup  ## Make the autograder for Gradescope: PUZZLES="row_softmax chunked_softmax"
	$(RUN) tools/gradescope.py $(PUZZLES) $(ARGS)

nbgrader: setup  ## Make a course for nbgrader: ASSIGNMENT=softmax PUZZLES="row_softmax chunked_softmax"
	$(RUN) tools/nbgrader_course.py $(PUZZLES) $(if $(ASSIGNMENT),--assignment $(ASSIGNMENT)) $(ARGS)

site: setup  ## Build the site for people who want to look before they install: .site/html (the first time some minutes)
	$(RUN) tools/site.py

release: setup  ## Build dist/ and check it in an empty environment; publishes nothing (docs/releasing.md; ARGS=--tag tags the commit)
	$(RUN) tools/release.py $(ARGS)

lint: setup  ## Check formatting, style, types and spelling
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(RUN) -m codespell_lib

lock: setup  ## Write constraints.txt anew from pyproject.toml
	$(RUN) tools/lock.py

setup:
ifeq ($(RUN),$(VENV))
	@command -v "$(PYTHON)" > /dev/null || { \
		echo "There is no \`$(PYTHON)\` here. Debian, Ubuntu: sudo apt install python3 python3-venv" >&2; \
		echo "A Python that lies somewhere else: make lab PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" tools/setup_venv.py
endif

browser: setup
	@$(RUN) tools/browser.py

companions: setup
	@$(RUN) tools/companions.py
