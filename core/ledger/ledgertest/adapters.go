package ledgertest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
)

func testDeliveries(t *testing.T, s Subject) {
	l := s.open(t)
	d := func(id, adapter string, of core.MessageID) *core.Delivery {
		return &core.Delivery{
			ID:        id,
			Kind:      "k",
			Adapter:   adapter,
			Channel:   "c",
			Message:   of,
			Body:      json.RawMessage(`{"a":1}`),
			CreatedAt: Day,
		}
	}
	MustWrite(t, l, deliver(d("1", "a", "m"), d("2", "a", ""), d("3", "b", "m")))
	MustWrite(t, l, deliver(d("1", "other", "other"))) // known: ignored
	pending, err := l.PendingDeliveries(t.Context(), "a")
	if err != nil || len(pending) != 2 || pending[0].ID != "1" || pending[1].ID != "2" || string(pending[0].Body) != `{"a":1}` {
		t.Fatalf("pending: %+v, %v", pending, err)
	}
	one := pending[0]
	one.Progress = json.RawMessage(`[7]`)
	one.Attempts = 2
	one.Error = "slow"
	MustWrite(t, l, delivered(&one))
	one.State = core.DeliveryFailed
	one.EndedAt = Day.Add(time.Hour)
	MustWrite(t, l, delivered(&one))
	again := one
	again.State = core.DeliverySent
	MustWrite(t, l, delivered(&again)) // it has ended: it stays
	got, err := l.Delivery(t.Context(), "1")
	wantRead(t, "delivery", got, err, one)
	if pending, err = l.PendingDeliveries(t.Context(), "a"); err != nil || len(pending) != 1 || pending[0].ID != "2" {
		t.Errorf("pending: %+v, %v", pending, err)
	}
	testRedeliver(t, l, d("2", "a", ""))
	if of, err := l.MessageDeliveries(t.Context(), "m"); err != nil || len(of) != 2 || of[0].ID != "1" || of[1].ID != "3" {
		t.Errorf("of a message: %+v, %v", of, err)
	}
	if _, err := l.Delivery(t.Context(), "none"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("unknown delivery: %v", err)
	}
}

// testRedeliver has deliveries recorded anew, of which one is pending.
func testRedeliver(t *testing.T, l Ledger, pending *core.Delivery) {
	t.Helper()
	redeliver := func(d core.Delivery) {
		d.State = core.DeliveryPending
		d.Channel = "c2"
		d.Body = json.RawMessage(`{"a":2}`)
		d.CreatedAt = Day.Add(2 * time.Hour)
		d.Attempts = 0
		d.Error = ""
		MustWrite(t, l, core.Change{Redeliver: []*core.Delivery{&d}})
	}
	failed := *pending
	failed.State = core.DeliveryFailed
	failed.Attempts = 3
	failed.Error = "blocked"
	failed.EndedAt = Day.Add(time.Hour)
	begun := failed
	begun.ID = "begun"
	begun.State = core.DeliveryPending
	MustWrite(t, l, deliver(&begun))
	begun.State = core.DeliveryFailed
	begun.Progress = json.RawMessage(`[7]`)
	MustWrite(t, l, delivered(&begun))
	unknown := *pending
	unknown.ID = "new"
	redeliver(begun)
	redeliver(unknown)
	redeliver(*pending)
	for id, want := range map[string]core.ChannelKey{"new": "c2", pending.ID: "c", "begun": "c"} {
		if got, err := l.Delivery(t.Context(), id); err != nil || got.Channel != want {
			t.Errorf("%s delivered anew: %+v, %v", id, got, err)
		}
	}
	MustWrite(t, l, delivered(&failed))
	redeliver(failed)
	want := *pending
	want.State = core.DeliveryPending
	want.Channel = "c2"
	want.Body = json.RawMessage(`{"a":2}`)
	want.CreatedAt = Day.Add(2 * time.Hour)
	got, err := l.Delivery(t.Context(), pending.ID)
	wantRead(t, "failed delivery, delivered anew", got, err, want)
}

