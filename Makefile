# `make run` and `make test` do all the set-up they need, and may be interrupted and run again.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test check models environment links limits stubs lock bench

BIN := .venv/bin
export HEADWORKS_MODELS__STORE ?= $(CURDIR)/.headworks/models
export PATH := $(CURDIR)/$(BIN):$(PATH)
PACKAGES := v1 intake policy graphql server

help: ## Say what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: models ## Set up, start the gateway on its embedded defaults, send it the demo turn
	@headworks demo --serve

test: models ## Set up if needed and run every test
	@python -m pytest

check: environment links ## Style, types, contract and import rules
	@echo "==> ruff"; ruff check .; ruff format --check .
	@echo "==> mypy"; MYPYPATH=build/typing mypy $(PACKAGES:%=-p headworks.%)
	@echo "==> buf"; buf lint; buf breaking --against protos/released.binpb
	@echo "==> stubs"; buf generate -o build/generated; diff -r -x '*.proto' -x '__pycache__' -x '__init__.py' -x 'py.typed' protos/headworks build/generated/protos/headworks
	@echo "==> import rules"; python -m pytest --quiet tests/test_architecture.py

models: environment ## Build the models into the store
	@headworks models pull --store "$$HEADWORKS_MODELS__STORE"

environment: ## Make .venv from the lock
	@requirements/install.sh

links: # A tree of links in which mypy finds the folders under their import names
	@mkdir -p build/typing/headworks
	@for package in intake policy graphql server; do ln -sfn ../../../$$package build/typing/headworks/$$package; done
	@ln -sfn ../../../protos/headworks/v1 build/typing/headworks/v1

limits: environment ## Make docs/limits.md anew from the settings
	@python docs/limits.py > docs/limits.md

stubs: environment ## Generate the stubs from the protos
	@buf generate

lock: ## Resolve the locks anew (needs uv)
	@requirements/lock.sh

bench: models ## Print every benchmark's table
	@for file in steady overload token_cost intake image_model; do python -m bench.$$file; done
