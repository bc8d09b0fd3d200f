package realclaude

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestReleaseFor(t *testing.T) {
	t.Parallel()
	const glibcX64, muslX64, muslARM = "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"
	for _, tc := range []struct {
		goos, goarch, files, want string
	}{
		{"linux", "amd64", glibcX64, "linux-x64"},
		{"linux", "amd64", muslX64, "linux-x64-musl"},
		{"linux", "amd64", glibcX64 + muslX64, "linux-x64"},
		{"linux", "amd64", "", "linux-x64"},
		{"linux", "arm64", "", "linux-arm64"},
		{"linux", "arm64", muslARM, "linux-arm64-musl"},
		{"darwin", "amd64", muslX64, "darwin-x64"},
		{"darwin", "arm64", "", "darwin-arm64"},
		{"linux", "riscv64", "", ""},
		{"plan9", "amd64", "", ""},
	} {
		rel, err := releaseFor(tc.goos, tc.goarch, func(path string) bool { return strings.Contains(tc.files, path) })
		if rel.platform != tc.want || (tc.want == "") != errors.Is(err, ErrUnavailable) {
			t.Errorf("%s/%s with %q: %q, %v, want %q", tc.goos, tc.goarch, tc.files, rel.platform, err, tc.want)
		}
		if err == nil && (!strings.HasPrefix(rel.integrity, "sha512-") || rel.spec() != "@anthropic-ai/claude-code-"+tc.want+"@"+Version) {
			t.Errorf("%+v", rel)
		}
	}
}

func TestIntegrityDiffersByPlatform(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, platform := range []string{"linux-x64", "linux-x64-musl", "linux-arm64", "linux-arm64-musl", "darwin-x64", "darwin-arm64"} {
		sum := integrity(platform)
		if other, ok := seen[sum]; ok || sum == "" {
			t.Errorf("%s has the checksum %q of %q", platform, sum, other)
		}
		seen[sum] = platform
	}
}

func TestEnvInheritsOnlyPath(t *testing.T) {
	t.Parallel()
	for _, entry := range Env("/d", "http://127.0.0.1:1") {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "PATH":
			if value != os.Getenv("PATH") {
				t.Errorf("PATH is %q", value)
			}
		case "HOME", "CLAUDE_CONFIG_DIR":
			if !strings.HasPrefix(value, "/d") {
				t.Errorf("%s is not below the directory", entry)
			}
		case "ANTHROPIC_BASE_URL":
			if value != "http://127.0.0.1:1" {
				t.Errorf("%s", entry)
			}
		case "LANG", "ANTHROPIC_API_KEY", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC":
		default:
			t.Errorf("unexpected %s", entry)
		}
	}
}

// ended is what giveUp does to a test: it stops it by a panic here.
type ended struct {
	testing.TB
	how, why string
}

func (e *ended) Helper()                           {}
func (e *ended) Skipf(format string, args ...any)  { e.end("skip", format, args) }
func (e *ended) Fatalf(format string, args ...any) { e.end("fatal", format, args) }
func (e *ended) end(how, format string, args []any) {
	e.how, e.why = how, fmt.Sprintf(format, args...)
	panic(e)
}

func TestGiveUp(t *testing.T) {
	t.Parallel()
	missing := fmt.Errorf("%w: npm is missing", ErrUnavailable)
	for _, tc := range []struct {
		err      error
		required bool
		how, why string
	}{
		{missing, false, "skip", "real-CLI tests SKIPPED: "},
		{missing, true, "fatal", "npm is missing"},
		{errors.New("wrong checksum"), false, "fatal", "wrong checksum"},
		{errors.New("wrong checksum"), true, "fatal", "wrong checksum"},
	} {
		tb := &ended{}
		func() {
			defer func() { _ = recover() }()
			giveUp(tb, tc.err, tc.required)
		}()
		if tb.how != tc.how || !strings.Contains(tb.why, tc.why) {
			t.Errorf("%v, required %v: %s %q, want %s %q", tc.err, tc.required, tb.how, tb.why, tc.how, tc.why)
		}
	}
}
