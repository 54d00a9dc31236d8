# Every target makes .venv when it is missing, and installs again when the requirements have changed.
# `make test TORCH=2.14.1` does so with another torch, in an environment of its own; torch_xla ends at 2.9.
ifdef TORCH
VENV := .venv-torch-$(TORCH)
CONSTRAINTS := $(VENV)/constraints.txt
EXTRAS := test,dev
else
VENV := .venv
CONSTRAINTS := constraints.txt
EXTRAS := xla,test,dev
endif
PYTHON := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint clean

help:  ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(INSTALLED)  ## train on the sample in data/, offline, and predict one of its images
	$(PYTHON) -m app.train data/
	$(PYTHON) -m app.predict model.pkl data/valid/3/digit_0003.png

test: $(INSTALLED)  ## run the tests, without those marked slow
	$(PYTHON) -m pytest -m "not slow"

test-all: $(INSTALLED)  ## run every test
	$(PYTHON) -m pytest

lint: $(INSTALLED)  ## check style and format
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

clean:  ## remove .venv and caches; runs/ and model.pkl are yours and stay
	rm -rf $(VENV) .pytest_cache .ruff_cache build *.egg-info
	find app data models callbacks tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(INSTALLED): setup.cfg pyproject.toml constraints.txt
	test -x $(PYTHON) || python3 -m venv $(VENV)
ifdef TORCH
	(grep -v ^torch constraints.txt; echo "torch==$(TORCH)") > $(CONSTRAINTS)
endif
	$(PYTHON) -m pip install --constraint $(CONSTRAINTS) --editable ".[$(EXTRAS)]"
	touch $@
