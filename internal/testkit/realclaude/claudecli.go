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
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Version is the CLI the tests are written for.
const Version = "2.1.329"

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
	required := os.Getenv("BARECLAW_REQUIRE_CLAUDE") == "1"
	trust := giveUpFor
	if required {
		trust = 0
	}
	path, err := fetch(t.Context(), trust)
	if err != nil {
		giveUp(t, err, required)
	}
	return path
}

// giveUp ends the test.
func giveUp(t testing.TB, err error, required bool) {
	t.Helper()
	if errors.Is(err, ErrUnavailable) && !required {
		t.Skipf("real-CLI tests SKIPPED: %v", err)
	}
	t.Fatalf("real CLI: %v", err)
}

// Fetch returns the absolute path of the CLI, fetching it first if the cache has
// none. It may take minutes. The error is [ErrUnavailable] where there is
// nothing to fetch from.
func Fetch(ctx context.Context) (string, error) { return fetch(ctx, 0) }

func fetch(ctx context.Context, trustFailure time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	rel, err := releaseHere()
	if err != nil {
		return "", err
	}
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	return store{dir: dir, rel: rel, npm: []string{"npm"}}.fetch(ctx, trustFailure)
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
