# Gossamer. A newcomer needs two commands: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
KILLS  ?= 20
PAGES  ?= 100000
HOSTS  ?= 120
SECONDS ?= 60
ADDRESSES ?= 10000000
SEEDS  ?= 1000
MUTANTS ?= 200
SEED   ?= 1
JOBS   ?= 3
ATTACK_SECONDS ?= 240
ROUNDS ?= 3
NODES  ?= 3
APT    := $(shell [ "$$(id -u)" = 0 ] && command -v apt-get)

.PHONY: demo test check unit services setup setup-dev setup-bench system setup-fuzz crash bench-cluster bench-crawl bench-quick bench-content bench-extract bench-frontier bench-search bench-search-speed bench-recrawl bench-memory attack simulate simulate-leases powerloss soak long-crawl addresses passage xss damage documents cluster mutants fuzz lock clean help

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1  /p' $(MAKEFILE_LIST) | awk '{n=$$1; $$1=""; printf "  make %-20s%s\n", n, $$0}'

demo: $(VENV)/base.done  ## crawl the bundled demonstration web, offline, and serve the search page meanwhile
	$(BIN)/gossamer demo

test: system $(VENV)/dev.done check unit  ## everything: style, types and tests

check: $(VENV)/dev.done  ## style and types
	$(BIN)/ruff check src tests bench fuzz tools
	$(BIN)/ruff format --check src tests bench fuzz tools
	$(BIN)/mypy

# A test that fails while others run and passes alone measures the machine. So failed tests are shown, and run once more
# one at a time; three further failures end the run. Tests of data loss are never run a second time.
unit: $(VENV)/dev.done services  ## only the tests, JOBS at a time; a failed test is run once more by itself
	$(BIN)/pytest -n $(JOBS) --dist loadfile || { [ $$? = 1 ] && ! grep -qE "tests/(crash/|simulation/|indexer/test_updates)" .pytest_cache/v/cache/lastfailed && echo "Failed tests once more, one at a time:" && $(BIN)/pytest --last-failed --maxfail=3; }

services: $(VENV)/dev.done  ## fetch and build the servers that the tests of services need (Java, Maven and Go; some minutes, once)
	$(BIN)/python -m tests.services

passage: $(VENV)/base.done  ## count the modules that one page passes in all processes, and those that `gossamer why` runs
	$(BIN)/python tools/passage.py

crash: $(VENV)/dev.done  ## kill a crawl KILLS times and check that nothing is lost (KILLS=200 for the long run)
	$(BIN)/python -m tests.crash --kills $(KILLS)

bench-crawl: $(VENV)/bench.done  ## pages per CPU-second, compared with Scrapy on the same pages (PAGES=, HOSTS=)
	$(BIN)/python -m bench.crawl --pages $(PAGES) --hosts $(HOSTS)

bench-quick: $(VENV)/bench.done  ## bench-crawl with 3,000 pages
	$(BIN)/python -m bench.crawl --pages 3000 --hosts $(HOSTS)

bench-frontier: $(VENV)/dev.done  ## the frontier with ADDRESSES URLs: bytes, writes, memory, CPU
	$(BIN)/python -m bench.frontier --addresses $(ADDRESSES)

bench-search: $(VENV)/dev.done  ## ranking: nDCG@10 on two public collections, compared with plain BM25
	$(BIN)/python -m bench.search

bench-search-speed: $(VENV)/dev.done  ## search under load over PAGES pages, during a crawl and a runaway query
	$(BIN)/python -m bench.search_load --pages $(PAGES) --rate 100 --seconds 60 --crawl 50 --runaway --keep bench/out/collection-$(PAGES)

bench-recrawl: $(VENV)/dev.done  ## revisits: the policies compared for a given budget, 100,000 pages, five seeds
	$(BIN)/python -m bench.recrawl

attack: $(VENV)/dev.done  ## a real crawl of hundreds of hostile sites and 20 honest ones (ATTACK_SECONDS=, ROUNDS=)
	$(BIN)/python -m tests.attack --seconds $(ATTACK_SECONDS) --rounds $(ROUNDS)

simulate: $(VENV)/dev.done  ## SEEDS whole crawls on a virtual clock, with injected faults
	$(BIN)/python -m tests.simulation --seeds $(SEEDS)

simulate-leases: $(VENV)/dev.done  ## SEEDS shared crawls on PostgreSQL, with frozen and killed crawlers and lost messages
	$(BIN)/python -m tests.simulation.leases --seeds $(SEEDS)

cluster: PAGES = 3000
cluster: system $(VENV)/dev.done  ## four real services, NODES nodes and the search page on this machine (PAGES=; EXIT=1: check and end; FAULT=)
	$(BIN)/python -m tests.cluster --nodes $(NODES) --pages $(PAGES) $(if $(EXIT),--exit) $(if $(FAULT),--fault $(FAULT))

