# Tegula, for newcomers. Each of these sets up what it needs: system packages by apt where
# it may, a virtual environment in .venv, the compiled core. The first run takes minutes,
# the next ones seconds.
#
#   make demo      a few kernels on this machine, beside NumPy
#   make quick     golden tests, C tests and 20 kernels: under a minute on two cores
#   make test      the tests of CI (TORCH=1, JAX=1: with these too; ARGS="-k dot" goes to pytest)
#   make test-all  the same, and each case on each target: what CI draws a part of
#   make build     .venv/bin/python can import tegula; edits in python/ are live
#   make wheel     .whl/tegula-*.whl, one for every Python >= 3.11
#   make tirc      build/tirc, the compiler without Python: .tir in, passes, .tir out
#   make ctest     build and run the C unit tests
#   make opsuite   every operation x type on CPU, interpreter and emulator; counts differences
#                  and races
#   make ptxsim-test  kernels as PTX, run by an interpreter of it: no GPU needed
#                  (ARGS="--full": every operation as well)
#   make attack    edits of all that kernels read, hostile files in the cache, killed writers,
#                  processes and signals; then, until SECONDS=600 are over, odd Python compiled
#                  and random kernels on all targets: failures lie in build/attack
#   make accuracy  how far functions are off, in last places: all float32 on a GPU, else a part
#   make against-triton  the same kernels by Triton and by Tegula, bit by bit (TRITON=python
#                  that has it; ARGS="--match ^cast")
#   make sanitize  every 8th test with ASan and UBSan in the core, another eighth for another
#                  commit (SAMPLE=1: all; SANITIZE=thread: TSan)
#   make bench     the ops beside torch and Triton where installed (ARGS="softmax --html b.html")
#   make bench-kernels  kernels by hand beside NumPy, PyTorch and Triton (benchmarks/)
#   make docs      build/docs/html, the site (ARGS=--no-run: without running the notebooks)
#   make lint      clang-format, ruff, mypy, what it knows of kernels, csrc/tools/lint.py
#   make replay    kernels whose PTX differs from another commit's (BASE=main)
#   make sz        lines of code per folder beside their caps
#   make unused    functions that nothing of the extension reaches
#   make format    what clang-format and ruff would have written
#   make gen       files made from tables: _core.pyi, the op reference
#   make commands  build/compile_commands.json, for clangd and other readers of C
#   make clean     away with build/, .venv/, .whl/ and the compiled core
#
# PYTHON=python3.12 chooses a Python, VENV=dir another environment, TEGULA_LLVM_CONFIG an
# LLVM. How the C is built is csrc/Makefile.

.PHONY: help demo quick test test-all attack opsuite sanitize build wheel tirc ctest bench bench-kernels docs lint format gen clean check \
	replay sz unused ptxsim ptxsim-test against-triton accuracy commands
MAKEFLAGS += --no-print-directory
# Two of these at once would compile the same objects twice; csrc/Makefile is parallel.
.NOTPARALLEL:
.DELETE_ON_ERROR:

VENV ?= .venv
VPY := $(VENV)/bin/python
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CORE = $(MAKE) -f csrc/Makefile -j$(JOBS) PYTHON=$(abspath $(VPY))

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

# --- set-up --------------------------------------------------------------------------
# The list of Python packages stands in pyproject.toml and nowhere else.
PIP = $(VPY) -m pip install -q --disable-pip-version-check --retries 10 --timeout 60
DEPS = $(VPY) -c 'import sys, tomllib; t = tomllib.load(open("pyproject.toml", "rb")); \
	groups = dict(t["project"]["optional-dependencies"], build=t["build-system"]["requires"]); \
	print("\n".join(r for g in sys.argv[1:] for r in groups[g]))'

build/system: csrc/tools/system.sh
	@sh csrc/tools/system.sh $@

$(VPY): | build/system
	@echo "  VENV  $(VENV)"
	@"$$(cat build/system)" -m venv $(VENV)

