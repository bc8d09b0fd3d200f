package findings

import (
	"testing"
	"time"

	"bareclaw/observe/rules"
)

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
