package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/ledgertest"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

// stored makes the file that a killed program of a schema has left. testdata/v8.sql is the file of the
// first schema, as `sqlite3 ledger.db .dump` tells it; vN.sql of a later one is what its program has
// added to the file of the schema before.
func stored(t *testing.T, schema int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.db")
	run(t, path, script(t, "testdata/v%d.sql", firstSchema))
	for n := firstSchema + 1; n <= schema; n++ {
		run(t, path, script(t, "schema/%d.sql", n)+fmt.Sprintf("\nPRAGMA user_version=%d;\n", n)+script(t, "testdata/v%d.sql", n))
	}
	return path
}

// firstSchema is the schema of the oldest ledger in testdata.
const firstSchema = 8

// storedFirst makes a file of the first schema.
func storedFirst(t *testing.T) (path string) {
	t.Helper()
	return stored(t, firstSchema)
}

func script(t *testing.T, name string, schema int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf(name, schema))
	check.OK(t, err)
	return string(text)
}

// run runs a script on a file that is not open.
func run(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check.OK(t, err)
	defer func() { check.OK(t, db.Close()) }()
	_, err = db.Exec(script)
	check.OK(t, err)
}

// contents returns all that can be read of a ledger.
func contents(t *testing.T, l *sqlite.Ledger) string {
	t.Helper()
	ctx := t.Context()
	var all []any
	add := func(what any, err error) {
		t.Helper()
		check.OK(t, err)
		all = append(all, what)
	}
	for _, channel := range []core.ChannelKey{"http", "tg-1"} {
		messages, err := l.Messages(ctx, channel, 100, "")
		check.OK(t, err)
		add(whole(t, l, messages), nil)
		backgrounds, err := l.Backgrounds(ctx, channel, 100)
		add(backgrounds, err)
		usage, err := l.Usage(ctx, channel, time.Time{})
		add(usage, err)
	}
	for _, id := range []core.TurnID{"t-answered", "t-failed", "t-running", "t-asked"} {
		turn, err := l.Turn(ctx, id)
		add(turn, err)
		approvals, err := l.TurnApprovals(ctx, id)
		add(approvals, err)
	}
	for _, session := range []string{"session of http", "second session"} {
		use, err := l.SessionUse(ctx, session)
		add(use, err)
	}
	pending, err := l.PendingApprovals(ctx)
	add(pending, err)
	channels, err := l.Channels(ctx)
	add(channels, err)
	balance, err := l.Balance(ctx)
	add(balance, err)
	spent, err := l.Spent(ctx, "2026-03-01")
	add(spent, err)
	deliveries, err := l.PendingDeliveries(ctx, "telegram")
	add(deliveries, err)
	sent, err := l.MessageDeliveries(ctx, "m-answered")
	add(sent, err)
	inbox, err := l.Unhandled(ctx, "telegram")
	add(inbox, err)
	records, err := l.Records(ctx, "telegram", "")
	add(records, err)
	settings, err := l.Settings(ctx)
	add(settings, err)
	jobs, err := l.Jobs(ctx)
	add(jobs, err)
	occurrences, err := l.Occurrences(ctx, "job-1", time.Time{}, 100)
	add(occurrences, err)
	var text strings.Builder
	for _, what := range all {
		b, err := json.Marshal(what)
		check.OK(t, err)
		var plain any
		check.OK(t, json.Unmarshal(b, &plain))
		b, err = json.Marshal(withoutZeros(plain))
		check.OK(t, err)
		_, _ = fmt.Fprintf(&text, "%T %s\n", what, b)
	}
	return text.String()
}

// whole reads listed messages one by one, and checks that the list describes their content.
func whole(t *testing.T, l *sqlite.Ledger, listed []core.Message) []core.Message {
	t.Helper()
	all := make([]core.Message, len(listed))
	for i, m := range listed {
		var err error
		all[i], err = l.Message(t.Context(), m.ID)
		check.OK(t, err)
		if want := all[i].Prompt.Short(); want.IsZero() || !reflect.DeepEqual(m.Prompt, want) || m.Content.Text != "" || m.Content.Blocks != nil {
			t.Errorf("%s is listed with %+.200v and %+.200v, want %+.200v and no content", m.ID, m.Prompt, m.Content, want)
		}
		all[i].Prompt = core.Prompt{} // follows from the content, which is compared
	}
	return all
}

