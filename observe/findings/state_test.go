package findings

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"bareclaw/observe/rules"
)

// day is when the time of these tests begins.
func day() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// after returns a time some seconds after day.
func after(seconds int) time.Time { return day().Add(time.Duration(seconds) * time.Second) }

// inState returns a finding that was seen 10 s after day, and has come to a state.
func inState(state State, fix FixStatus) *record {
	r := &record{Finding: Finding{ID: "f", Severity: rules.Warning, Endpoint: "GET /"}}
	if state == "" {
		return r
	}
	r.apply(event{kind: seen, at: after(10), hit: hit{Request: "first", Endpoint: "GET /", Status: 200, At: after(10)}})
	if fix != "" {
		r.apply(event{kind: reported, at: after(20), fix: Fix{Status: fix, At: after(20)}})
	}
	if state == Resolved {
		for i := range CleanHitsForResolution {
			r.apply(event{kind: clean, at: after(30 + i), hit: hit{Request: fmt.Sprint("clean", i), Endpoint: "GET /", Status: 200, At: after(30 + i)}})
		}
	}
	return r
}

// TestTransitions: what each event does to a finding in each state.
func TestTransitions(t *testing.T) {
	t.Parallel()
	type facts struct {
		state     State
		fix       FixStatus // reported at 20 s; empty: none
		cleanHits int       // before, one each second from 21 s
	}
	none := facts{}
	open := facts{state: Open}
	fixing := facts{state: Fixing, fix: FixBegun}
	fixed := facts{state: Fixing, fix: Fixed}
	refused := facts{state: Open, fix: WontFix}
	almost := facts{state: Open, cleanHits: CleanHitsForResolution - 1}
	fixedAlmost := facts{state: Fixing, fix: Fixed, cleanHits: CleanHitsForResolution - 1}
	resolved := facts{state: Resolved} // at 34 s
	resolvedFixing := facts{state: Resolved, fix: FixBegun}
	resolvedFixed := facts{state: Resolved, fix: Fixed}
	resolvedRefused := facts{state: Resolved, fix: WontFix}
	for _, c := range []struct {
		from  facts
		event event
		want  State
		news  ChangeKind // to people who know of the state before
	}{
		{none, event{kind: seen, at: after(40)}, Open, New},
		{open, event{kind: seen, at: after(40)}, Open, ""},
		{almost, event{kind: seen, at: after(40)}, Open, ""},
		{refused, event{kind: seen, at: after(40)}, Open, ""},
		{fixing, event{kind: seen, at: after(40)}, Fixing, ""},
		{fixed, event{kind: seen, at: after(40)}, Open, StillThere},
		{fixedAlmost, event{kind: seen, at: after(40)}, Open, StillThere},
		{resolved, event{kind: seen, at: after(40)}, Open, Reopened},
		{resolvedFixing, event{kind: seen, at: after(40)}, Open, Reopened},
		{resolvedFixed, event{kind: seen, at: after(40)}, Open, Reopened},
		{resolvedRefused, event{kind: seen, at: after(40)}, Open, ""},
		// A request that began before the fix, or before the proof.
		{fixed, event{kind: seen, at: after(15)}, Fixing, ""},
		{resolved, event{kind: seen, at: after(33)}, Resolved, ""},
		{resolvedFixed, event{kind: seen, at: after(15)}, Resolved, ""},

		{open, event{kind: clean, at: after(40)}, Open, ""},
		{fixing, event{kind: clean, at: after(40)}, Fixing, ""},
		{fixed, event{kind: clean, at: after(40)}, Fixing, ""},
		{almost, event{kind: clean, at: after(40)}, Resolved, ResolvedNews},
		{almost, event{kind: clean, at: after(5)}, Open, ""},
		{fixedAlmost, event{kind: clean, at: after(40)}, Resolved, ResolvedNews},
		{resolved, event{kind: clean, at: after(40)}, Resolved, ""},

		{open, event{kind: reported, fix: Fix{Status: FixBegun}}, Fixing, ""},
		{open, event{kind: reported, fix: Fix{Status: Fixed}}, Fixing, ""},
		{open, event{kind: reported, fix: Fix{Status: WontFix}}, Open, ""},
		{refused, event{kind: reported, fix: Fix{Status: FixBegun}}, Fixing, New}, // they were not told before
		{fixing, event{kind: reported, fix: Fix{Status: Fixed}}, Fixing, ""},
		{fixing, event{kind: reported, fix: Fix{Status: WontFix}}, Open, ""},
		{fixed, event{kind: reported, fix: Fix{Status: FixBegun}}, Fixing, ""},
		{fixed, event{kind: reported, fix: Fix{Status: WontFix}}, Open, ""},
		{resolved, event{kind: reported, fix: Fix{Status: Fixed}}, Resolved, ""},
		{resolved, event{kind: reported, fix: Fix{Status: WontFix}}, Resolved, ""},

		{none, event{kind: cleared}, "", ""},
		{open, event{kind: cleared}, "", ""},
		{fixing, event{kind: cleared}, "", ""},
		{resolved, event{kind: cleared}, "", ""},
	} {
		r := inState(c.from.state, c.from.fix)
		for i := range c.from.cleanHits {
			r.apply(event{kind: clean, at: after(21 + i), hit: hit{Request: fmt.Sprint("clean", i), Status: 200, At: after(21 + i)}})
		}
		if r.Finding.State != c.from.state {
			t.Fatalf("the test is wrong: %+v is %q", c.from, r.Finding.State)
		}
		if known, ok := r.change("store"); ok {
			r.tell(known)
		}
		if c.from.state == Resolved && c.from.fix != WontFix {
			r.Told.State = Resolved // and they knew of the problem before
		}
		c.event.hit = hit{Request: "later", Endpoint: "GET /", Status: 200, At: c.event.at}
		r.apply(c.event)
		if r.Finding.State != c.want {
			t.Errorf("%+v, event %d at %s: %q, want %q", c.from, c.event.kind, c.event.at.Sub(day()), r.Finding.State, c.want)
		}
		if c.event.kind == cleared {
			continue
		}
		if change, _ := r.change("store"); change.Kind != c.news {
			t.Errorf("%+v, event %d at %s: told %q, want %q", c.from, c.event.kind, c.event.at.Sub(day()), change.Kind, c.news)
		}
	}
}