# A .pth file: the sources are what Python imports, so an edit needs no install.
$(VENV)/.with-build: pyproject.toml | $(VPY)
	@echo "  PIP   build"
	@$(DEPS) build > $@.txt && $(PIP) -r $@.txt
	@$(VPY) -c 'import sysconfig, pathlib; \
		pathlib.Path(sysconfig.get_paths()["purelib"], "tegula-dev.pth").write_text("$(CURDIR)/python\n")'
	@touch $@

$(VENV)/.with-%: pyproject.toml | $(VENV)/.with-build
	@echo "  PIP   $*"
	@$(DEPS) $* > $@.txt && $(PIP) -r $@.txt
	@touch $@

# --- build ---------------------------------------------------------------------------
build: $(VENV)/.with-build
	@$(CORE) BUILD=release core

check: $(VENV)/.with-build
	@$(CORE) BUILD=check core

tirc: $(VENV)/.with-build
	@$(CORE) tirc

ptxsim: $(VENV)/.with-build
	@$(CORE) ptxsim

ctest: $(VENV)/.with-build
	@$(CORE) ctest
	@build/ctest

wheel: $(VENV)/.with-build
	@$(PIP) build
	@rm -rf .whl/tegula-*.whl
	@$(VPY) -m build -q --wheel --outdir .whl .
	@$(VPY) csrc/tools/check_wheel.py .whl/tegula-*.whl

# --- use -----------------------------------------------------------------------------
demo: $(VENV)/.with-bench build
	@$(VPY) -m tegula.demo
	@echo "next: . $(VENV)/bin/activate && python -m tegula tutorial"

# What is run before each commit; tests/quick.txt is the list of kernels, each on two targets.
quick: $(VENV)/.with-test check tirc ctest
	@$(VPY) -m pytest -q -n $(JOBS) tests/test_golden.py @tests/quick.txt $(ARGS)

