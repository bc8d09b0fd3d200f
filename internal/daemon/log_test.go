package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"bareclaw/core/config"
	"bareclaw/internal/testkit/check"
)

func TestJournaled(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	check.OK(t, err)
	defer f.Close()
	st, err := f.Stat()
	check.OK(t, err)
	sys := st.Sys().(*syscall.Stat_t)
	for stream, want := range map[string]bool{
		fmt.Sprintf("%d:%d", sys.Dev, sys.Ino): true, fmt.Sprintf("%d:%d", sys.Dev, sys.Ino+1): false, "": false, "x": false,
	} {
		if got := journaled(stream, f); got != want {
			t.Errorf("journaled(%q) = %v", stream, got)
		}
	}
}

func TestUnitOf(t *testing.T) {
	t.Parallel()
	for cgroup, want := range map[string]string{
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/bareclaw.service\n": "--user-unit=bareclaw.service",
		"0::/system.slice/bareclaw.service\n":                                           "--unit=bareclaw.service",
		"0::/user.slice/user-1000.slice/session-3.scope\n":                              "",
		"": "",
	} {
		if got := unitOf([]byte(cgroup), nil); got != want {
			t.Errorf("unitOf(%q) = %q, want %q", cgroup, got, want)
		}
	}
	if got := unitOf(nil, errors.New("no /proc")); got != "" {
		t.Errorf("unitOf() = %q", got)
	}
}

// TestLogEscapes has both formats of the log hold texts that command a terminal.
func TestLogEscapes(t *testing.T) {
	t.Parallel()
	const text = "\x1b[31m\x07\x7f \u009b2J \u202e  \u2028 größer \r\n end"
	for _, format := range []config.LogFormat{config.LogText, config.LogJSON} {
		var b bytes.Buffer
		newLog(config.Config{Logs: config.Logs{Format: format, Level: config.Level(slog.LevelDebug)}}, &b).Debug("said", "text", text, text, "name") //nolint:sloglint // a key of any characters is what is tested
		line := b.String()
		if bad := strings.IndexFunc(line, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }); bad >= 0 || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: the line is %q", format, line)
		}
		if !strings.Contains(line, "größer") {
			t.Errorf("%s: letters are escaped: %q", format, line)
		}
		var read map[string]string
		if format == config.LogJSON && (json.Unmarshal(b.Bytes(), &read) != nil || read["text"] != text || read[text] != "name") {
			t.Errorf("the line says %q", read)
		}
	}
}
