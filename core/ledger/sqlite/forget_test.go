package sqlite

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// kept are the tables with a channel that keep their rows when the channel is removed, with why.
var kept = map[string]string{
	"arrivals":  "they are posted to messages before anything is forgotten",
	"schedules": "the API removes them with the channel, one by one (adapters/httpapi/channels.go)",
}

// TestRemovedChannelLeavesNothing holds that each table with a channel has a step that forgets the
// channel, or a reason to keep its rows.
func TestRemovedChannelLeavesNothing(t *testing.T) {
	t.Parallel()
	l, err := Open(filepath.Join(t.TempDir(), "ledger.db"), slog.New(slog.DiscardHandler))
	check.OK(t, err)
	defer func() { check.OK(t, l.Close()) }()
	text := func(scan scanFunc) (s string, err error) { return s, scan(&s) }
	tables, err := readAll(t.Context(), l.reader, "the tables with a channel", text, `SELECT s.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type='table' AND c.name='channel'`)
	check.OK(t, err)
	if len(tables) < 5 {
		t.Fatalf("only %q have a channel", tables)
	}
	var steps strings.Builder
	for _, s := range forgetSteps {
		steps.WriteString(s.query + "\n")
	}
	for _, table := range tables {
		forgotten := strings.Contains(steps.String(), "DELETE FROM "+table+" ") || strings.Contains(steps.String(), "UPDATE "+table+" ")
		if reason := kept[table]; forgotten == (reason != "") {
			t.Errorf("%s: forgotten %v, kept because %q: a table needs one of the two", table, forgotten, reason)
		}
	}
}