// What was received is there after the process has ended, until it is handled; and
// what was handled is known for as long as it may be delivered again.
func testInbox(t *testing.T, s Subject) {
	dir := t.TempDir()
	l := s.openIn(t, dir)
	in := func(id string, at time.Time) *core.Inbound {
		return &core.Inbound{
			ID:         id,
			Adapter:    "a",
			Body:       json.RawMessage(`"` + id + `"`),
			ReceivedAt: at,
		}
	}
	MustWrite(t, l, receive(in("1", Day), in("2", Day.Add(time.Hour)), in("3", Day.Add(2*time.Hour))))
	MustWrite(t, l, core.Change{Handled: []string{"1", "3"}})
	check.OK(t, l.Close())
	l = s.openIn(t, dir)
	MustWrite(t, l, receive(in("1", Day))) // again
	left, err := l.Unhandled(t.Context(), "a")
	if err != nil || len(left) != 1 || left[0].ID != "2" || string(left[0].Body) != `"2"` {
		t.Errorf("not handled: %+v, %v", left, err)
	}
	last, err := l.LastInbound(t.Context(), "a")
	if err != nil || last.ID != "3" || !last.Handled || last.Body != nil {
		t.Errorf("last: %+v, %v", last, err)
	}
	MustWrite(t, l, core.Change{ForgetInbound: Day.Add(3 * time.Hour)})
	if last, err = l.LastInbound(t.Context(), "a"); err != nil || last.ID != "2" {
		t.Errorf("what is not handled was forgotten, or what is was not: %+v, %v", last, err)
	}
	if _, err := l.LastInbound(t.Context(), "b"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("of another adapter: %v", err)
	}
}

func testRecords(t *testing.T, s Subject) {
	l := s.open(t)
	r := func(owner, key, doc string) *core.Record {
		rec := &core.Record{Owner: owner, Key: key, At: Day}
		if doc != "" {
			rec.Doc = json.RawMessage(doc)
		}
		return rec
	}
	MustWrite(t, l, records(r("a", "x:2", "2"), r("a", "x:1", "1"), r("a", "y", "3"), r("b", "x:1", "4"), r("a", "x", "5")))
	MustWrite(t, l, records(r("a", "x:2", "6"), r("a", "y", "")))
	for prefix, want := range map[string]string{
		"x:": "1 6 ",
		"":   "5 1 6 ",
		"z":  "",
		"x":  "5 1 6 ",
	} {
		rs, err := l.Records(t.Context(), "a", prefix)
		got := ""
		for _, r := range rs {
			got += string(r.Doc) + " "
		}
		if err != nil || got != want {
			t.Errorf("records with %q: %q, %v; want %q", prefix, got, err, want)
		}
	}
	for before, want := range map[time.Time]int{Day: 2, Day.Add(1): 0} {
		l := s.open(t)
		MustWrite(t, l, records(r("a", "x:1", "1"), r("a", "x:2", "1"), r("a", "y", "1"), r("b", "x:1", "1")))
		MustWrite(t, l, core.Change{ForgetRecords: []core.RecordRange{{Owner: "a", Prefix: "x:", Before: before}}})
		gone, err := l.Records(t.Context(), "a", "x:")
		rest, err2 := l.Records(t.Context(), "a", "y")
		others, err3 := l.Records(t.Context(), "b", "x:")
		if errors.Join(err, err2, err3) != nil || len(gone) != want || len(rest) != 1 || len(others) != 1 {
			t.Errorf("before %s: %d, %d and %d are left", before, len(gone), len(rest), len(others))
		}
	}
	one, err := l.Record(t.Context(), "b", "x:1")
	if err != nil || string(one.Doc) != "4" || !one.At.Equal(Day) {
		t.Errorf("record: %+v, %v", one, err)
	}
	if _, err := l.Record(t.Context(), "a", "y"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("removed record: %v", err)
	}
}
