# What people do in a checkout. `make fuzz-tools SECONDS=3600` compares with the installed tools for an hour.
SECONDS ?= 600
ITEMS ?= 2000
LIES ?= 60
READERS ?= $(notdir $(patsubst %/,%,$(wildcard tests/corpus/*/)))
SEED ?= $(shell date +%s)

PYTEST = python -m pytest -q -n 2

.PHONY: fuzz-files quick test check release-check two-readers machine faults fuzz fuzz-tools fuzz-readers hostile sanitize docs vectors

# For who mends a typo: a minute on two idle cores, with the packages of the extra `dev`.
quick:
	$(PYTEST) -m 'not slow'

test:
	$(PYTEST)

check:
	ruff check .
	ruff format --check .
	mypy

# What takes longer than CI may; before a release, and before work on what reads, writes or asks is called done.
release-check: check sanitize two-readers
	EXHAUSTIVE=1 python -m pytest -q -n 2
	RAGEVAL_KERNEL=0 python -m pytest -q -n 2
	$(PYTEST) -m faults
	$(MAKE) machine hostile fuzz-files
	$(MAKE) fuzz-readers SECONDS=330
	RAGEVAL_KERNEL=0 $(MAKE) fuzz-readers SECONDS=330

# Drawn and spoilt files through both readers, which must not be told apart.
two-readers:
	TWO_READERS=20000 python -m pytest -q -n 2 tests/files/test_two_readers.py

faults:
	$(PYTEST) -m faults

fuzz: fuzz-tools fuzz-readers fuzz-files

fuzz-tools:
	rageval conformance --fuzz $(SECONDS) --seed $(SEED)

# Led by coverage (pip install -e '.[fuzz]'); SECONDS in all, and a fault is left behind as a file.
fuzz-readers:
	for reader in $(READERS); do \
		python tests/fuzz_readers.py $$reader -max_total_time=$$(($(SECONDS) / $(words $(READERS)))) -seed=$(SEED) -verbosity=0 || exit 1; \
	done

# Every kind of hostile server, alone and mixed into ITEMS right answers.
hostile:
	PYTHONPATH=tests OPENAI_API_KEY=none-at-all ANTHROPIC_API_KEY=none-at-all python tests/hostile_servers.py $(ITEMS)

# The compiled part, built to stop at the first wrong access or undefined step: its tests, and a minute
# of lies and one of changed bytes.
SANITIZED = build/sanitize
INCLUDE = $(shell python -c "import sysconfig; print(sysconfig.get_paths()['include'])")
sanitize:
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED)
	cp -r rageval tests examples pyproject.toml $(SANITIZED)
	rm -f $(SANITIZED)/rageval/_kernel.*.so
	$(CC) -std=c11 -g -O1 -Wall -Wextra -Werror -fPIC -shared -ffp-contract=off -fno-omit-frame-pointer \
	    -fsanitize=address,undefined -fno-sanitize-recover=all -I$(INCLUDE) \
	    rageval/_kernel.c -o $(SANITIZED)/rageval/_kernel.abi3.so
	cd $(SANITIZED) && export LD_PRELOAD="$$($(CC) -print-file-name=libasan.so)" PYTHONMALLOC=malloc \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 && \
	    python -m rageval --version && \
	    python -m pytest -q -p no:cacheprovider tests/test_kernel.py tests/test_kernel_reader.py && \
	    PYTHONPATH=. python tests/kernel_topics.py $(LIES) && PYTHONPATH=. python tests/kernel_files.py $(LIES)

docs:
	sphinx-build -W docs site

vectors:
	python tests/golden_vectors.py

machine:
	MACHINE_EXAMPLES=1000 MACHINE_STEPS=60 python -m pytest -q tests/judges/test_store_machine.py

# Later records of other types, odd names and bytes, over every command.
fuzz-files:
	FUZZ_FILES=3000 FUZZ_SEED=$(SEED) python -m pytest -q tests/cli/test_changed_files.py
