# The two commands of the README: `make demo` and `make test`. The rest is for those who change Parsity.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint types check soak fetch-test sanitize clean

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

# In a copy of the sources, so that the kernels in use stay as they are.
sanitize: $(READY)      ## the native kernels' tests under AddressSanitizer and UBSan (best instruction set; needs gcc)
	rm -rf build/sanitized && mkdir -p build/sanitized && cp -r src tests setup.py pyproject.toml README.md build/sanitized
	cd build/sanitized && find src -path '*native/source/*.c' | xargs -P 2 -I{} sh -c \
	  'gcc -std=gnu11 -O1 -g -ffp-contract=fast -Wno-psabi -fPIC -fsanitize=address,undefined -fno-sanitize=alignment \
	   -fno-sanitize-recover=undefined $(VECTORS) -c {} -o $$(basename {} .c).o'
	cd build/sanitized && gcc -shared -fsanitize=address,undefined *.o -o \
	  $$(ls -d src/parsity/engines/native/_*.so | grep $(INSTRUCTIONS))
	cd build/sanitized && LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
	  PYTHONPATH=$(CURDIR)/build/sanitized/src $(abspath $(BIN))/python -m pytest -n0 -q \
	  -k "not instruction_set and not small" tests/engines/test_native.py

# The library to check is the one this machine would load: avx512, avx2 or baseline (then without VECTORS).
INSTRUCTIONS ?= avx512
VECTORS ?= -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512

NATIVE := setup.py $(wildcard src/parsity/engines/native/source/*)

$(READY): pyproject.toml constraints.txt $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) demo build dist src/*.egg-info