powerloss: $(VENV)/dev.done  ## power cuts at every sync of a crawl of 300 pages and of its compaction
	POWERLOSS_STEP=1 $(BIN)/pytest tests/journey/test_power_loss.py -s --timeout=3600

soak: $(VENV)/dev.done  ## 72 virtual hours of a crawl with revisits: memory, tasks, open files (SOAK_HOURS=)
	$(BIN)/python -m tests.simulation.soak

long-crawl: $(VENV)/dev.done  ## 100,000 fetches from a demonstration web with traps, over 20 stops and kills
	$(BIN)/python -m tests.crash.long

addresses: $(VENV)/dev.done  ## canonical forms of 100,000 generated URLs
	ADDRESS_EXAMPLES=100000 $(BIN)/pytest tests/rules/test_canonical.py -k F_U2 --timeout=3600

damage: $(VENV)/dev.done  ## every kind of file, damaged in every way, with every command
	DAMAGE=all $(BIN)/pytest -s tests/damage --timeout=7200

documents: $(VENV)/dev.done  ## every hostile and damaged document, in the readers
	DOCUMENTS_STEP=1 $(BIN)/pytest tests/hostile/test_documents.py --timeout=3600

xss: $(VENV)/dev.done  ## every hostile text in every place of the web site, in Chromium, with its security policy and without
	XSS_STEP=1 $(BIN)/pytest tests/browser/test_xss.py --timeout=3600

mutants: $(VENV)/dev.done  ## make MUTANTS changes to the code, one at a time (SEED=); the tests must notice 95 %
	nice -n 15 $(BIN)/python -m tests.mutants --mutants $(MUTANTS) --seed $(SEED)

bench-memory: $(VENV)/dev.done  ## memory of the crawler while 120 hosts send 16 MiB pages, then 60 hosts 49 MiB sitemaps
	$(BIN)/python -m bench.memory --hosts 120 --mib 16
	$(BIN)/python -m bench.memory --hosts 60 --mib 49 --sitemaps

bench-extract: $(VENV)/bench.done  ## structured data, compared with pyRdfa3 and extruct on the same pages
	$(BIN)/python -m bench.extract

bench-cluster: PAGES = 20000
bench-cluster: system $(VENV)/dev.done  ## what a page costs on a cluster, beside the same crawl embedded (PAGES=)
	$(BIN)/python -m bench.cluster --pages $(PAGES)

bench-content: $(VENV)/bench.done  ## the content of real pages, compared with trafilatura, readability-lxml and resiliparse
	$(BIN)/python -m bench.content

fuzz: $(VENV)/fuzz.done  ## coverage-guided fuzzing of every extractor, SECONDS each
	$(BIN)/python -m fuzz --seconds $(SECONDS)

# System packages that tests need, installed when run as root. A test whose package is missing says so and is skipped.
system:
ifneq ($(APT),)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || { apt-get update -qq; apt-get install -y -qq chromium-headless-shell >/dev/null 2>&1 || apt-get install -y -qq chromium >/dev/null 2>&1; } || true
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || apt-get install -y -qq postgresql >/dev/null 2>&1 || true
	@command -v nginx >/dev/null || apt-get install -y -qq nginx-light >/dev/null 2>&1 || true
endif

$(VENV)/bin/python:
ifneq ($(APT),)
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq python3-venv; }
endif
	$(PYTHON) -m venv $(VENV)

$(VENV)/base.done: locks/base.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r locks/base.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/dev.done: locks/dev.txt $(VENV)/base.done
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r locks/dev.txt
	@touch $@

$(VENV)/bench.done: locks/bench.txt $(VENV)/dev.done
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r locks/bench.txt
	@touch $@

$(VENV)/fuzz.done: locks/fuzz.txt $(VENV)/dev.done
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r locks/fuzz.txt
	@touch $@

setup: $(VENV)/base.done
setup-dev: $(VENV)/dev.done
setup-bench: $(VENV)/bench.done
setup-fuzz: $(VENV)/fuzz.done

lock:  ## update the pinned dependencies (needs uv)
	uv pip compile pyproject.toml --universal --generate-hashes --no-emit-index-url --python-version 3.11 --no-header -q -o locks/base.txt
	uv pip compile pyproject.toml --group dev --all-extras --universal --generate-hashes --no-emit-index-url --python-version 3.11 --no-header -q -o locks/dev.txt
	uv pip compile pyproject.toml --group dev --group bench --all-extras --universal --generate-hashes --no-emit-index-url --python-version 3.11 --no-header -q -o locks/bench.txt
	uv pip compile pyproject.toml --group dev --group fuzz --all-extras --universal --generate-hashes --no-emit-index-url --python-version 3.11 --no-header -q -o locks/fuzz.txt

clean:
	rm -rf $(VENV) demo-data bench/out fuzz/out
