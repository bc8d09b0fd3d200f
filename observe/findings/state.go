package findings

import (
	"net/http"
	"slices"
	"time"

	"bareclaw/observe/rules"
)

// An eventKind is what can happen to a finding.
type eventKind int

// The kinds of events.
const (
	seen      eventKind = iota // a request had the problem
	clean                      // a request proves the contrary
	reported                   // somebody has told of a fix
	abandoned                  // an agent has ended that was to fix it
	cleared                    // all findings are to be forgotten
)

// An event is something that happens to a finding.
type event struct {
	kind eventKind
	at   time.Time // when the request began; when the report was made; when the agent ended
	hit  hit       // of seen and clean
	fix  Fix       // of reported
	// proof is as in [rules.Rule], of clean.
	proof rules.Proof
}

// A hit is a request that proves that a problem is gone, or shows that it is not.
type hit struct {
	Request  string    `json:"request"`
	Endpoint string    `json:"endpoint"`
	Run      int       `json:"run"`
	Status   int       `json:"status"`
	At       time.Time `json:"at"` // when the request began
	Asked    string    `json:"asked,omitempty"`
}

// A record is a finding, and what is kept of it beside.
type record struct {
	Finding Finding `json:"finding"`
	// Status is that of the response to the latest request that had the problem.
	Status int `json:"status"`
	// Asked is what that request asked for: see [Judgement].
	Asked string `json:"asked,omitempty"`
	// Clean are the requests that count as clean hits, in the order in which they were judged.
	Clean []hit `json:"clean,omitempty"`
	// Endpoints are those that show a problem of the whole app together.
	Endpoints []string `json:"endpoints,omitempty"`
	// Failures counts the fixes that were reported since the problem came (back), and were none.
	Failures int  `json:"failures,omitempty"`
	Told     told `json:"told,omitzero"`
	// Rounds counts how often an agent was asked to fix it. InRound says that it works on it now, RoundEnded when it
	// has ended last.
	Rounds     int       `json:"rounds,omitempty"`
	InRound    bool      `json:"inRound,omitempty"`
	RoundEnded time.Time `json:"roundEnded,omitzero"`
}

// next returns the state of a finding after an event, with the event counted already. A finding that
// is not known yet, or not any more, has no state.
func (r *record) next(e event) State {
	f := &r.Finding
	switch {
	case e.kind == cleared:
		return ""
	case e.kind == seen && f.State == "":
		return Open
	case e.kind == seen && f.State == Resolved && e.at.After(f.ResolvedAt):
		return Open
	case e.kind == seen && f.State == Fixing && f.Fix.reported(Fixed) && e.at.After(f.Fix.At):
		return Open
	case e.kind == clean && f.State != Resolved && r.proven():
		return Resolved
	case e.kind == reported && f.State == Open && e.fix.Status != WontFix:
		return Fixing
	case e.kind == reported && f.State == Fixing && e.fix.Status == WontFix:
		return Open
	case e.kind == abandoned && f.State == Fixing && f.Fix.reported(FixBegun):
		return Open
	}
	return f.State
}

// reported reports whether a fix has a status. f may be nil.
func (f *Fix) reported(s FixStatus) bool { return f != nil && f.Status == s }

// proven reports whether the clean hits suffice. A problem of the whole app is gone only when, in one
// run of the app, each endpoint that showed it does not any more: while the app has just started, one
// request has nothing to be compared with.
func (r *record) proven() bool {
	if len(r.Clean) < CleanHitsForResolution {
		return false
	}
	return !slices.ContainsFunc(r.Endpoints, func(endpoint string) bool {
		return !slices.ContainsFunc(r.Clean, func(h hit) bool { return h.Endpoint == endpoint })
	})
}

// apply counts an event, and reports whether the state or what is to be told has changed. It is the
// only function that changes a [State].
func (r *record) apply(e event) (changed bool) {
	f := &r.Finding
	switch e.kind {
	case seen:
		if f.State == Resolved && !e.at.After(f.ResolvedAt) {
			return false // is older than the proof
		}
		r.countSeen(e.hit)
	case clean:
		if f.State == Resolved || !r.countClean(e) {
			return false
		}
	case reported:
		fix := e.fix
		f.Fix = &fix
	case abandoned, cleared:
	}
	before := f.State
	f.State = r.next(e)
	switch {
	case before == f.State:
		return e.kind == reported
	case f.State == Resolved:
		f.ResolvedAt = latest(r.Clean)
	case e.kind == seen && before == Resolved:
		r.reopen()
	case e.kind == abandoned:
		f.Fix = nil
	case e.kind == seen && before == Fixing:
		f.Fix = f.Fix.failed()
		r.Failures++
	}
	return true
}

