# make help lists the targets. Only Go is needed; with a C compiler the tests
# run under the race detector.

GO ?= go
GOLANGCI_LINT_VERSION := v2.15.0
STATICCHECK_VERSION := v0.8.2

# What the program is built for besides the machine that this is.
TARGETS := $(filter-out $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH),linux/amd64 linux/arm64 darwin/arm64 darwin/amd64)

# The linters are built once per version and kept outside of the checkout.
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/bareclaw/tools
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint
STATICCHECK := $(TOOLS)/staticcheck-$(STATICCHECK_VERSION)/staticcheck

# The race detector needs cgo, and cgo needs a C compiler.
RACE := $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null && echo -race)

# The packages with benchmarks, each of which is run once as a test: nobody would notice
# one that fails before it is wanted.
BENCHMARKED = $(sort $(dir $(shell grep -rl --include=*_test.go '^func Benchmark' .)))

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/bareclaw
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/bareclaw .

.PHONY: test
test: ## run all tests; the real claude CLI is fetched with npm where there is one
	@[ -n "$(RACE)" ] || echo "no C compiler: the tests run without the race detector"
	$(GO) test $(RACE) -parallel 4 -timeout 40m ./...
	@echo "each benchmark once"; out=$$($(GO) test $(RACE) -run '^$$' -bench . -benchtime 1x $(BENCHMARKED) 2>&1) || { echo "$$out"; exit 1; }

.PHONY: lint
lint: $(STATICCHECK) $(GOLANGCI_LINT) ## check formatting, go vet (for each system it is built for), staticcheck, golangci-lint
	@bad=$$(gofmt -l .); [ -z "$$bad" ] || { echo "not formatted with gofmt:"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	@for target in $(TARGETS); do \
		echo "go vet ./... for $$target"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) vet ./... || exit 1; \
	done
	$(STATICCHECK) ./...
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
	LIVES=$(LIVES) $(GO) test $(RACE) -v -run 'RandomLives' -timeout 60m ./core
	BARECLAW_TEST_SOAK=$(SOAK) $(GO) test $(RACE) -v -run 'Soak|AtRandomMoments|RandomCrashes' -timeout 60m ./internal/e2e/soak ./internal/e2e/crash

.PHONY: crash
crash: ## the long runs of the crash tests; takes up to an hour
	BARECLAW_TEST_SOAK=1 $(GO) test $(RACE) -run 'Crash|Replay' -timeout 60m ./internal/e2e/... ./sessionhost/...

$(GOLANGCI_LINT):
	GOBIN="$(@D)" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

$(STATICCHECK):
	GOBIN="$(@D)" $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
