package harness

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/roottest"
)

// SmallDisk puts a directory of the machine on a file system of that size, and
// skips the test, saying so, where that is not allowed.
func (m *Machine) SmallDisk(name, size string) {
	m.T.Helper()
	roottest.SmallDisk(m.T, m.Path(name), size)
	m.T.Cleanup(m.EndHosts) // before the disk goes
}

// Remount makes a state directory on a disk of 2 MiB read-only or writable. The kernel refuses the
// first while a file there is open for writing.
func (m *Machine) Remount(flags uintptr) {
	m.T.Helper()
	check.OK(m.T, unix.Mount("tmpfs", m.Path("state"), "tmpfs", unix.MS_REMOUNT|flags, "size=2m"))
}

// Fill leaves no room on the small disk of a directory and returns what gives it back.
func (m *Machine) Fill(name string) (free func()) {
	m.T.Helper()
	return roottest.Fill(m.T, m.Path(name))
}

// Refusals sends messages until one is refused. It returns the text of that one
// and the ids of those before it, for which there was still room.
func (g *Gateway) Refusals(channel string, status int, code string) (refused string, accepted []string) {
	g.T.Helper()
	for i := range 1000 {
		text := fmt.Sprintf("echo %s %d", channel, i)
		a, err := g.Do("POST", "/message", map[string]any{"channel": channel, "text": text}, "Prefer", "respond-async")
		switch {
		case err != nil:
			g.T.Fatal(err)
		case a.Status == 202:
			accepted = append(accepted, a.Str("message_id"))
			continue
		case a.Status != status || a.Str("code") != code || !strings.Contains(a.Str("error"), "nothing was accepted"):
			g.T.Fatalf("refused with status %d, want %d with code %q: %s", a.Status, status, code, a.Body)
		}
		return text, accepted
	}
	g.T.Fatal("no message was refused")
	return "", nil
}