// TestFixAfterProblemIsSeenAgain: what was reported stays, and is known to have failed.
func TestFixAfterProblemIsSeenAgain(t *testing.T) {
	t.Parallel()
	later := event{kind: seen, at: after(40), hit: hit{Request: "later", Status: 200, At: after(40)}}
	for _, c := range []struct {
		state     State
		fix       FixStatus
		failed    bool
		forgotten bool
		regressed bool
	}{
		{state: Fixing, fix: Fixed, failed: true},
		{state: Fixing, fix: FixBegun},
		{state: Resolved, fix: Fixed, failed: true, regressed: true},
		{state: Resolved, fix: FixBegun, forgotten: true, regressed: true},
		{state: Resolved, fix: WontFix, regressed: true},
	} {
		r := inState(c.state, c.fix)
		r.apply(later)
		f := r.Finding
		if (f.Fix == nil) != c.forgotten || f.Fix != nil && f.Fix.Failed != c.failed || f.Regressed != c.regressed || (f.Reopens == 1) != c.regressed {
			t.Errorf("%+v became %+v with the fix %+v", c, f, f.Fix)
		}
		if f.CleanHits != 0 || f.Occurrences != 2 || !f.ResolvedAt.IsZero() || !f.LastSeen.Equal(after(40)) {
			t.Errorf("%+v became %+v", c, f)
		}
	}
}

// TestStatusOfCleanHits: a redirect proves nothing about another response.
func TestStatusOfCleanHits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, status int
		want          int // clean hits
	}{
		{200, 200, 1}, {200, 302, 0}, {200, 304, 1}, {500, 303, 0}, {500, 200, 1}, {302, 302, 1}, {302, 200, 1},
	} {
		r := &record{}
		r.apply(event{kind: seen, at: after(1), hit: hit{Request: "1", Status: c.shown, At: after(1)}})
		r.apply(event{kind: clean, at: after(2), hit: hit{Request: "2", Status: c.status, At: after(2)}})
		if r.Finding.CleanHits != c.want {
			t.Errorf("%d after %d: %d clean hits", c.status, c.shown, r.Finding.CleanHits)
		}
	}
}

