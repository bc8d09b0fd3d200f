package setup

import (
	"database/sql"
	"os"
	"syscall"
	"testing"

	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// edit changes the machine's ledger behind the gateway's back.
func edit(m *harness.Machine, statement string) {
	m.T.Helper()
	db, err := sql.Open("sqlite", m.Path("state/ledger.db"))
	check.OK(m.T, err)
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(m.T.Context(), statement); err != nil {
		m.T.Fatal(err)
	}
}

// withLedger makes a machine that has a ledger with a message.
func withLedger(t *testing.T) *harness.Machine {
	t.Helper()
	m := harness.NewMachine(t)
	g := m.Start()
	g.Say("http", "hello")
	g.Balanced()
	g.Signal(syscall.SIGINT)
	return m
}

func TestDoctorOfTheLedger(t *testing.T) {
	t.Parallel()
	m := withLedger(t)
	before := tree(t, m.Path("state"))
	m.Quick().Fine("ledger", "whole and balances: 1 message accepted")
	if after := tree(t, m.Path("state")); after != before {
		t.Errorf("doctor has changed something:\n%s\nwas\n%s", after, before)
	}
	edit(m, "UPDATE counters SET accepted=2")
	m.Quick().Tells(doctor.Problem, "ledger_uneven", "2 accepted, 1 answered")
	edit(m, "UPDATE counters SET accepted=1; PRAGMA user_version=9999")
	m.Quick().Fine("ledger", "whole and balances") // a newer one that this program reads
	edit(m, "INSERT INTO meta VALUES('min_reader', 9998)")
	m.Quick().Tells(doctor.Problem, "ledger_newer", "9999", "9998")
	edit(m, "DELETE FROM meta WHERE key='min_reader'; PRAGMA user_version=7")
	m.Quick().Tells(doctor.Problem, "ledger_older", "schema 7", "move", "-wal")
	edit(m, "PRAGMA application_id=1")
	m.Quick().Tells(doctor.Problem, "ledger_foreign", m.Path("state/ledger.db"))
}

func TestDoctorOfADamagedLedger(t *testing.T) {
	t.Parallel()
	m := withLedger(t)
	b, err := os.ReadFile(m.Path("state/ledger.db"))
	check.OK(t, err)
	const page = 4096
	for i := 3 * page; i < len(b)-page; i++ { // the first pages hold the schema
		b[i] = 0xa5
	}
	m.Write("state/ledger.db", string(b), 0o600)
	f := m.Quick().Tells(doctor.Problem, "ledger_damaged", "bareclaw restore", ".recover")
	if f.Fixable {
		t.Error("damage is not to be mended")
	}
	m.Write("state/ledger.db", "", 0o600)
	m.Quick().Fine("ledger", "empty")
	m.Write("state/ledger.db", "this is not a database at all, but it is long enough to be looked at as one"+string(make([]byte, page)), 0o600)
	m.Quick().Tells(doctor.Problem, "ledger_damaged")
	check.OK(t, os.Remove(m.Path("state/ledger.db")))
	check.OK(t, os.Mkdir(m.Path("state/ledger.db"), 0o700))
	m.Quick().Tells(doctor.Problem, "ledger_unreadable", m.Path("state/ledger.db"))
}

func TestDoctorOfALedgerWhoseLogGrows(t *testing.T) {
	t.Parallel()
	m := withLedger(t)
	m.Write("state/ledger.db-wal", "", 0o600)
	check.OK(t, os.Truncate(m.Path("state/ledger.db-wal"), 300<<20)) // which takes no room
	m.Quick().Tells(doctor.Warning, "ledger_log_large", "300 MiB")
}
