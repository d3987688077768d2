# make run    the app on http://localhost:8501
# make test   all tests, those in a browser and of the hand finder included
# make numeric   the numeric tests again, under several instruction sets and numbers of threads
# make mutants   changes the product as tests/mutants.toml lists it, one change at a time, and expects a test to fail at each
# make hands  the models that find hands in films and before the camera (about 60 MB are downloaded once)
# make words  the model of sentences for Words (83 MB are downloaded once, 45 kept)
# make sight  the network of Any photograph (90 MB are downloaded once, 49 kept)
# make writer  the network that writes, for Words (93 MB are downloaded once, 154 kept)
# make lint   ruff and mypy
# make check  lint, and the tests of one page or module without a browser: make check PAGE=permutation
# make audit  known weaknesses of the pinned packages, by pip-audit
# make site   the view to click, without a server, into site/ (wants words, sight and writer)
# make messages   take new strings into the catalogues of assets/locale

PYTHON ?= python3
PORT ?= 8501
ADDRESS ?= localhost
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

# Compiled modules are kept, whatever the caller's environment says: every process that a test starts would compile torch again.
export PYTHONDONTWRITEBYTECODE :=
# glibc gives each thread a heap of its own and returns little of it: with two, 800 visits end at 665 MiB instead of up to 933.
export MALLOC_ARENA_MAX := 2
# numpy's products on one thread, as torch's are: its threads wait for each other in a loop, and the maps of /see took 5.3 s of processor for .3.
export OPENBLAS_NUM_THREADS := 1

.PHONY: run test numeric mutants hands words sight writer lint check audit site messages
.DEFAULT_GOAL := run

run: $(VENV)/.installed
	@$(MAKE) --no-print-directory hands || echo 'The models that find hands could not be set up: the rest of the app works without them.'
	@$(MAKE) --no-print-directory words || echo 'The model of sentences could not be set up: Words shows its three bundled sentences.'
	@$(MAKE) --no-print-directory sight || echo 'The network that sees anything could not be set up: the rest of the app works without it.'
	@$(MAKE) --no-print-directory writer || echo 'The network that writes could not be set up: Words reads only.'
	$(BIN)/streamlit run streamlit_app.py --server.port $(PORT) --server.address $(ADDRESS)

# Three processes on two cores: the one that has the browser waits for it half of the time.
test: $(VENV)/.installed-dev $(VENV)/.hands $(VENV)/.words $(VENV)/.sight $(VENV)/.writer
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(or $(ARGS),--numprocesses 3)

# The tests as `make test` runs them take the processor's best instructions and one thread; idle threads leave the cores to others.
# torch takes what it is told: the second line needs AVX2, which x86 processors have had since 2013 (on ARM it changes nothing).
NUMERIC = OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -m numeric -q --numprocesses 2 --dist loadfile --timeout 600 $(ARGS)

numeric: $(VENV)/.installed-dev
	ATEN_CPU_CAPABILITY=default MKL_ENABLE_INSTRUCTIONS=SSE4_2 OMP_NUM_THREADS=1 $(NUMERIC) $(addprefix tests/core/,nn models explain)
	ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 OMP_NUM_THREADS=2 $(NUMERIC) $(addprefix tests/core/,nn models)

mutants: $(VENV)/.installed-dev
	$(BIN)/python -m scripts.mutate $(ARGS)

hands: $(VENV)/.hands

$(VENV)/.hands: core/signs/hands/model_files.py | $(VENV)/.installed
	$(PIP) $$($(BIN)/python scripts/pins.py hands)
	$(BIN)/python -m core setup hands
	@touch $@

words: $(VENV)/.words

$(VENV)/.words: core/words/model_files.py | $(VENV)/.installed
	$(BIN)/python -m core setup words
	@touch $@

sight: $(VENV)/.sight

$(VENV)/.sight: core/vision/sight_files.py | $(VENV)/.installed
	$(BIN)/python -m core setup sight
	@touch $@

writer: $(VENV)/.writer

$(VENV)/.writer: core/words/writer_files.py | $(VENV)/.installed
	$(PIP) $$($(BIN)/python scripts/pins.py writer)
	$(BIN)/python -m core setup writer
	@touch $@

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

check: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/test_architecture.py \
		$(if $(PAGE),$$(find tests -name 'test_*$(PAGE)*.py' -not -path 'tests/browser/*')) $(ARGS)

audit: | $(VENV)/bin/python
	$(PIP) --target $(VENV)/audit pip-audit==2.10.1
	PYTHONPATH=$(VENV)/audit $(BIN)/python -m pip_audit --require-hashes --disable-pip --progress-spinner off --timeout 5 \
		-r requirements.lock -r requirements-cuda.lock && \
		echo "asked of $$(cat requirements.lock requirements-cuda.lock | grep -cE '^[A-Za-z0-9_.-]+==') pins of both lists"

site: $(VENV)/.words $(VENV)/.sight $(VENV)/.writer
	$(BIN)/python -m scripts.site

REFUSALS = $(shell $(BIN)/python scripts/refusals.py)

messages: $(VENV)/.installed
	$(BIN)/pybabel -q extract --mapping babel.cfg --keywords N_ --keywords compose $(REFUSALS:%=--keywords %) --no-location --sort-output --output .messages.pot .
	$(BIN)/pybabel -q update --input-file .messages.pot --output-dir assets/locale --width 120 \
		--no-fuzzy-matching --ignore-obsolete --omit-header

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements.txt pyproject.toml | $(VENV)/bin/python
	$(PIP) -r requirements.txt $$($(BIN)/python scripts/pins.py hands writer sign-in dev)
	@touch $(VENV)/.installed $@