// TestKindOfCleanHits: of a rule that looks at errors, a success proves nothing, unless it is the reply to the request
// that had the problem; and the reverse.
func TestKindOfCleanHits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, status int
		asked         string
		want          int // clean hits
	}{
		{500, 500, "other", 1},
		{500, 400, "other", 0},
		{500, 400, "same", 1},
		{500, 200, "other", 0},
		{500, 200, "", 0},
		{500, 200, "same", 1},
		{200, 200, "other", 1},
		{200, 500, "other", 0},
		{200, 500, "same", 1},
		{500, 302, "same", 0},
	} {
		r := &record{}
		first := hit{Request: "1", Status: c.shown, At: after(1), Asked: "same"}
		second := hit{Request: "2", Status: c.status, At: after(2), Asked: c.asked}
		r.apply(event{kind: seen, at: after(1), hit: first})
		r.apply(event{kind: clean, at: after(2), hit: second, proof: rules.ByKind})
		if r.Finding.CleanHits != c.want {
			t.Errorf("%d to %q after %d: %d clean hits", c.status, c.asked, c.shown, r.Finding.CleanHits)
		}
	}
}

// TestRandomWalk: whatever happens, what a finding says of itself fits together, and people are told what
// they do not know.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := inState(Open, "")
		now := 100
		knows := State("")
		for step := range 300 {
			now++
			at := after(now - random.IntN(20)) // verdicts come late
			request := fmt.Sprint(step)
			before := r.Finding
			e := event{kind: eventKind(random.IntN(3)), at: at, hit: hit{Request: request, Endpoint: "GET /", Status: 200, At: at}}
			if e.kind == seen && random.IntN(4) > 0 {
				e.kind = clean
			}
			if e.kind == reported {
				e.fix = Fix{Status: statuses()[random.IntN(3)], At: after(now)}
				e.at = e.fix.At
			}
			r.apply(e)
			f := r.Finding
			switch {
			case (f.State == Resolved) == f.ResolvedAt.IsZero(),
				f.State == Resolved && f.CleanHits < CleanHitsForResolution,
				f.State != Resolved && f.CleanHits >= CleanHitsForResolution,
				f.State == Fixing && (f.Fix == nil || f.Fix.Status == WontFix || f.Fix.Failed),
				f.Regressed != (f.Reopens > 0),
				len(f.Requests) > keptRequests || len(f.Requests) > f.Occurrences,
				f.LastSeen.Before(before.LastSeen) || f.FirstSeen.After(f.LastSeen),
				before.State != Resolved && f.State == Resolved && e.kind != clean,
				before.State == Resolved && f.State != Resolved && e.kind != seen,
				f.Reopens > before.Reopens && !at.After(before.ResolvedAt),
				f.Reopens < before.Reopens || f.Occurrences < before.Occurrences:
				t.Fatalf("seed %d, step %d: event %+v\nof %+v\nled to %+v", seed, step, e, before, f)
			}
			for _, h := range r.Clean {
				if !h.At.After(f.LastSeen) {
					t.Fatalf("seed %d, step %d: a clean hit of %v, and seen %v", seed, step, h.At, f.LastSeen)
				}
			}
			if random.IntN(3) > 0 {
				continue
			}
			if c, ok := r.change("store"); ok {
				if isEnd := c.Kind == ResolvedNews; isEnd != (f.State == Resolved) || isEnd && knows != Open {
					t.Fatalf("seed %d, step %d: told %q of %+v to somebody who knows %q", seed, step, c.Kind, f, knows)
				}
				r.tell(c)
				knows = r.Told.State
			}
			if c, ok := r.change("store"); ok {
				t.Fatalf("seed %d, step %d: told twice: %+v", seed, step, c)
			}
		}
	}
}