// withoutZeros leaves out the fields that say nothing, so that records may get more of
// them.
func withoutZeros(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			switch field := withoutZeros(field).(type) {
			case nil:
				delete(v, name)
			case string, bool, float64:
				if field == "" || field == false || field == 0.0 || field == "0001-01-01T00:00:00Z" {
					delete(v, name)
				}
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
	}
	return v
}

// TestStoredLedgersOpen opens what the programs of each schema have left: all that they knew
// is there, and what has come since can be used.
func TestStoredLedgersOpen(t *testing.T) {
	t.Parallel()
	for schema := firstSchema; schema <= sqlite.Program().Schema; schema++ {
		t.Run(strconv.Itoa(schema), func(t *testing.T) {
			t.Parallel()
			path := stored(t, schema)
			golden := fmt.Sprintf("testdata/v%d.txt", schema)
			l := openAt(t, path)
			got := contents(t, l)
			if os.Getenv("BARECLAW_TEST_UPDATE") != "" {
				check.OK(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			check.OK(t, err)
			for _, line := range onlyIn(got, string(want)) {
				t.Errorf("it holds %s, which %s has not", line, golden)
			}
			for _, line := range onlyIn(string(want), got) {
				t.Errorf("it does not hold %s, which %s has", line, golden)
			}
			if got != string(want) && !t.Failed() {
				t.Errorf("it holds the lines of %s in another order, or another number of times", golden)
			}
			if v, err := sqlite.Inspect(path); err != nil || v != sqlite.Program() {
				t.Errorf("it is %+v, %v", v, err)
			}
			before, err := l.Balance(t.Context())
			check.OK(t, err)
			m := ledgertest.Message("tg-1")
			ledgertest.MustWrite(t, l, core.Change{Accept: []*core.Message{m}, Inbound: []*core.Inbound{{ID: "later", Adapter: "telegram", ReceivedAt: ledgertest.Day}}})
			if generation, err := l.NextGeneration(t.Context()); err != nil || generation != 4 {
				t.Errorf("generation is %d, %v", generation, err)
			}
			before.Accepted++
			before.Waiting++
			ledgertest.WantBalance(t, l, before)
		})
	}
}

// onlyIn returns the lines that a text has and another one has not.
func onlyIn(text, other string) []string {
	lines := strings.Split(other, "\n")
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return slices.Contains(lines, line) })
}

// TestNewLedgerHasTheStoredTables: a file that this program makes has the columns and indexes of
// one that was raised from schema to schema. Only a table without a use, of before the first
// release, is gone.
func TestNewLedgerHasTheStoredTables(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "ledger.db")
	check.OK(t, openAt(t, made).Close())
	raised := storedFirst(t)
	check.OK(t, openAt(t, raised).Close())
	got, want := shape(t, made), shape(t, raised)
	if delete(want, "moves"); !reflect.DeepEqual(got, want) {
		t.Errorf("a new ledger has\n%v\nwant\n%v", got, want)
	}
}

// shape returns the columns and indexes of each table, sorted.
func shape(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check.OK(t, err)
	defer func() { check.OK(t, db.Close()) }()
	rows, err := db.Query(`SELECT s.name, group_concat(c.name||' '||c.type||' '||c."notnull"||' '||coalesce(c.dflt_value,'')||' '||c.pk, ', ' ORDER BY c.name)
		||coalesce((SELECT group_concat(coalesce(i.sql, i.type), '; ' ORDER BY i.name) FROM sqlite_schema i WHERE i.tbl_name=s.name AND i.type='index'), '')
		FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type='table' GROUP BY s.name`)
	check.OK(t, err)
	defer func() { _ = rows.Close() }()
	all := map[string]string{}
	for rows.Next() {
		var table, columns string
		check.OK(t, rows.Scan(&table, &columns))
		all[table] = columns
	}
	check.OK(t, rows.Err())
	return all
}

