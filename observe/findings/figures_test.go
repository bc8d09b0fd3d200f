package findings

import (
	"log/slog"
	"testing"

	"bareclaw/internal/testkit/check"
)

// reopened returns the history that the next observer of an app has.
func reopened(t *testing.T, a *app) *History {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s, err := OpenStore(a.dir, a.stores, log)
	check.OK(t, err)
	h, err := OpenHistory(a.dir, s, log)
	check.OK(t, err)
	return h
}

// TestFiguresWithoutFindings: the figures of an app in which nothing was found are there for the next observer.
func TestFiguresWithoutFindings(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	h, err := OpenHistory(a.dir, a.store, slog.New(slog.DiscardHandler))
	check.OK(t, err)
	h.Add(Measuring{Run: 1, Endpoint: "GET /", At: after(1)})
	a.store.save() // as when Run ends
	h.save()
	if earlier := reopened(t, a).Earlier("GET /"); len(earlier) != 1 {
		t.Errorf("after a restart: %+v", earlier)
	}
}

// TestFiguresKilledAfterClear: an observer that is killed within 30 s after the findings were cleared loses no figures.
func TestFiguresKilledAfterClear(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	h, err := OpenHistory(a.dir, a.store, slog.New(slog.DiscardHandler))
	check.OK(t, err)
	a.store.Judge(a.request(flaw(7)))
	h.Add(Measuring{Run: 1, Endpoint: "GET /", At: after(1)})
	a.store.save()
	h.save()
	a.store.Clear() // and killed here
	if earlier := reopened(t, a).Earlier("GET /"); len(earlier) != 1 {
		t.Errorf("after a kill: %+v", earlier)
	}
}
