# Start with make demo and make test.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

# Never use a key or address that happens to be in the environment.
$(foreach v,$(filter ANTHROPIC_%,$(.VARIABLES)),$(eval unexport $(v)))

GO ?= go
BIN := bin/footnote
# Without a C compiler, everything but DuckDB is built.
ifeq ($(origin CGO_ENABLED),undefined)
CGO_ENABLED := $(shell scripts/cgo.sh)
endif
export CGO_ENABLED
VERSION := $(shell git describe --tags --always 2>/dev/null || echo dev)
# All files that the program is built from, including embedded ones.
SOURCES := $(shell find . -type f -not -path '*/.*' -not -path './bin/*' -not -path './data/*' -not -path './docs/*' -not -path './test/*' \
	-not -path '*/testdata/*' -not -path '*/node_modules/*' -not -path './web/dist/*' -not -path './web/test/*' \
	-not -name '*_test.go' -not -name '*.test.ts*' -not -name '*.md' -not -name '* *')

.PHONY: help
help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: setup
setup:
	@scripts/setup.sh

.PHONY: build
build: $(BIN) ## Build bin/footnote.

$(BIN): $(SOURCES) | setup
	@if [ "$(CGO_ENABLED)" = 0 ]; then \
		echo "No C and C++ compiler: building without DuckDB. SQLite files work; CSV, Parquet, JSON and XLSX do not."; \
		echo "To add them: apt-get install g++ (or your system's equivalent), make clean, and make again."; \
	fi
	@echo "building $(BIN); the first time, this takes a minute or two"
	@GO=$(GO) scripts/build.sh $(BIN) $(VERSION)

.PHONY: demo
demo: build ## Create the demo shop, serve it and suggest a first question.
	@exec $(BIN) demo

.PHONY: check
check: lint ## Run the linters and the quick tests; before every commit.
	@scripts/check.sh

# Installs what it needs first, including a compiler.
.PHONY: test
test: ## Run every check and test once.
	@scripts/setup.sh test
	@CGO_ENABLED=1 $(MAKE) --no-print-directory lint
	@scripts/test.sh

.PHONY: lint
lint: setup
	@GO=$(GO) scripts/lint.sh

.PHONY: web-test
web-test: build ## Check the web app: types, lint, unit tests, and a real browser.
	@scripts/web-test.sh

.PHONY: web-dev
web-dev: setup ## Serve the web app with live reload; needs footnote demo on port 8787.
	@scripts/ui.sh all
	@cd web/ui && exec npm run dev

.PHONY: pictures
pictures: build ## Take the README's pictures from the demo.
	@scripts/pictures.sh

.PHONY: release
release: ## Build the archives, packages and checksums of a release into bin/release.
	@scripts/release/build.sh

.PHONY: release-trial
release-trial: ## Try bin/release in a bare Debian, up to a first answer, and as a service. Needs root.
	@scripts/release/trial.sh
	@scripts/release/boot.sh

.PHONY: first-answer
first-answer: ## Time a fresh clone up to its first answer. COLD=1: with an empty build cache.
	@scripts/first-answer.sh

.PHONY: test-long
test-long: static crash faults tenants conformance web-test-long ## Run the long forms of the tests; takes hours.

.PHONY: static
static: ## Compile everything without cgo, and run the tests that differ there.
	CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) test -count=1 ./source/duckdb ./internal/app ./test/release

.PHONY: crash
crash: ## Kill processes with kill -9 during appends and runs, 300 times.
	FOOTNOTE_CRASH_ROUNDS=300 $(GO) test -count=1 -timeout 60m -run 'Kill|Crash' ./store/... ./test/...

.PHONY: faults
faults: ## Run the fault table of docs/faults.md; takes an hour. ROWS=1,24: only these rows.
	@$(GO) test ./test/faults -count=1 -v -timeout 0 -run Rows -long -rows '$(ROWS)'

.PHONY: tenants
tenants: ## Check with 10,000 random operations that no organisation sees another's data.
	FOOTNOTE_TENANTS=10000 $(GO) test -count=1 -timeout 60m -v -run 'TestTenants$$' ./internal/app

.PHONY: conformance
conformance: ## Test with the AI SDK's clients, with OpenAI's Go client, and with the conformance suite of MCP.
	$(GO) test -count=1 -tags conformance,arrow_json_stdlib ./test/aisdk
	$(GO) test -count=1 -tags conformance,arrow_json_stdlib -run '^TestGoClient' ./test/e2e
	scripts/conformance.sh

.PHONY: web-test-long
web-test-long: build ## Measure a chart with 100,000 bars, and what moves at every width, in a real browser.
	@scripts/web-test.sh long

# Runs one test of the planner as a report; ARGS may have more of its flags, such as -details.
report = @$(GO) test ./model/offline/eval -count=1 -v -run '^$(1)$$' -args -report $(ARGS)

.PHONY: eval-offline
eval-offline: ## Measure the offline planner on its frozen questions. ARGS=-details: show misses.
	$(call report,TestGoals)

.PHONY: eval-heldout
eval-heldout: ## Measure the offline planner on questions held out from its development.
	$(call report,TestHeldoutResults)

.PHONY: eval-blind
eval-blind: ## Measure the offline planner on questions that it is never tuned on.
	$(call report,TestBlindResults)

.PHONY: eval-fresh
eval-fresh: ## Measure the offline planner on questions by somebody who had not seen it.
	$(call report,TestFreshResults)

.PHONY: eval-unseen
eval-unseen: ## Measure the offline planner on questions written after it was frozen.
	$(call report,TestUnseenResults)

.PHONY: eval-sources
eval-sources: ## Measure how the offline planner chooses among several sources.
	$(call report,TestChoiceResults)

.PHONY: eval-cite
eval-cite: ## Measure the footnotes on their corpus.
	$(GO) test -count=1 -v -run 'Corpus' ./cite

.PHONY: eval-public
eval-public: ## Measure the footnotes on answers made by templates. TATQA=FILE: also on questions about annual reports.
	FOOTNOTE_TATQA='$(abspath $(TATQA))' $(GO) test -count=1 -v -run TestPublic ./cite

BENCH = $(GO) test ./test/bench -run '^$$' -bench . -benchtime 1x -timeout 0 -args

.PHONY: bench
bench: build ## Measure the table of docs/performance.md. ARGS='-only append': only these rows.
	@$(BENCH) $(ARGS)

.PHONY: bench-quick
bench-quick: build ## The same, in under two minutes.
	@$(BENCH) -quick $(ARGS)

.PHONY: clean
clean: ## Remove build results; data stays.
	rm -rf bin test/clients/node_modules test/clients/aisdk/*/node_modules web/ui/node_modules web/test/node_modules web/test/shots
	find web/dist -mindepth 1 -not -name .gitkeep -delete
