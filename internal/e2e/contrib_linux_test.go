package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSystemUnitLetsTheGatewayWork runs the gateway under what the unit for a whole
// system forbids, as far as a systemd for users can forbid it: system calls, address
// families, namespaces, capabilities. What it does to the file system is not tried.
func TestSystemUnitLetsTheGatewayWork(t *testing.T) {
	t.Parallel()
	withUserManager(t, func(t *testing.T, manager *userManager) {
		b, err := os.ReadFile("contrib/systemd/system/bareclaw.service")
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Clone(notify)
		for line := range strings.Lines(string(b)) {
			for _, name := range []string{"NoNewPrivileges", "CapabilityBoundingSet", "Restrict", "LockPersonality", "SystemCall", "UMask"} {
				if strings.HasPrefix(line, name) {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
		if len(lines) < 12 {
			t.Fatalf("only %q were found", lines)
		}
		m := newMachine(t)
		u := m.unit(manager, lines...)
		claude := u.say("idle", "pid").str("text")
		u.handOver(u.restart)
		u.systemctl("restart", u.name)
		u.found()
		if now := u.say("idle", "pid").str("text"); now != claude {
			t.Errorf("claude was %s and is %s", claude, now)
		}
		u.balanced()
	})
}
