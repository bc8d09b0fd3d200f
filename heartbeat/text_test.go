package heartbeat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/core/config"
	"bareclaw/internal/testkit/check"
)

func TestMessageText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return "@" + path
	}
	for _, c := range []struct {
		name, message, notify string
		has, lacks            string
	}{
		{name: "built in", has: "push a message", lacks: "sent to the user"},
		{name: "built in, with a channel", notify: "tg-1", has: "sent to the user", lacks: "push a message"},
		{name: "of the user", message: "Look at the disk.", has: "Look at the disk.\n\nIf nothing"},
		{name: "of the user, who says it", message: "Look. Else say HEARTBEAT_OK.", has: "Look. Else say", lacks: "If nothing"},
		{name: "of a file", message: write("beat.md", "Look at\r\n\x1b the disk.\n"), has: "Look at\n the disk.\n\nIf nothing"},
	} {
		text, err := messageText(config.Heartbeat{Message: config.TextOrFile(c.message), Notify: config.Channel(c.notify)})
		if err != nil || !strings.Contains(text, AllWell) || !strings.Contains(text, c.has) || c.lacks != "" && strings.Contains(text, c.lacks) {
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
	}
	for name, message := range map[string]string{
		"no such file": "@" + filepath.Join(dir, "none"), "empty": write("empty", " \n"), "large": write("large", strings.Repeat("a", maxText+1)),
	} {
		if text, err := messageText(config.Heartbeat{Message: config.TextOrFile(message)}); err == nil || !strings.Contains(err.Error(), "BARECLAW_HEARTBEAT_MESSAGE") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