# Tests run with asserts on, in the compiler and in what it checks of itself.
test: $(VENV)/.with-test $(if $(filter 1,$(TORCH)),$(VENV)/.with-torch) \
		$(if $(filter 1,$(JAX)),$(VENV)/.with-jax) check \
		ptxsim $(if $(wildcard csrc/tools/tirc.c),tirc) $(if $(wildcard tests/c/*.c),ctest)
	@$(VPY) -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-all:
	@$(MAKE) test ARGS="--full $(ARGS)"

ptxsim-test: $(VENV)/.with-test check ptxsim
	@$(VPY) -m pytest -q -n $(JOBS) tests/ptxsim tests/kernels tests/ops_suite tests/frontend \
		-k ptxsim $(ARGS)

ATTACKS = tests/runtime/test_edits.py tests/runtime/test_trees.py tests/runtime/test_out_of_memory.py $(wildcard tests/runtime/test_disk*.py tests/runtime/test_hostile*.py) \
	tests/frontend/test_hostile.py
SECONDS ?= 600
# Programs that no run before has seen.
attack: export TEGULA_SEED ?= $(shell date +%s)
attack: $(VENV)/.with-test check ptxsim tirc
	@end=$$(($$(date +%s) + $(SECONDS))); \
		timeout --preserve-status -s INT $(SECONDS) $(VPY) -m pytest -q -x -n $(JOBS) $(ATTACKS) $(ARGS); \
		s=$$?; [ $$s != 2 ] || { echo "stopped after $(SECONDS) s; no attack had succeeded"; exit 0; }; \
		[ $$s = 0 ] || exit $$s; \
		PYTHONPATH=python $(VPY) tests/props/attack.py --seconds $$((end - $$(date +%s))) \
			--cores $(JOBS) --out build/attack --seed $$TEGULA_SEED

accuracy: $(VENV)/.with-test build
	@PYTHONPATH=python $(VPY) tests/libdevice/measure.py $(ARGS)

against-triton: $(VENV)/.with-test check ptxsim
	@PYTHONPATH=python $(VPY) tests/against_triton/run.py $(if $(TRITON),--triton $(TRITON)) $(ARGS)

opsuite: $(VENV)/.with-test check
	@$(VPY) -m pytest -q -n $(JOBS) tests/ops_suite --full $(ARGS)

# A package of its own beside the objects: python/tegula keeps its core. Python leaks at
# exit by design; a sanitizer's library must be loaded before Python itself. OpenBLAS is
# not built for TSan, which takes what its threads do for races: one thread. What daemon
# threads compile at a process's end is joined by nobody, and children of a fork that have
# threads are what some tests are about. pytest leaves stderr alone: what UBSan says as it ends the
# process would stay in the file that pytest makes of it.
SANITIZE ?= address,undefined
SAMPLE ?= 8
SAN := build/sanitized
SAN_LIB = $(if $(findstring thread,$(SANITIZE)),libtsan.so,libasan.so)
# Tests of tirc alone, which is built without a sanitizer.
OF_TIRC := tests/test_golden.py tests/test_host.py tests/test_first_steps.py tests/test_make.py \
	$(patsubst %,tests/props/test_%.py,random_ir simt_ops pass_sequences ptx)
sanitize: $(VENV)/.with-test
	@rm -rf $(SAN) && mkdir -p $(SAN)/tegula
	@cd python && tar cf - --exclude='*.so' --exclude=__pycache__ tegula | tar xf - -C ../$(SAN)
	@TEGULA_SANITIZE=$(SANITIZE) $(CORE) OUT=$(SAN)/tegula/_core.abi3.so core
	@LD_PRELOAD="$$($${CC:-cc} -print-file-name=$(SAN_LIB)) $$($${CC:-cc} -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_thread_leaks=0:die_after_fork=0:suppressions=$(CURDIR)/csrc/tools/tsan.supp \
		UBSAN_OPTIONS=print_stacktrace=1 OPENBLAS_NUM_THREADS=1 \
		PYTHONPATH=$(SAN) PYTHONMALLOC=malloc \
		$(VPY) -m pytest -n 2 --dist worksteal --capture=sys -o pythonpath=$(SAN) --sample=$(SAMPLE) \
			$(addprefix --ignore=,$(OF_TIRC)) $(ARGS)

bench: $(VENV)/.with-bench build
	@$(VPY) -m tegula bench $(ARGS)

bench-kernels: $(VENV)/.with-bench build
	@$(VPY) benchmarks/run.py $(ARGS)

docs: $(VENV)/.with-test $(VENV)/.with-docs build
	@$(VPY) docs/build.py $(ARGS)

C_FILES = $$(git ls-files --cached --others --exclude-standard 'csrc/*.c' 'csrc/*.h' 'tests/*.c')
lint: $(VENV)/.with-test $(VENV)/.with-lint
	@$(CORE) WERROR=1 core tirc ctest ptxsim
	@bad=0; \
	$(VENV)/bin/clang-format --dry-run -Werror $(C_FILES) || { echo "clang-format: make format"; bad=1; }; \
	$(VENV)/bin/ruff check -q . || bad=1; \
	$(VENV)/bin/ruff format -q --check . || { echo "ruff: make format"; bad=1; }; \
	$(VENV)/bin/mypy || bad=1; \
	$(VPY) -m pytest -q tests/test_typing.py || bad=1; \
	$(VPY) csrc/tools/gen.py --check || bad=1; \
	$(VPY) csrc/tools/lint.py || bad=1; \
	exit $$bad

format: $(VENV)/.with-lint
	@$(VENV)/bin/clang-format -i $(C_FILES)
	@$(VENV)/bin/ruff check --fix-only -q .
	@$(VENV)/bin/ruff format -q .

BASE ?= HEAD~1
replay: check
	@$(VPY) csrc/tools/replay.py $(BASE) $(ARGS)

sz: $(VPY)
	@$(VPY) csrc/tools/sz.py

unused: $(VPY)
	@$(VPY) csrc/tools/unused.py

gen: check
	@$(VPY) csrc/tools/gen.py

commands: $(VENV)/.with-build
	@$(CORE) commands

clean:
	rm -rf build .venv .whl python/tegula/_core.abi3.so
