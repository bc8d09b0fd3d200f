package e2e

import (
	"syscall"
	"testing"

	"bareclaw/core/ledger"
	"bareclaw/heartbeat/program"
)

// ledgerVersion returns what the ledger says of itself.
func (m *machine) ledgerVersion() ledger.Version {
	m.t.Helper()
	v, err := ledger.Inspect(m.path("state/ledger.db"))
	if err != nil {
		m.t.Fatal(err)
	}
	return v
}

// TestUpgradeSettles upgrades to a program that makes of the ledger what this one cannot
// read: that is not done before it is known that it stays, and then there is no way back.
func TestUpgradeSettles(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.install("v1", "2s")
	g := m.start()
	g.say("http", "echo before").want(t, "before")
	before := m.ledgerVersion()

	g.fails("settling", syscall.SIGKILL, "ended while it was on trial")
	g.serves("v1")
	if now := m.ledgerVersion(); now.Schema != before.Schema+1 || now.MinReader != before.MinReader {
		t.Errorf("a program on trial has made %+v of %+v", now, before)
	}
	g.say("http", "echo between").want(t, "between")

	wait := m.commanded("upgrade", "--from", releaseOf(t, "settling"))
	g.onTrial(g.lockFile().PID)
	looks := 0
	m.eventually("the trial is over", func() bool {
		now := m.ledgerVersion()
		if m.trial().State != program.OnTrial {
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
	if r := wait(); r.status != exitOK {
		t.Errorf("upgrade ends with %d\n%s%s", r.status, r.out, r.err)
	}
	m.eventually("the ledger is settled", func() bool { return m.ledgerVersion().MinReader == before.Schema+1 })
	g.serves("settling")
	m.upgrades(exitFailure, "knows schema", "--rollback")
	g.serves("settling")
	g.say("http", "echo after").want(t, "after")
	g.balanced()
}
