package upgrade

import (
	"syscall"
	"testing"

	"bareclaw/core/ledger"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/e2e/harness"
)

// ledgerVersion returns what the ledger says of itself.
func ledgerVersion(m *harness.Machine) ledger.Version {
	m.T.Helper()
	v, err := ledger.Inspect(m.Path("state/ledger.db"))
	if err != nil {
		m.T.Fatal(err)
	}
	return v
}

// TestUpgradeSettles upgrades to a program that makes of the ledger what this one cannot
// read: that is not done before it is known that it stays, and then there is no way back.
func TestUpgradeSettles(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Install("v1", "2s")
	g := m.Start()
	g.Say("http", "echo before").Want(t, "before")
	before := ledgerVersion(m)

	g.Fails("settling", syscall.SIGKILL, "ended while it was on trial")
	g.Serves("v1")
	if now := ledgerVersion(m); now.Schema != before.Schema+1 || now.MinReader != before.MinReader {
		t.Errorf("a program on trial has made %+v of %+v", now, before)
	}
	g.Say("http", "echo between").Want(t, "between")

	old := g.Worker()
	wait := m.Commanded("upgrade", "--from", harness.ReleaseOf(t, "settling"))
	g.OnTrial(old)
	looks := 0
	m.Eventually("the trial is over", func() bool {
		now := ledgerVersion(m)
		if m.Trial().State != program.OnTrial {
			return true
		}
		looks++
		if now.MinReader != before.MinReader {
			t.Fatalf("on trial the ledger is settled already: %+v", now)
		}
		return false
	})
	if looks == 0 {
		t.Error("the trial was not seen")
	}
	if r := wait(); r.Status != harness.ExitOK {
		t.Errorf("upgrade ends with %d\n%s%s", r.Status, r.Out, r.Err)
	}
	m.Eventually("the ledger is settled", func() bool { return ledgerVersion(m).MinReader == before.Schema+1 })
	g.Serves("settling")
	m.Upgrades(harness.ExitFailure, "knows schema", "--rollback")
	g.Serves("settling")
	g.Say("http", "echo after").Want(t, "after")
	g.Balanced()
}
