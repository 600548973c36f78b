# gibbsite: `make demo` and `make test` do everything from a fresh Debian machine; `make help` lists the rest.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
BUILD ?= build/release
CMAKE_FLAGS ?=

.PHONY: help deps build demo test check docs tidy check-sanitizers check-python check-r wheel wheel-portable deb check-package check-container dist format format-check fuzz check-faults bench bench-peers bench-sampling check-posterior check-ptx gpu-prefix gpu-check gpu-bench clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 16

deps: ## install the Debian packages that are missing
	@scripts/install-deps

build: deps ## build a release in build/release
	@scripts/build release

demo: deps ## the main job on data/berkeley.csv: plan, fit, predict, evaluate, verify
	@scripts/build program gibbsite_cli
	@scripts/demo build/program/bin/gibbsite

docs: ## the documentation as a site in build/docs; no dead link
	@scripts/docs

tidy: deps ## clang-tidy over the library and the program
	@scripts/tidy

test: build ## build and run every test
	@cd $(BUILD) && ctest --output-on-failure --parallel $$(($(JOBS) + 1)) # some wait for others

check-sanitizers: deps ## the suite under both sanitizers, and six seconds of each fuzzer
	@scripts/check-sanitizers

check-python: build ## build the Python wheel, install it into an empty environment, run its tests
	@scripts/check-python $(BUILD)

check-r: build ## build and check the R package, about a minute
	@scripts/check-r $(BUILD)

wheel: deps ## a self-contained Python wheel in build/dist; PYTHON=python3.12 makes one for all later versions
	@scripts/wheel

wheel-portable: deps ## the same wheel for glibc 2.31 and later, made on Debian 12
	@scripts/wheel --portable

deb: deps ## Debian packages of the program and the library in build/dist
	@scripts/deb

check-package: ## as root, about 2 minutes: what build/dist holds, installed where nothing is
	@scripts/check-package build/dist/*.whl build/dist/*.deb

check-container: ## as root, about 1 minute: the steps of examples/container, of the packages in build/dist
	@scripts/check-container build/dist

dist: deps ## a release in build/dist, signed by KEY=FILE of OpenSSH (RELEASING.md)
	@scripts/dist "$(KEY)"

format: ## clang-format everything
	@scripts/format

format-check: deps ## fail when a file is not formatted
	@scripts/format --check

fuzz: deps ## fuzz every reader, 10 minutes each; FUZZ_SECONDS says otherwise
	@scripts/fuzz $(FUZZ_SECONDS)

check-faults: build ## 300 kills, full disks and closed folders, about 10 minutes
	@scripts/check-faults $(BUILD)/bin/gibbsite

bench: build ## run the benchmarks, about 20 minutes; results under bench/results/local
	@scripts/bench $(BUILD)

bench-peers: ## the libraries that bench compares with, in a virtual environment (1.1 GB)
	@scripts/bench-peers

bench-sampling: build ## posterior draws beside NUTS of NumPyro, BlackJAX, Stan and nutpie, about an hour
	@experiments/bench-sampling $(BUILD)/bin/gibbsite

check-posterior: build ## `sample` and long runs of NUTS: one posterior?
	@experiments/check-posterior $(BUILD)/bin/gibbsite

check-ptx: build ## the cuda backend's suite and fits on the PTX of the kernels, without a GPU, about 20 minutes
	@scripts/build release check_ptx_programs
	@scripts/check-ptx $(BUILD)

gpu-prefix: deps ## dependencies in one folder, for a machine with a GPU and no network
	@scripts/gpu-prefix

gpu-check: ## on a machine with a GPU, under 8 minutes: tests, compute-sanitizer, errors, a fit
	@scripts/gpu-check

gpu-bench: ## on a machine with a GPU, under 8 minutes: every design beside the card's roofs
	@scripts/gpu-bench

clean: ## remove every build
	rm -rf build
