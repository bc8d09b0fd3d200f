package tools

import (
	"context"

	"bareclaw/core/tools"
)

func observeStop(f *finder) tools.Tool {
	return tools.Tool{
		Name:        "observe_stop",
		Description: "Stop an observer, with the app if the observer has started it. Findings are kept.",
		Input:       object(appProperty),
		Annotations: tools.Annotations{Title: "Stop an observer", Idempotent: true, Destructive: tools.Yes},
		Timeout:     startTimeout,
		Reach:       reach[appArgs](f),
		Handle:      speaking(f.stop),
	}
}

// A stoppedView is the result of observe_stop.
type stoppedView struct {
	ID  string `json:"id"`
	Dir string `json:"dir"`
}

func (f *finder) stop(ctx context.Context, c tools.Call, args appArgs) (tools.Result, error) {
	v, err := f.toStop(ctx, c, args)
	if err != nil {
		return tools.Result{}, err
	}
	if err := f.Observers.Stop(ctx, v.ID); err != nil {
		return tools.Result{}, err
	}
	return result(v, nil)
}

// toStop returns the observer that a call is about, which need not answer.
func (f *finder) toStop(ctx context.Context, c tools.Call, args appArgs) (*stoppedView, error) {
	if args.App != "" {
		records, err := f.recordsNamed(args.App)
		if err == nil && len(records) == 1 {
			return &stoppedView{records[0].ID, records[0].Dir}, nil
		}
	}
	a, err := f.find(ctx, c.Caller, args.App)
	if err != nil {
		return nil, err
	}
	if a.Observer == "" {
		return nil, sentencef("the app in %s is not observed by bareclaw, but contains brakit: stop the app itself", data(a.Dir, maxWords))
	}
	return &stoppedView{a.Observer, a.Dir}, nil
}

func (v *stoppedView) text(p *page) {
	p.line("The observer %s of %s has ended.", id(v.ID), data(v.Dir, maxWords))
}