// reopen notes that a problem has come back.
func (r *record) reopen() {
	f := &r.Finding
	f.Regressed = true
	f.Reopens++
	f.ResolvedAt = time.Time{}
	r.Failures = 0
	switch {
	case f.Fix.reported(Fixed):
		f.Fix = f.Fix.failed()
	case f.Fix.reported(FixBegun):
		f.Fix = nil
	}
}

// failed returns a copy of a fix that was none. Findings that a store has returned keep theirs.
func (f *Fix) failed() *Fix {
	failed := *f
	failed.Failed = true
	return &failed
}

// countSeen counts a request that had the problem.
func (r *record) countSeen(h hit) {
	f := &r.Finding
	f.Occurrences++
	if f.FirstSeen.IsZero() || h.At.Before(f.FirstSeen) {
		f.FirstSeen = h.At
	}
	if h.At.After(f.LastSeen) {
		f.LastSeen = h.At
		r.Status = h.Status
		r.Asked = h.Asked
	}
	if len(f.Requests) == keptRequests {
		f.Requests = f.Requests[1:]
	}
	f.Requests = append(slices.Clip(f.Requests), h.Request)
	r.Clean = slices.DeleteFunc(r.Clean, func(c hit) bool { return !c.At.After(f.LastSeen) })
	f.CleanHits = len(r.Clean)
}

// countClean counts a request as a clean hit, and reports whether it is one.
func (r *record) countClean(e event) bool {
	f := &r.Finding
	h := e.hit
	isKnown := func(c hit) bool { return c.Request == h.Request }
	if !h.At.After(f.LastSeen) || !r.comparesWith(e) || slices.ContainsFunc(r.Clean, isKnown) {
		return false
	}
	if f.Endpoint == rules.Global {
		if len(r.Endpoints) > 0 && !slices.Contains(r.Endpoints, h.Endpoint) {
			return false
		}
		r.Clean = slices.DeleteFunc(r.Clean, func(c hit) bool { return c.Run != h.Run })
		r.limitClean(h.Endpoint)
	}
	r.Clean = append(r.Clean, h)
	f.CleanHits = len(r.Clean)
	return true
}

// forgetRun takes back the clean hits of a problem of the whole app, as another observer counts the runs of the app
// anew.
func (r *record) forgetRun() {
	f := &r.Finding
	if f.Endpoint == rules.Global && f.State != Resolved {
		r.Clean = nil
		f.CleanHits = 0
	}
}

// limitClean makes room for one more clean hit of an endpoint: the others may never be requested.
func (r *record) limitClean(endpoint string) {
	isSame := func(h hit) bool { return h.Endpoint == endpoint }
	count := 0
	for _, h := range r.Clean {
		if isSame(h) {
			count++
		}
	}
	if count >= CleanHitsForResolution {
		oldest := slices.IndexFunc(r.Clean, isSame)
		r.Clean = slices.Delete(r.Clean, oldest, oldest+1)
	}
}

// comparesWith reports whether a response can prove the contrary of what the latest one has shown that had the
// problem, as far as rules cannot know: a redirect, as to a login, says nothing of the page itself.
func (r *record) comparesWith(e event) bool {
	if isRedirect(e.hit.Status) && !isRedirect(r.Status) {
		return false
	}
	if r.Asked != "" && e.hit.Asked == r.Asked {
		return true
	}
	switch e.proof {
	case rules.ByKind:
		return e.hit.Status == r.Status || !isError(e.hit.Status) && !isError(r.Status)
	case rules.BySuccess:
		return !isError(e.hit.Status)
	case rules.ByAny:
	}
	return true
}

func isError(status int) bool { return status >= http.StatusBadRequest }

func isRedirect(status int) bool {
	return status >= http.StatusMultipleChoices && status < http.StatusBadRequest && status != http.StatusNotModified
}

// latest returns when the latest request began.
func latest(hits []hit) time.Time {
	var at time.Time
	for _, h := range hits {
		if h.At.After(at) {
			at = h.At
		}
	}
	return at
}
