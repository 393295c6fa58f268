# What people do in a checkout: `make near FILE=rageval/files/trec.py` while a file is changed, `make test` before
# a commit. `make fuzz-tools SECONDS=3600` compares with the installed tools for an hour.
SECONDS ?= 600
ITEMS ?= 2000
LIES ?= 60
READERS ?= $(notdir $(patsubst %/,%,$(wildcard tests/corpus/*/)))
SEED ?= $(shell date +%s)

PYTEST = python -m pytest -q -n 2

.PHONY: near test all check release-check other-draws without-kernel nightly two-readers machine fuzz fuzz-release fuzz-tools fuzz-readers fuzz-files fuzz-types sizes hostile sanitize mutants docs vectors regenerate addresses growth

# What names the next file of a change that is half done, and the tests and examples of the folder of a file.
FOLDER = $(firstword $(subst /, ,$(patsubst rageval/%,%,$(patsubst tests/%,%,$(FILE)))))
near:
	$(PYTEST) tests/source/test_declared_words.py $(wildcard tests/$(FOLDER)) 'tests/docs/test_doctests.py::test_examples[$(FOLDER)]'

# What README says: a minute or so on two cores, with the packages of the extra `dev`.
test:
	$(PYTEST)

# What CI runs, with the packages of the extra `test`.
all:
	$(PYTEST) -m 'not nightly'

check:
	ruff check .
	ruff format --check .
	mypy
	python tests/prose.py

# What takes longer than CI may; before a release, and before work on what reads, writes or asks is called done.
# `make -k release-check` goes on after a piece that failed.
release-check: check sanitize two-readers other-draws without-kernel nightly machine hostile fuzz-files fuzz-types sizes fuzz-release addresses growth

# Processor time and memory of every command on an input and on twice as much; by itself, on an idle machine.
growth:
	python benchmarks/growth.py

# Whether the files of the data sets are still where they are said to be.
addresses:
	python tests/addresses.py

other-draws:
	HYPOTHESIS_PROFILE=nightly $(PYTEST) -m 'not nightly'

without-kernel:
	RAGEVAL_KERNEL=0 $(PYTEST) -m 'scoring and not nightly'

fuzz-release:
	$(MAKE) fuzz-readers SECONDS=330
	RAGEVAL_KERNEL=0 $(MAKE) fuzz-readers SECONDS=330

# Drawn and spoilt files through both readers, which must not be told apart.
two-readers:
	TWO_READERS=20000 python -m pytest -q -n 2 -m '' tests/files/test_two_readers.py

# Simulations, a fault at every step, every case of what the other tests take a sample of.
nightly:
	EXHAUSTIVE=1 $(PYTEST) -m nightly
	LABEL_KILLS=50 $(PYTEST) -m '' tests/pages/test_labels_survive.py

# Changes one operator or constant at a time, and asks whether README's tests that run the line notice: MUTANTS a
# folder. What asks models needs the SDKs, and is left out (pip install coverage).
MUTANTS ?= 60
mutants:
	python tests/mutation.py measures scoring statistics comparison files judges --sample $(MUTANTS) --near --without judges/models

fuzz: fuzz-tools fuzz-readers fuzz-files

fuzz-tools:
	python tests/peers/fuzz_peers.py $(SECONDS) --seed $(SEED)

# Led by coverage (pip install -e '.[fuzz]'); SECONDS in all, and a fault is left behind as a file.
fuzz-readers:
	for reader in $(READERS); do \
		python tests/fuzz_readers.py $$reader -max_total_time=$$(($(SECONDS) / $(words $(READERS)) + 1)) -seed=$(SEED) -verbosity=0 || exit 1; \
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
	    python -m pytest -q -m '' -p no:cacheprovider tests/test_kernel.py tests/test_kernel_reader.py tests/test_kernel_apart.py tests/scoring/test_compiled_dicts.py && \
	    PYTHONPATH=. python tests/kernel_topics.py $(LIES) && PYTHONPATH=. python tests/kernel_files.py $(LIES)

docs:
	sphinx-build -W docs site

# Writes anew what is generated and kept: what commands print, and the page of measures.
regenerate:
	PYTHONPATH=tests python tests/outputs.py
	PYTHONPATH=tests python tests/comparison/test_golden_comparison.py
	REWRITE_GOLDEN=1 python -m pytest -q tests/checking/test_validate.py tests/checking/test_validate_run.py tests/gate/test_gate_outputs.py
	python docs/generate.py

vectors:
	python tests/golden_vectors.py

machine:
	MACHINE_EXAMPLES=1000 MACHINE_STEPS=60 python -m pytest -q -m '' tests/judges/test_store_machine.py

# Later records of other types, odd names and bytes, over every command.
fuzz-files:
	FUZZ_FILES=3000 FUZZ_SEED=$(SEED) python -m pytest -q -m '' tests/cli/test_changed_files.py

# Other types in one field of a JSON that is read, over every command, ledger, store, bundle and server.
fuzz-types:
	for seed in $(SEED) $$(($(SEED) + 1)); do \
		FUZZ_TYPES=5000 FUZZ_SEED=$$seed python -m pytest -q -n 2 -m '' tests/cli/test_changed_types.py || exit 1; \
	done

# Every size that an archive or a packed file states, and the modes of all that commands keep.
sizes:
	STATED_SIZES=1 python -m pytest -q -n 2 -m '' tests/laws/test_stated_sizes.py tests/laws/test_modes.py
