package analysis

import (
	"slices"
	"testing"

	"bareclaw/observe/capture"
	"bareclaw/observe/rules"
)

// TestErrorsUnderLoad: requests whose telemetry is not complete yet count among those that fail or not. An app that
// crashes tells nothing of it, and its requests are settled only later than those that work.
func TestErrorsUnderLoad(t *testing.T) {
	t.Parallel()
	o := newObserver(t, rules.All()...)
	fails := func() capture.Request {
		r := o.request("GET /")
		r.Status = 500
		r.Evidence = capture.Response
		return r
	}
	for range 20 {
		o.look(true, o.request("GET /"))
	}
	for range 5 {
		o.look(false, fails(), fails())
		o.look(true, o.request("GET /"), o.request("GET /"))
	}
	f := o.only()
	if f.Rule != "error-hotspot" || f.Description != "50% of recent requests failed (10 of 20)." {
		t.Errorf("found is %+v", f)
	}
}

// TestCrashesAreFailures: requests without an answer whose errors are known count as those that fail.
func TestCrashesAreFailures(t *testing.T) {
	t.Parallel()
	o := newObserver(t, rules.All()...)
	for range 3 {
		r := o.request("GET /")
		r.Status = 0
		r.End = capture.AppFailed
		r.Evidence = capture.Traced
		r.Faults = []capture.Fault{{Name: "RangeError", Message: "too deep"}}
		o.look(true, r)
	}
	var found []string
	for _, f := range o.store.All() {
		found = append(found, f.Rule+": "+f.Description)
	}
	want := []string{"error: RangeError: too deep", "error-hotspot: 100% of recent requests failed (3 of 3)."}
	if !slices.Equal(found, want) {
		t.Errorf("found are %q", found)
	}
}
