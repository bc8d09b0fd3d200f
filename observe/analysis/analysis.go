// Package analysis has the rules look at requests, beside those that came before them, and tells the findings
// what they say.
package analysis

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"bareclaw/internal/wait"
	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// A Source has requests to look at.
type Source interface {
	// Next waits for the next request. It returns an error when ctx ends.
	Next(ctx context.Context) (capture.Look, error)
}

// Findings are told what rules say.
type Findings interface {
	Judge(j findings.Judgement)
	// HasOpen reports whether a rule has found something at an endpoint, or of the whole app, that is not resolved.
	HasOpen(rule, endpoint string) bool
}

// History keeps the figures of runs.
type History interface {
	Add(m findings.Measuring)
	Earlier(endpoint string) []rules.RunFigures
	// SetUnusual notes that an endpoint is worse in a run than in earlier ones.
	SetUnusual(run int, endpoint string)
}

// Options are what an Analyst works with.
type Options struct {
	Source   Source
	Findings Findings
	History  History
	Rules    []rules.Rule
	Log      *slog.Logger
}

// An Analyst has the rules look at requests.
type Analyst struct {
	options Options
	windows *windows
	shown   map[string][]string // endpoints in the windows' run, by finding: see showing

	// mu protects the field below.
	mu     sync.Mutex
	panics map[string]int
}

// New returns an analyst, which does nothing until it runs.
func New(o Options) *Analyst {
	return &Analyst{
		options: o,
		windows: newWindows(-1),
		shown:   map[string][]string{},
		panics:  map[string]int{},
	}
}

// Run looks at requests until ctx ends or the source fails, and returns the error of either. It is the only goroutine
// that looks. Under load it pauses, and the source forgets requests meanwhile.
func (a *Analyst) Run(ctx context.Context) error {
	var p pace
	for {
		look, err := a.options.Source.Next(ctx)
		if err != nil {
			return fmt.Errorf("wait for a request to look at: %w", err)
		}
		begun := time.Now()
		a.look(&look)
		if err := wait.Sleep(ctx, p.count(begun, time.Now())); err != nil {
			return err
		}
	}
}

// Panics returns how often each rule has panicked, by its id. Rules that never did are not there.
func (a *Analyst) Panics() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.panics)
}

// look has all rules look at a request.
func (a *Analyst) look(look *capture.Look) {
	r := look.Request
	if r.Run < a.windows.run {
		a.judge(alone(r), false) // there is nothing left to compare it with
		return
	}
	if r.Run > a.windows.run {
		a.windows = newWindows(r.Run)
		clear(a.shown)
	}
	if look.Settled {
		a.measure(r)
	}
	a.judge(a.windows.subject(r), look.Settled)
	a.windows.keep(r, look.Settled)
}

// measure adds a request to the figures of its run.
func (a *Analyst) measure(r *capture.Request) {
	if r.End != capture.Complete {
		return
	}
	m := findings.Measuring{
		Run:      r.Run,
		Endpoint: r.Endpoint,
		At:       r.Started,
		Took:     r.Took,
		Queries:  -1,
	}
	if r.Evidence.Has(capture.Queried) {
		m.Queries = len(r.Queries)
	}
	a.options.History.Add(m)
}

// judge tells the findings what the rules say of a request.
func (a *Analyst) judge(s *rules.Subject, settled bool) {
	s.Earlier = a.options.History.Earlier(s.Request.Endpoint)
	for i := range a.options.Rules {
		rule := &a.options.Rules[i]
		if s.Request.Evidence.Has(rule.Needs) {
			a.apply(rule, s, settled)
		}
	}
}

// apply tells the findings what a rule says of a request.
func (a *Analyst) apply(rule *rules.Rule, s *rules.Subject, settled bool) {
	v := a.ask(rule, s, settled)
	if len(v.matches) == 0 && !v.clean {
		return
	}
	r := s.Request
	j := findings.Judgement{
		Rule:     rule,
		Request:  r.ID,
		Endpoint: r.Endpoint,
		Run:      r.Run,
		At:       r.Started,
		Status:   r.Status,
		Matches:  v.matches,
		Clean:    v.clean,
		Near:     v.near,
		About:    v.about,
	}
	if rule.Proof != rules.ByAny {
		j.Asked = r.Asked()
	}
	if len(v.matches) > 0 {
		j.Shown = a.showing(rule, s, v.matches)
		if rule.Earlier {
			a.options.History.SetUnusual(r.Run, r.Endpoint)
		}
	}
	a.options.Findings.Judge(j)
}

// A verdict is what a rule says of a request.
type verdict struct {
	matches []rules.Match
	// clean, near and about are as in [findings.Judgement], if the rule has found something before.
	clean bool
	near  []rules.Match
	about []rules.Match
}

// ask asks a rule. When the rule panics, what it said until then counts, and the request is no evidence.
func (a *Analyst) ask(rule *rules.Rule, s *rules.Subject, settled bool) (v verdict) {
	defer func() {
		if p := recover(); p != nil {
			v.clean = false
			a.notePanic(rule.ID, p)
		}
	}()
	if !rule.Needs.Has(capture.Queried) || len(s.Request.Queries) > 0 { // a request matches by what it did itself
		v.matches = rule.Check(s)
	}
	if settled && a.options.Findings.HasOpen(rule.ID, s.Request.Endpoint) {
		v.near = append(rule.Check(repeated(s)), rule.Hints(s)...)
		v.about = rule.About(s)
		v.clean = rule.Clean(s)
	}
	return v
}

// notePanic counts a panic of a rule, and logs its first one.
func (a *Analyst) notePanic(rule string, p any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.panics[rule]++
	if a.panics[rule] == 1 {
		a.options.Log.Error("a rule panicked; the others go on, and more panics of this rule are counted only",
			"rule", rule, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
}

// alone returns a request with nothing to compare it with.
func alone(r *capture.Request) *rules.Subject {
	only := []*capture.Request{r}
	return &rules.Subject{
		Request: r,
		Recent:  only,
		Arrived: only,
		Latest:  map[string]*capture.Request{r.Endpoint: r},
		Flow:    only,
	}
}

// repeated returns what rules would see if all recent requests had been like this one. It tells a request
// that is itself over a limit, to which the others bring the average down or which is the first one of a run,
// from one that proves that a problem is gone.
func repeated(s *rules.Subject) *rules.Subject {
	same := *s.Request
	like := *s
	like.Recent = slices.Repeat([]*capture.Request{&same}, recentRequests-1)
	like.Recent = append(like.Recent, s.Request)
	like.Arrived = like.Recent
	return &like
}
