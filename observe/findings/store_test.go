package findings

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
type memoryStores struct{ id string }

func (m *memoryStores) Trusted(store string) bool { return store == m.id }

func (m *memoryStores) Remember(store string) { m.id = store }

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

// wantNews ends the test if people must be told something else, and tells it.
func (a *app) wantNews(want ...ChangeKind) {
	a.t.Helper()
	var got []ChangeKind
	push, _ := a.store.NextPush()
	for _, c := range push.Changes {
		got = append(got, c.Kind)
	}
	if !slices.Equal(got, want) {
		a.t.Fatalf("told %q, want %q", got, want)
	}
	a.store.Delivered(push)
	if left := a.store.Untold(); len(left) > 0 {
		a.t.Fatalf("told twice: %+v", left)
	}
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

// TestPushSurvivesKill: until a push is delivered it is the same one, whatever else is found, and a cleared
// store is another one.
func TestPushSurvivesKill(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	if push, ok := a.store.NextPush(); ok {
		t.Errorf("nothing was found, and told is %+v", push)
	}
	request := a.request(flaw(7))
	request.At = time.Now()
	a.store.Judge(request)
	first, ok := a.store.NextPush()
	if !ok {
		t.Fatal("nothing to tell")
	}
	other := a.request(rules.Match{Description: rules.Describe("another problem")})
	a.store.Judge(other)
	a.store.save()
	a.open()
	again, _ := a.store.NextPush()
	if first.Key != again.Key || asJSON(t, first) != asJSON(t, again) {
		t.Errorf("the push was\n%+v\nand became\n%+v", first, again)
	}
	if untold := a.store.Untold(); len(untold) != 2 {
		t.Errorf("untold are %+v", untold)
	}
	a.store.Delivered(again)
	a.open()
	second, ok := a.store.NextPush()
	if !ok || len(second.Changes) != 1 || second.Changes[0].Finding.Description != "another problem" || second.Key == first.Key {
		t.Errorf("the next push is %+v", second)
	}
	key := second.Changes[0].Key()
	if count := a.store.Clear(); count != 2 {
		t.Errorf("%d findings were cleared", count)
	}
	a.store.Delivered(second)
	a.store.Judge(other)
	late := a.request(rules.Match{Description: rules.Describe("another problem")})
	a.open()
	if all := a.store.All(); len(all) != 0 {
		t.Errorf("after the store was cleared: %+v", all)
	}
	a.store.Judge(late)
	third, ok := a.store.NextPush()
	if !ok || third.Changes[0].Key() == key {
		t.Errorf("the same finding in a cleared store: %+v", third)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	check.OK(t, err)
	return string(b)
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

// TestNotTold: nobody is told of what nobody will fix, nor of what is good to know only, nor of what came and went.
func TestNotTold(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.store.Judge(a.request(flaw(7)))
	a.clean(CleanHitsForResolution)
	a.wantNews()
	a.store.Judge(a.request(flaw(7)))
	_, err := a.store.Report(a.only().ID, WontFix, "")
	check.OK(t, err)
	a.wantNews()
	a.clean(CleanHitsForResolution)
	a.store.Judge(a.request(flaw(7)))
	a.wantState(Open)
	a.wantNews()
	info := a.request(rules.Match{Description: rules.Describe("large")})
	info.Rule.Severity = rules.Info
	a.store.Judge(info)
	a.wantNews()
}

// TestOccurrencesCountRequests: later looks at a request count nothing twice.
func TestOccurrencesCountRequests(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	first := a.request()
	first.Clean = false
	a.store.Judge(first)
	first.Matches = []rules.Match{flaw(6)}
	a.store.Judge(first)
	second := a.request(flaw(7), flaw(7))
	a.store.Judge(second)
	a.store.Judge(first)
	second.Clean = false
	a.store.Judge(second)
	if f := a.only(); f.Occurrences != 2 {
		t.Errorf("two requests count %d times: %+v", f.Occurrences, f)
	}
	for range 3 {
		third := a.request()
		a.store.Judge(third)
		a.store.Judge(third)
	}
	if f := a.only(); f.CleanHits != 3 {
		t.Errorf("three requests are %d clean hits", f.CleanHits)
	}
	// What a request shows late takes back that it was clean.
	late := a.request()
	a.store.Judge(late)
	late.Matches = []rules.Match{flaw(7)}
	late.Clean = false
	a.store.Judge(late)
	if f := a.only(); f.CleanHits != 0 || f.Occurrences != 3 {
		t.Errorf("after a late signal: %+v", f)
	}
}

// TestNoEvidence: what proves nothing is no clean hit.
func TestNoEvidence(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(j *Judgement){
		"no evidence":          func(j *Judgement) { j.Clean = false },
		"a login":              func(j *Judgement) { j.Status = 302 },
		"another endpoint":     func(j *Judgement) { j.Endpoint = "GET /others" },
		"another rule":         func(j *Judgement) { j.Rule = &rules.Rule{ID: "slow"} },
		"began before":         func(j *Judgement) { j.At = j.At.Add(-time.Hour) },
		"is over a limit":      func(j *Judgement) { j.Near = []rules.Match{flaw(3)} },
		"has it with a figure": func(j *Judgement) { j.Matches = []rules.Match{flaw(3)} },
	} {
		a := newApp(t)
		a.store.Judge(a.request(flaw(7)))
		for range 2 * CleanHitsForResolution {
			j := a.request()
			change(&j)
			a.store.Judge(j)
		}
		if f := a.wantState(Open); f.CleanHits != 0 {
			t.Errorf("%s: %d clean hits", name, f.CleanHits)
		}
	}
}

// TestWholeApp: a finding of the whole app is resolved when each endpoint that showed it is clean, in one run.
func TestWholeApp(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	match := rules.Match{Endpoint: rules.Global, Description: rules.Describe("one query everywhere")}
	first := a.request(match)
	id := rules.FindingID("n1", rules.Global, match.Description)
	first.Shown = map[string][]string{id: {"GET /items", "GET /a", "GET /b"}}
	a.store.Judge(first)
	visit := func(run int, endpoint string, count int) {
		for range count {
			j := a.request()
			j.Endpoint = endpoint
			j.Run = run
			a.store.Judge(j)
		}
	}
	visit(1, "GET /c", 10) // has never shown it
	visit(1, "GET /items", 10)
	visit(1, "GET /a", 1)
	a.wantState(Open)
	a.store.save()
	a.open()
	visit(1, "GET /b", 10) // of another observer, which counts runs anew
	a.wantState(Open)
	visit(2, "GET /b", 10) // the others may still be as they were
	visit(2, "GET /items", 1)
	if f := a.wantState(Open); f.CleanHits > 2*CleanHitsForResolution {
		t.Errorf("%d clean hits", f.CleanHits)
	}
	visit(2, "GET /a", 1)
	a.wantState(Resolved)
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

// TestFindingsAreBounded: the resolved one that is the oldest goes first, then the one that was not seen for the longest time.
func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	judge := func(endpoint string, matches ...rules.Match) {
		j := a.request(matches...)
		j.Endpoint = endpoint
		a.store.Judge(j)
	}
	for i := range maxFindings {
		judge(fmt.Sprintf("GET /%d", i), flaw(7))
	}
	for _, endpoint := range []string{"GET /500", "GET /400"} {
		for range CleanHitsForResolution {
			judge(endpoint)
		}
	}
	has := func(endpoint string) bool {
		_, ok := a.store.Finding(rules.FindingID("n1", endpoint, flaw(7).Description))
		return ok
	}
	for i, goes := range []string{"GET /500", "GET /400", "GET /0", "GET /1"} {
		if !has(goes) {
			t.Errorf("%s went too early", goes)
		}
		judge(fmt.Sprintf("GET /new/%d", i), flaw(7))
		if has(goes) || len(a.store.All()) != maxFindings {
			t.Errorf("%s did not go; there are %d", goes, len(a.store.All()))
		}
	}
	a.store.save()
	a.open()
	if len(a.store.All()) != maxFindings {
		t.Errorf("%d are loaded", len(a.store.All()))
	}
}

// TestWhatIsForgotten: of too many findings the resolved ones go first, then what is good to know, then warnings; a new one
// that is less than all of them is not kept, and what nobody will fix stays, so that it is not told again.
func TestWhatIsForgotten(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	see := func(rule, endpoint string) string {
		j := a.request(flaw(7))
		j.Rule = ruleOf(rule)
		j.Endpoint = endpoint
		a.store.Judge(j)
		return rules.FindingID(rule, endpoint, flaw(7).Description)
	}
	info := see("large-response", "GET /info")
	unwanted := see("slow", "GET /unwanted")
	gone := see("slow", "GET /gone")
	for _, id := range []string{unwanted, gone} {
		for range CleanHitsForResolution {
			j := a.request()
			j.Rule = ruleOf("slow")
			j.Endpoint = map[string]string{unwanted: "GET /unwanted", gone: "GET /gone"}[id]
			a.store.Judge(j)
		}
	}
	_, err := a.store.Report(unwanted, WontFix, "")
	check.OK(t, err)
	critical := see("n1", "GET /critical")
	for i := range maxFindings - 4 {
		see("slow", fmt.Sprintf("GET /%d", i))
	}
	has := func(id string) bool {
		_, ok := a.store.Finding(id)
		return ok
	}
	goesFor := func(id, rule, endpoint string) {
		t.Helper()
		if !has(id) {
			t.Errorf("%s went too early", id)
		}
		see(rule, endpoint)
		if has(id) || len(a.store.All()) != maxFindings {
			t.Errorf("%s did not go; there are %d", id, len(a.store.All()))
		}
	}
	goesFor(gone, "large-response", "GET /second")
	goesFor(info, "slow", "GET /third")
	goesFor(rules.FindingID("large-response", "GET /second", flaw(7).Description), "n1", "GET /fourth")
	if less := see("large-response", "GET /fifth"); has(less) {
		t.Error("a warning went for what is good to know")
	}
	for i := range maxFindings {
		see("n1", fmt.Sprintf("GET /more/%d", i))
		if i < maxFindings-3 && !has(critical) {
			t.Fatalf("the critical one went for the new one number %d", i)
		}
	}
	if less := see("slow", "GET /sixth"); has(less) {
		t.Error("a critical one went for a warning")
	}
	if !has(unwanted) {
		t.Error("what nobody will fix was forgotten")
	}
}

// TestRunSaves: a new state is saved at once, counts after 10 s, and everything when the observer ends.
func TestRunSaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApp(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			a.store.Run(ctx)
			close(ended)
		}()
		saved := func() int {
			t.Helper()
			s, err := OpenStore(a.dir, a.stores, slog.New(slog.DiscardHandler))
			check.OK(t, err)
			all := s.All()
			if len(all) != 1 {
				t.Fatalf("saved are %+v", all)
			}
			return all[0].Occurrences
		}
		a.store.Judge(a.request(flaw(7)))
		synctest.Wait()
		if saved() != 1 {
			t.Error("a new finding is not saved at once")
		}
		<-a.store.Changed()
		a.store.Judge(a.request(flaw(7)))
		synctest.Wait()
		if saved() != 1 {
			t.Error("a count is saved at once")
		}
		time.Sleep(saveInterval)
		synctest.Wait()
		if saved() != 2 {
			t.Error("a count is not saved after some time")
		}
		a.store.Judge(a.request(flaw(7)))
		cancel()
		<-ended
		if saved() != 3 {
			t.Error("a count is not saved at the end")
		}
	})
}
