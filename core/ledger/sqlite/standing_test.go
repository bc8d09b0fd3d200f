package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"bareclaw/core/ledger/sqlite"
	"bareclaw/internal/testkit/check"
)

// TestStandingIsOfTheContents: whatever a ledger has for Claude at the next start is read, and what a
// foreign ledger says about a message does not count.
func TestStandingIsOfTheContents(t *testing.T) {
	t.Parallel()
	path := storedFirst(t)
	run(t, path, `
INSERT INTO arrivals(id, seq, channel, received_at, doc, content) VALUES('m-new', 90, 'desk', 0, '{"prompt":{"text":"harmless"}}', 'arrived');
INSERT INTO arrivals(id, seq, channel, received_at, doc, content, turn, line) VALUES('m-cut', 91, 'desk', 0, '{}', 'said', 't-cut', 'the line');
INSERT INTO deliveries(id, seq, adapter, channel, state, created_at, ended_at, doc, body) VALUES('push:x', 92, 'telegram', 'tg-66', 'pending', 0, 0, '{}', '{}');
INSERT INTO inbox(id, adapter, received_at, handled, body) VALUES('u-new', 'telegram', 0, 0, 'update');`)
	s, err := sqlite.ReadStanding(t.Context(), path)
	check.OK(t, err)
	given := fmt.Sprint(s.Given)
	for _, want := range []string{"{desk arrived}", "{desk said}", "{desk the line}", "{tg-1 é}"} {
		if !strings.Contains(given, want) {
			t.Errorf("%s is not in %.2000s", want, given)
		}
	}
	if s.Unsent["tg-66"] != 1 {
		t.Errorf("unsent: %v", s.Unsent)
	}
	if strings.Contains(given, "harmless") || strings.Contains(given, "never mind") || s.Inbox < 1 {
		t.Errorf("%d updates, and %.2000s", s.Inbox, given)
	}
}
