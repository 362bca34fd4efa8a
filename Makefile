# Every command a developer needs. The environment of the caller passes through: AMQP_URL=... make run
PYTHON := .venv/bin/python
UV ?= uv
# Each with services of its own; most tests wait more than they compute
TEST_PROCESSES ?= 3
LOCK := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header

# $(call check,NAME,COMMAND): run a command, and say which one it was if it fails.
check = @printf '== %s\n' '$(1)'; $(2) || { printf '\n%s failed. Again, alone: %s\n' '$(1)' '$(2)' >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help run demo test lint types lock docs bench-sync bench-ingest bench-ledger incident fuzz chaos clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

run: ## set up this machine, start everything, show a stream of events, serve until Ctrl-C
	@bash dev/setup.sh
	@$(PYTHON) -m dev.demo --serve

demo: ## the same, ending by itself; the last line is one JSON object
	@bash dev/setup.sh
	@$(PYTHON) -m dev.demo

test: ## set up this machine, then lint, types and the whole test suite
	@bash dev/setup.sh test
	@$(MAKE) --no-print-directory lint types
	$(call check,pytest,$(PYTHON) -m pytest -n $(TEST_PROCESSES) --dist worksteal)

lint: ## style and import rules
	@bash dev/setup.sh python
	$(call check,ruff check,.venv/bin/ruff check)
	$(call check,ruff format,.venv/bin/ruff format --check)
	$(call check,import rules,.venv/bin/lint-imports)

types: ## strict types
	@bash dev/setup.sh python
	$(call check,mypy,.venv/bin/mypy)

lock: ## write exact versions and hashes to requirements*.txt (needs uv; FLAGS=--upgrade takes newer ones)
	@command -v $(UV) >/dev/null || { echo 'make lock needs uv: pipx install uv, or make lock UV=/path/to/uv' >&2; exit 1; }
	@$(LOCK) $(FLAGS) pyproject.toml --output-file requirements.txt
	@$(LOCK) $(FLAGS) --group dev pyproject.toml --output-file requirements-dev.txt

docs: ## write into docs/providers.md what the registry of providers says
	@bash dev/setup.sh python
	@$(PYTHON) -m dev.provider_docs

bench-sync: ## events applied per second, beside peers
	@bash dev/setup.sh
	@$(PYTHON) -m bench.sync

bench-ingest: ## webhook requests per second, beside peers
	@bash dev/setup.sh
	@$(PYTHON) -m bench.ingest

bench-ledger: ## what the delivery ledger costs, on SQLite and on PostgreSQL
	@bash dev/setup.sh test
	@$(PYTHON) -m bench.ledger

incident: ## a queue redelivers batches that the provider had accepted; the last line says who got what
	@bash dev/setup.sh
	@$(PYTHON) -m bench.incident

fuzz: ## 100,000 hostile webhook bodies at the endpoint; the last line says what crashed or was wrongly removed
	@bash dev/setup.sh python
	@$(PYTHON) -m bench.fuzz

chaos: ## 96,000 sends while everything is killed and restarted, on SQLite and on PostgreSQL (15 minutes)
	@bash dev/setup.sh test
	@$(PYTHON) -m bench.chaos

clean: ## remove what these commands made: environments, caches, the data of `make run`
	rm -rf .venv .venv-bench .mailward build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
