package service

import (
	"errors"
	"strings"
	"testing"
)

// TestUnansweredSaysWhatToDo: first in words, and last what was tried.
func TestUnansweredSaysWhatToDo(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		uid    int
		booted bool
		says   []string
	}{
		"no systemd": {1000, false, []string{"not run by systemd", "`bareclaw serve`", "the heartbeat cannot be installed"}},
		"root":       {0, true, []string{"root has no systemd of its own", "contrib/systemd/system/bareclaw.service", "`bareclaw serve`"}},
		"su":         {1000, true, []string{"su or sudo", "enable-linger", "XDG_RUNTIME_DIR=/run/user/1000"}},
	}
	direct, overBus := errors.New("dial unix /a: gone"), errors.New("dial unix /b: gone")
	for name, row := range rows {
		err := unanswered(row.uid, row.booted, direct, overBus)
		words, tried, _ := strings.Cut(err.Error(), " (what was tried: ")
		if tried != "dial unix /a: gone; dial unix /b: gone)" || strings.Contains(err.Error(), "\n") || !errors.Is(err, direct) || !errors.Is(err, overBus) {
			t.Errorf("%s: %q", name, err)
		}
		for _, want := range row.says {
			if !strings.Contains(words, want) {
				t.Errorf("%s: there is no %q in %q", name, want, words)
			}
		}
	}
}
