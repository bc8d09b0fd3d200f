// Package realclaude gives tests the pinned real claude CLI.
//
// The CLI comes as an npm package per platform. It is fetched once with the npm
// of the machine, checked against the sha512 written here, unpacked without
// running anything of it, asked once for its version, and kept in a cache
// directory: $BARECLAW_TEST_CACHE, or bareclaw-test in the user's cache
// directory. Later runs need neither npm nor a network. Test processes that
// start together fetch once.
//
// Where npm is missing or reaches nothing, tests that need the CLI are skipped,
// unless BARECLAW_REQUIRE_CLAUDE=1 says that they must run.
package realclaude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"
)

// Version is the CLI the tests are written for.
const Version = "2.1.332"

// Chosen returns the version that the tests run with: [Version], unless the environment
// variable BARECLAW_TEST_CLAUDE names another, such as 2.1.340. npm vouches for the checksum
// of another one.
func Chosen() string { return cmp.Or(os.Getenv("BARECLAW_TEST_CLAUDE"), Version) }

// integrity is dist.integrity of each platform's package at [Version], as npm reports it.
var integrity = map[string]string{
	"linux-x64":        "sha512-f4JWhzwYutJIHScC7/dYOPX6s28tt7ZADhsOi8zwOHq5fFPEuUeChh2NMfinSg0GrUckYxaeebC4h0DqiKzLcw==",
	"linux-x64-musl":   "sha512-QoQzwipnqRAdBKDAJNJ2Qvl37G6x8nCugfOQa+nuMcGIRgGEOLeWoq3pTLMQRScL37estAQBGH9ygR3WFVbIfw==",
	"linux-arm64":      "sha512-BlHNEtK38KBPWU31F4lUSS9sHclCyfWbThT1CErvxxH8+XcljYLZlQwdyXBkTD62rw1TgfE1u1a+quMWS0NSJg==",
	"linux-arm64-musl": "sha512-jdjkkJLfAQ9M1HbT05tZHQpGNZUEPUebYwW/xpiMypZddB0lNlHlB9mXfOVV/UUPO0JCghj1NSQjxhhJc4L4CA==",
	"darwin-x64":       "sha512-i0GV2ejBOeHMXs+XPCd1IaJj1GV3VdZl8hiQD6hLMR/N7f4Nt8q4Edj1GYJCKXPLJa/zsE9Uv6r9rZ/ldVFQPQ==",
	"darwin-arm64":     "sha512-L/F5mypyB7SK59cesiAqGv1bVNd+8xTn0LF5kV6EGL6UMhofVJMFlokhDRoxNzANNC5i/5JdzfJyDOKUbZObiA==",
}

// ErrUnavailable marks what keeps the CLI away without anything being wrong:
// no build for this platform, npm missing, or npm reaching nothing.
var ErrUnavailable = errors.New("the claude CLI is not available here")

const (
	// fetchTimeout stays below the 10 minutes go test gives a package.
	fetchTimeout = 8 * time.Minute
	// giveUpFor is how long tests take a failure to reach npm for granted,
	// so that not each of them waits for its own.
	giveUpFor = 10 * time.Minute
)

// Path returns the absolute path of the CLI, fetching it first if the cache has
// none. It skips the test where the CLI is unavailable and fails it on any
// other error, and always when BARECLAW_REQUIRE_CLAUDE is 1.
func Path(t testing.TB) string {
	t.Helper()
	required, trust := os.Getenv("BARECLAW_REQUIRE_CLAUDE") == "1", giveUpFor
	if required {
		trust = 0
	}
	path, err := fetch(t.Context(), trust)
	if errors.Is(err, ErrUnavailable) && !required {
		t.Skipf("real-CLI tests SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatalf("real CLI: %v", err)
	}
	return path
}

// Fetch returns the absolute path of the CLI, fetching it first if the cache has
// none. It may take minutes. The error is [ErrUnavailable] where there is
// nothing to fetch from.
func Fetch(ctx context.Context) (string, error) { return fetch(ctx, 0) }

func fetch(ctx context.Context, trustFailure time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	platform := platformHere()
	if integrity[platform] == "" {
		return "", fmt.Errorf("%w: no build for %s", ErrUnavailable, platform)
	}
	s := store{dir: dir, platform: platform, version: Chosen(), npm: "npm"}
	if s.version == Version {
		s.integrity = integrity[platform]
	} else if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(s.version) {
		return "", fmt.Errorf("BARECLAW_TEST_CLAUDE is %q, which is not a version such as %s", s.version, Version)
	}
	return s.fetch(ctx, trustFailure)
}

// platformHere names the build. A Linux is a musl one if it has musl's loader and not
// glibc's: a glibc system may have both.
func platformHere() string {
	arch, glibc, musl := runtime.GOARCH, "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"
	if arch == "amd64" {
		arch, glibc, musl = "x64", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"
	}
	platform := runtime.GOOS + "-" + arch
	if runtime.GOOS == "linux" && exists(musl) && !exists(glibc) {
		platform += "-musl"
	}
	return platform
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// CacheDir returns the absolute path of the directory for what tests fetch,
// which may not exist yet.
func CacheDir() (string, error) {
	if dir := os.Getenv("BARECLAW_TEST_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache directory for tests: %w", err)
	}
	return filepath.Join(dir, "bareclaw-test"), nil
}

// Env returns the whole environment for a CLI that speaks to the API at baseURL
// and keeps all its state below dir, an absolute path of an existing directory.
// Nothing else is inherited but PATH. The API key is a dummy.
func Env(dir, baseURL string) []string {
	return []string{
		"HOME=" + dir,
		"CLAUDE_CONFIG_DIR=" + filepath.Join(dir, "claude-config"),
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"DISABLE_TELEMETRY=1",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"ANTHROPIC_API_KEY=sk-ant-dummy-key",
		"ANTHROPIC_BASE_URL=" + baseURL,
	}
}
