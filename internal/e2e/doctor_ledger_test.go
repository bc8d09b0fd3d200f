package e2e

import (
	"database/sql"
	"os"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // as "sqlite"

	"bareclaw/internal/cli/doctor"
)

// edit changes the machine's ledger behind the gateway's back.
func (m *machine) edit(statement string) {
	m.t.Helper()
	db, err := sql.Open("sqlite", m.path("state/ledger.db"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(m.t.Context(), statement); err != nil {
		m.t.Fatal(err)
	}
}

// withLedger makes a machine that has a ledger with a message.
func withLedger(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t)
	g := m.start()
	g.say("http", "hello")
	g.balanced()
	g.signal(syscall.SIGINT)
	return m
}

func TestDoctorOfTheLedger(t *testing.T) {
	t.Parallel()
	m := withLedger(t)
	before := tree(t, m.path("state"))
	m.quick().fine("ledger", "whole and balances: 1 message accepted")
	if after := tree(t, m.path("state")); after != before {
		t.Errorf("doctor has changed something:\n%s\nwas\n%s", after, before)
	}
	m.edit("UPDATE counters SET accepted=2")
	m.quick().tells(doctor.Problem, "ledger_uneven", "2 accepted, 1 answered")
	m.edit("UPDATE counters SET accepted=1; PRAGMA user_version=9999")
	m.quick().tells(doctor.Problem, "ledger_newer", "9999")
	m.edit("PRAGMA application_id=1")
	m.quick().tells(doctor.Problem, "ledger_foreign", m.path("state/ledger.db"))
}

func TestDoctorOfADamagedLedger(t *testing.T) {
	t.Parallel()
	m := withLedger(t)
	b, err := os.ReadFile(m.path("state/ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for i := 3 * page; i < len(b)-page; i++ { // the first pages hold the schema
		b[i] = 0xa5
	}
	m.write("state/ledger.db", string(b), 0o600)
	f := m.quick().tells(doctor.Problem, "ledger_damaged", "bareclaw restore", ".recover")
	if f.Fixable {
		t.Error("damage is not to be mended")
	}
	m.write("state/ledger.db", "", 0o600)
	m.quick().fine("ledger", "empty")
	m.write("state/ledger.db", "this is no database at all, but it is long enough to be looked at as one"+string(make([]byte, page)), 0o600)
	m.quick().tells(doctor.Problem, "ledger_damaged")
	if err := os.Remove(m.path("state/ledger.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(m.path("state/ledger.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.quick().tells(doctor.Problem, "ledger_unreadable", m.path("state/ledger.db"))
}

func TestDoctorOfALedgerWhoseLogGrows(t *testing.T) {
	t.Parallel()
	m := withLedger(t)
	m.write("state/ledger.db-wal", "", 0o600)
	if err := os.Truncate(m.path("state/ledger.db-wal"), 300<<20); err != nil { // which takes no room
		t.Fatal(err)
	}
	m.quick().tells(doctor.Warning, "ledger_log_large", "300.0 MiB")
}
