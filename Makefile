# Mortar's front door. After a clone, `make demo` and `make test` are the only commands needed:
# each brings what is missing (scripts/setup.sh) and does again only what has changed.
# Everything is made by CMake into build/PRESET; this file only names the steps.
SHELL := bash
.DEFAULT_GOAL := help

# PYTHON=/path/to/python3 chooses the interpreter behind .venv; the default is the first one of
# version 3.10 or later that has headers and venv.
export PYTHON
# A folder of recordings and golden files that is no part of the checkout. Tests that need it are
# skipped, by name, where there is none.
MORTAR_SHARED ?= $(abspath $(wildcard ../shared))
ifneq ($(MORTAR_SHARED),)
export MORTAR_SHARED
endif

.PHONY: help build demo test quick lint format fuzz bench bench-full test-servers clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build libmortar, the examples and kiln-canned, optimised, in build/release
	@scripts/setup.sh build
	@scripts/build.sh release

demo: ## Start a local warehouse and put three questions to it
	@scripts/setup.sh demo
	@scripts/build.sh release
	@scripts/setup.sh install
	@scripts/demo.sh

test: ## Run every check and test there is (all builds, sanitizers, fuzzers, Python)
	@scripts/test.sh all

quick: ## Build once with gcc, then run the C and the Python tests
	@scripts/test.sh quick

lint: ## Run the scripts that hold the rules of the code
	@scripts/setup.sh test
	@scripts/lint.sh

format: ## Lay out every C file by .clang-format
	@scripts/setup.sh test
	@scripts/check_format.sh --fix

FUZZ_SECONDS ?= 60
fuzz: ## Run each fuzzer for FUZZ_SECONDS (60)
	@scripts/setup.sh test
	@scripts/build.sh fuzz fuzz/all
	@scripts/fuzz.sh $(FUZZ_SECONDS)

bench: ## Measure beside the other clients; at most 10 minutes
	@scripts/setup.sh bench
	@scripts/build.sh release
	@scripts/setup.sh install
	@.venv/bin/python bench/run.py $(BENCH_ARGS)

bench-full: ## The same with all rows and more rounds; half an hour
	@$(MAKE) --no-print-directory bench BENCH_ARGS="--full $(BENCH_ARGS)"

test-servers: ## Test against real servers of Spark and Hive, over every transport (brings 1.1 GB)
	@scripts/setup.sh test
	@scripts/setup.sh install
	@scripts/test_servers.sh $(SERVERS)

clean: ## Remove everything that was built, and .venv
	rm -rf build dist .venv
