# make help lists the targets. Only Go is needed; with a C compiler the tests
# run under the race detector.

GO ?= go
GOLANGCI_LINT_VERSION := v2.15.0

# What the program is built for besides the machine that this is. On macOS both processors
# have the same types, so one of them stands for both.
TARGETS := $(filter-out $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH),linux/amd64 linux/arm64 darwin/arm64)

# The linter is built once per version and kept outside of the checkout.
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bareclaw/tools
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint

# The race detector needs cgo, and cgo needs a C compiler. It does not watch SQLite and the C
# library below it (modernc.org/sqlite/lib, modernc.org/libc), which are translated from C and
# take three times as long with it; the driver and all callers are watched.
RACE := $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null && \
	echo "-race '-gcflags=modernc.org/...lib...=-race=false'")

# The packages whose tests take longest, which begin first, so that no core waits for the last.
LONGEST := $(addprefix ./internal/e2e/,telegram realclaude service upgrade restart crash setup http) ./internal/bench ./core/lanes

# The packages with benchmarks, each of which is run once as a test: nobody would notice
# one that fails before it is wanted.
BENCHMARKED = $(sort $(dir $(shell grep -rl --include=*_test.go '^func Benchmark' .)))

# Each test program would otherwise take a second to end.
export GORACE := atexit_sleep_ms=0 $(GORACE)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/bareclaw
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/bareclaw .

.PHONY: test
test: ## run all tests; the real claude CLI is fetched with npm where there is one
	@[ -n "$(RACE)" ] || echo "no C compiler: the tests run without the race detector"
	$(GO) test $(RACE) -vet=off -p 3 -parallel 4 -timeout 40m $(LONGEST) ./...
	@echo "each benchmark once"; out=$$($(GO) test $(RACE) -vet=off -run '^$$' -bench . -benchtime 1x -timeout 5m $(BENCHMARKED) 2>&1) || { echo "$$out"; exit 1; }

.PHONY: lint
lint: $(GOLANGCI_LINT) ## check formatting, golangci-lint with staticcheck and go vet, go vet for other systems
	@bad=$$(gofmt -l .); [ -z "$$bad" ] || { echo "not formatted with gofmt:"; echo "$$bad"; exit 1; }
	@for target in $(TARGETS); do \
		echo "go vet ./... for $$target"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) vet ./... || exit 1; \
	done
	$(GOLANGCI_LINT) run ./...

.PHONY: check
check: lint test ## lint and test: what must pass before a commit

.PHONY: bench
bench: ## measure speed and size against docs/performance.md; takes minutes
	$(GO) run ./internal/bench

# How long there is chaos; BARECLAW_TEST_SEED=N repeats a run.
SOAK ?= 5m

# How many random lives of the core are played besides.
LIVES ?= 200

.PHONY: soak
soak: ## mixed traffic while everything is killed and restarted, then an audit; 200 rounds at random; SOAK=5m
	LIVES=$(LIVES) $(GO) test $(RACE) -v -run RandomLives -timeout 60m ./core/lanes
	BARECLAW_TEST_SOAK=$(SOAK) $(GO) test $(RACE) -v -run Soak -timeout 60m ./internal/e2e/soak

# The version that claude-next runs, such as 2.1.340; npm's newest unless it is given.
CLAUDE ?= $(shell npm view @anthropic-ai/claude-code version)

.PHONY: claude-next
claude-next: ## the tests with the real claude CLI against its newest version on npm; CLAUDE=2.1.340
	BARECLAW_TEST_CLAUDE=$(CLAUDE) BARECLAW_REQUIRE_CLAUDE=1 $(GO) test $(RACE) -vet=off -count=1 -parallel 4 -timeout 40m \
		./internal/e2e/realclaude ./internal/e2e/mcp ./sessionhost/...

.PHONY: crash
crash: ## the long runs of the crash tests; takes up to an hour
	BARECLAW_TEST_SOAK=1 $(GO) test $(RACE) -run 'Crash|Replay|KillNine|RealKill' -timeout 60m ./internal/e2e/... ./sessionhost/... ./core/ledger/sqlite

# Which mutations: a regular expression of promise, package or test.
MUTATE ?= .

.PHONY: mutate
mutate: ## break each promise of docs/lifetimes.md once, and see its test fail; hours; MUTATE=regexp selects
	$(GO) run ./internal/testkit/mutate -run '$(MUTATE)'

$(GOLANGCI_LINT):
	GOBIN="$(@D)" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