// additive is what a program to come might add.
const additive = `
ALTER TABLE messages ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
ALTER TABLE arrivals ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';
CREATE TABLE dreams (id TEXT PRIMARY KEY) STRICT;
INSERT INTO dreams(id) VALUES ('sheep');
`

// TestOldAndNewProgram has a file go back and forth between this program and one to
// come that adds to it.
func TestOldAndNewProgram(t *testing.T) {
	t.Parallel()
	path := storedFirst(t)
	l := openAt(t, path)
	before := contents(t, l)
	want, err := l.Balance(t.Context())
	check.OK(t, err)
	check.OK(t, l.Close())
	for round := range 2 {
		l, err := sqlite.OpenAsLater(path, slog.New(slog.DiscardHandler), additive)
		check.OK(t, err)
		if got := contents(t, l); round == 0 && got != before {
			t.Errorf("the program to come reads\n%s\nwant\n%s", got, before)
		}
		ledgertest.MustWrite(t, l, core.Change{Accept: []*core.Message{ledgertest.Message("c")}})
		check.OK(t, l.Close())
		l = openAt(t, path)
		m := ledgertest.Message("c")
		ledgertest.MustWrite(t, l, ledgertest.Accepted(m, ledgertest.TurnOf(m)))
		want.Accepted += 2
		want.Waiting += 2
		ledgertest.WantBalance(t, l, want)
		check.OK(t, l.Close())
		v, err := sqlite.Inspect(path)
		if want := (sqlite.Version{Schema: sqlite.Program().Schema + 1, MinReader: sqlite.Program().MinReader}); err != nil || v != want {
			t.Errorf("it is %+v, %v, want %+v", v, err, want)
		}
	}
	db, err := sql.Open("sqlite", path)
	check.OK(t, err)
	defer func() { check.OK(t, db.Close()) }()
	var dreams, calm int64
	check.OK(t, db.QueryRow("SELECT (SELECT count(*) FROM dreams), (SELECT count(*) FROM messages WHERE mood='calm')").Scan(&dreams, &calm))
	if dreams != 1 || calm != want.Accepted {
		t.Errorf("of what was added, %d and %d are there", dreams, calm)
	}
}

// TestCopy copies a ledger that is open and has rows in its log.
func TestCopy(t *testing.T) {
	t.Parallel()
	from := storedFirst(t)
	want := contents(t, openAt(t, from))
	to := filepath.Join(t.TempDir(), "copy?of%it.db")
	check.OK(t, sqlite.Copy(from, to))
	info, err := os.Stat(to)
	check.OK(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %o", info.Mode().Perm())
	}
	if v, err := sqlite.Check(to); err != nil || v.Schema != sqlite.Program().Schema {
		t.Errorf("the copy is %+v, %v", v, err)
	}
	if got := contents(t, openAt(t, to)); got != want {
		t.Errorf("the copy holds\n%s\nwant\n%s", got, want)
	}
	if err := sqlite.Copy(to, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto what is there: %v", err)
	}
}

// TestCheckRefuses looks at files that are no ledgers, or not any more.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rubbish, foreign, damaged := filepath.Join(dir, "rubbish"), filepath.Join(dir, "foreign"), storedFirst(t)
	check.OK(t, os.WriteFile(rubbish, []byte(strings.Repeat("rubbish ", 1000)), 0o600))
	run(t, foreign, "CREATE TABLE x(y)")
	check.OK(t, openAt(t, damaged).Close())
	b, err := os.ReadFile(damaged)
	check.OK(t, err)
	clear(b[len(b)/2:])
	check.OK(t, os.WriteFile(damaged, b, 0o600))
	for path, says := range map[string]string{
		rubbish: "not a database", foreign: "another program", damaged: "", filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := sqlite.Check(path); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error is %v", path, err)
		}
	}
}
