package observe

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/analysis"
	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// oneLook is a source with one request.
type oneLook struct{ looked bool }

func (o *oneLook) Next(context.Context) (capture.Look, error) {
	if o.looked {
		return capture.Look{}, context.Canceled
	}
	o.looked = true
	return capture.Look{Request: &capture.Request{ID: "r1", Endpoint: "GET /a"}}, nil
}

// TestRulePanics: that a rule has panicked is told as a problem of the observer.
func TestRulePanics(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	store, err := findings.OpenStore(t.TempDir(), storeFile(t, t.TempDir()), log)
	check.OK(t, err)
	history, err := findings.OpenHistory(t.TempDir(), store, log)
	check.OK(t, err)
	broken := rules.Rule{
		ID:    "n1",
		Check: func(*rules.Subject) []rules.Match { panic("broken") },
	}
	v := &observer{
		findings: store,
		analyst: analysis.New(analysis.Options{
			Source:   &oneLook{},
			Findings: store,
			History:  history,
			Rules:    []rules.Rule{broken},
			Log:      log,
		}),
	}
	_ = v.analyst.Run(t.Context()) // ends with the source
	want := "The rule n1 has panicked 1 time, and may miss problems: the log of the observer says where."
	if got := v.problems(); !slices.Equal(got, []string{want}) {
		t.Errorf("the problems are %q", got)
	}
}
