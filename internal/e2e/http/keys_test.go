package http

import (
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestIdempotencyKeys holds that a key belongs to its channel, for a week, and that those
// which an older program has recorded are known.
func TestIdempotencyKeys(t *testing.T) {
	m, g := harness.Started(t)
	send := func(channel, text string, status int) harness.Answer {
		t.Helper()
		a, err := g.Do("POST", "/message", harness.Obj{"channel": channel, "text": text}, "Idempotency-Key", "k")
		if err != nil || a.Status != status {
			t.Fatalf("%q on %s: %v, status %d, want %d: %s", text, channel, err, a.Status, status, a.Body)
		}
		return a
	}
	same := func(when string, a, b harness.Answer) {
		t.Helper()
		if a.Str("message_id") != b.Str("message_id") || b.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s the message is made again: %s, then %s", when, a.Body, b.Body)
		}
	}
	other := func(when string, a, b harness.Answer) {
		t.Helper()
		if a.Str("message_id") == b.Str("message_id") || b.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s the message is not made: %s, then %s", when, a.Body, b.Body)
		}
	}
	// offline changes the ledger while no daemon runs.
	offline := func(query string, args ...any) {
		t.Helper()
		g.Balanced()
		g.Signal(syscall.SIGTERM)
		db := m.LedgerFile()
		r, err := db.Exec(query, args...)
		check.OK(t, err)
		if n, err := r.RowsAffected(); n == 0 || err != nil {
			t.Fatalf("%s changed %d rows, %v", query, n, err)
		}
		check.OK(t, db.Close())
		g = m.Start()
	}
	one := send("one", "echo hello", 200)
	two := send("two", "echo hello", 200)
	other("on another channel", one, two)
	same("on its channel", one, send("one", "echo hello", 200))
	same("on the other channel", two, send("two", "echo hello", 200))
	send("one", "echo else", 422)

	age := func(d time.Duration) {
		offline(`UPDATE messages SET received_at=? WHERE id=?`, time.Now().Add(-d).UnixNano(), one.Str("message_id"))
	}
	age(7*24*time.Hour - time.Hour)
	same("after less than a week", one, send("one", "echo hello", 200))
	age(7*24*time.Hour + time.Hour)
	later := send("one", "echo else", 200)
	later.Want(t, "else")
	other("after a week", one, later)
	same("and it is the newer one's", later, send("one", "echo else", 200))
	g.Must("GET", "/messages/"+one.Str("message_id"), nil, 200).Want(t, "hello")
	g.Balanced()
}
