package findings

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/rules"
)

// n1 is a rule.
func n1() *rules.Rule {
	known := ruleOf("n1")
	return &rules.Rule{
		ID:       known.ID,
		Severity: known.Severity,
		Title:    known.Title,
		Advice:   known.Advice,
	}
}

// app is an app whose requests are judged.
type app struct {
	t        *testing.T
	dir      string
	stores   *memoryStores
	logged   *bytes.Buffer
	store    *Store
	requests int
}

// memoryStores is Stores.
type memoryStores struct{ id, before string }

func (m *memoryStores) Trusted(store string) bool { return store == m.id || store == m.before }

func (m *memoryStores) Remember(store string) {
	m.before = m.id
	m.id = store
}

// newApp returns an app in a new directory.
func newApp(t *testing.T) *app {
	t.Helper()
	a := &app{
		t:      t,
		dir:    filepath.Join(t.TempDir(), ".brakit"),
		stores: &memoryStores{},
		logged: &bytes.Buffer{},
	}
	a.open()
	return a
}

// open opens the store as after kill -9: the one before is not asked for anything.
func (a *app) open() {
	a.t.Helper()
	s, err := OpenStore(a.dir, a.stores, slog.New(slog.NewTextHandler(a.logged, nil)))
	check.OK(a.t, err)
	a.store = s
}

// request returns the judgement of the next request, which began a second after the one before.
func (a *app) request(matches ...rules.Match) Judgement {
	a.requests++
	return Judgement{
		Rule:     n1(),
		Request:  fmt.Sprint("r", a.requests),
		Endpoint: "GET /items",
		Run:      1,
		At:       time.Now().Add(time.Duration(a.requests) * time.Second),
		Status:   200,
		Clean:    true,
		Matches:  matches,
	}
}

// flaw is a match with a count.
func flaw(count int) rules.Match {
	return rules.Match{Description: rules.Describe("%s queries of items", rules.Count(count))}
}

// clean judges requests without a match.
func (a *app) clean(count int) {
	for range count {
		a.store.Judge(a.request())
	}
}

// only returns the only finding.
func (a *app) only() Finding {
	a.t.Helper()
	all := a.store.All()
	if len(all) != 1 {
		a.t.Fatalf("there are %d findings: %+v", len(all), all)
	}
	return all[0]
}

// wantState ends the test if the only finding is in another state.
func (a *app) wantState(want State) Finding {
	a.t.Helper()
	f := a.only()
	if f.State != want {
		a.t.Fatalf("the finding is %q, want %q: %+v", f.State, want, f)
	}
	return f
}

// TestLifeOfFinding: a finding is found, said to be fixed, seen again, fixed, resolved and reopened; at each
// step the observer is killed, and people are told each thing once.
func TestLifeOfFinding(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	restart := func() {
		a.store.save()
		a.open()
	}
	a.store.Judge(a.request(flaw(7)))
	restart()
	a.wantNews(New)
	restart()
	a.wantNews()
	a.store.Judge(a.request(flaw(8)))
	f := a.wantState(Open)
	if f.Occurrences != 2 || f.Description != "8 queries of items" || f.Severity != rules.Critical || f.Advice == "" || !slices.Equal(f.Requests, []string{"r1", "r2"}) {
		t.Errorf("the finding is %+v", f)
	}
	_, err := a.store.Report(f.ID, FixBegun, "")
	check.OK(t, err)
	a.open() // a report is saved when Report returns
	a.store.Judge(a.request(flaw(7)))
	a.wantState(Fixing)
	f, err = a.store.Report(f.ID, Fixed, "joined")
	check.OK(t, err)
	if f.State != Fixing || f.Fix.Note != "joined" {
		t.Errorf("a reported fix: %+v", f)
	}
	a.wantNews()
	a.store.Judge(a.request(flaw(7)))
	restart()
	if f := a.wantState(Open); !f.Fix.Failed {
		t.Errorf("a fix that was none: %+v", f.Fix)
	}
	a.wantNews(StillThere)
	_, err = a.store.Report(f.ID, Fixed, "really")
	check.OK(t, err)
	a.clean(2)
	restart()
	a.clean(CleanHitsForResolution - 3)
	a.wantState(Fixing)
	a.wantNews()
	a.clean(1)
	restart()
	a.wantState(Resolved)
	a.wantNews(ResolvedNews)
	restart()
	a.wantNews()
	a.clean(3)
	a.store.Judge(a.request(flaw(9)))
	restart()
	if f := a.wantState(Open); !f.Regressed || f.Reopens != 1 || f.Occurrences != 5 {
		t.Errorf("a finding that came back: %+v", f)
	}
	a.wantNews(Reopened)
	a.clean(CleanHitsForResolution)
	a.wantNews(ResolvedNews)
}

// TestRequestsBeforeClear: what began before the findings were cleared brings none back.
func TestRequestsBeforeClear(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	old := a.request(flaw(7))
	old.At = time.Now().Add(-time.Second)
	a.store.Clear()
	a.store.Judge(old)
	if all := a.store.All(); len(all) != 0 {
		t.Errorf("an old request was judged: %+v", all)
	}
}

// TestReportErrors: an error says what is taken.
func TestReportErrors(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.store.Judge(a.request(flaw(7)))
	id := a.only().ID
	if _, err := a.store.Report(id, "done", ""); err == nil || !strings.Contains(err.Error(), "fixing, fixed and wont_fix") {
		t.Errorf("an unknown status: %v", err)
	}
	if _, err := a.store.Report("nothing", Fixed, ""); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("an unknown id: %v", err)
	}
	f, err := a.store.Report(id, Fixed, strings.Repeat("é", maxNote))
	check.OK(t, err)
	if len(f.Fix.Note) > maxNote {
		t.Errorf("a note of %d bytes is kept", len(f.Fix.Note))
	}
	if found, ok := a.store.Finding(id); !ok || found.State != Fixing {
		t.Errorf("the finding is %+v", found)
	}
}
