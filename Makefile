# What people do in a checkout. `make fuzz SECONDS=3600` compares with the installed tools for an hour.
SECONDS ?= 600
SEED ?= $(shell date +%s)

.PHONY: test check fuzz docs vectors

test:
	python -m pytest -q -n 2

check:
	ruff check .
	ruff format --check .
	mypy

fuzz:
	rageval conformance --fuzz $(SECONDS) --seed $(SEED)

docs:
	sphinx-build -W docs site

vectors:
	python tests/golden_vectors.py
