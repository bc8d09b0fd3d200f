package service

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestSystemUnitLetsTheGatewayWork runs the gateway under what the unit for a whole
// system forbids, as far as a systemd for users can forbid it: system calls, address
// families, namespaces, capabilities. What it does to the file system is not tried.
func TestSystemUnitLetsTheGatewayWork(t *testing.T) {
	t.Parallel()
	harness.WithUserManager(t, func(t *testing.T, manager *harness.UserManager) {
		b, err := os.ReadFile("contrib/systemd/system/bareclaw.service")
		check.OK(t, err)
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
		m := harness.NewMachine(t)
		u := startUnit(m, manager, lines...)
		sameClaude := u.SameClaude("idle")
		u.handOver(u.restart)
		u.systemctl("restart", u.name)
		u.found()
		sameClaude(u.Gateway)
		u.Balanced()
	})
}
