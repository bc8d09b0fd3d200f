package security

import (
	"os"
	"path/filepath"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestLinkAsSessionFile: a project brings along a link in the place of the session file, or of the
// session file's lock, that leads to a file of the user's. The gateway does not start, and says
// what to do; the user's file stays as it is.
func TestLinkAsSessionFile(t *testing.T) {
	t.Parallel()
	const precious = "alias ls='ls --color'\n"
	for name, link := range map[string]string{"the file": ".bareclaw-sessions.json", "its lock": ".bareclaw-sessions.json.lock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t)
			victim := m.Write("home/.bashrc", precious, 0o644)
			check.OK(t, os.Symlink(victim, m.Path("work/"+link)))
			m.Command(harness.ExitFailure, "serve").Tells("symbolic link", "BARECLAW_SESSION_FILE")
			if b, err := os.ReadFile(victim); err != nil || string(b) != precious {
				t.Errorf("the file is %q, %v", b, err)
			}
			info, err := os.Lstat(victim)
			check.OK(t, err)
			if beside, _ := filepath.Glob(victim + "*"); len(beside) != 1 || info.Mode() != 0o644 {
				t.Errorf("there are %v, with mode %v", beside, info.Mode())
			}
			check.OK(t, os.Remove(m.Path("work/"+link)))
			m.Start().Say("http", "hello").Want(t, "ok: hello")
		})
	}
}
