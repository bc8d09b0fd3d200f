package tools

import (
	"context"
	"slices"

	"bareclaw/core/tools"
	"bareclaw/observe/discovery"
)

func observeStatus(f *finder) tools.Tool {
	return tools.Tool{
		Name:        "observe_status",
		Description: "List the observers of web apps on this machine, with the addresses to use, and what is wrong with them.",
		Input:       object(``),
		Annotations: tools.Annotations{Title: "List observers", ReadOnly: true, Idempotent: true},
		Timeout:     callTimeout,
		ByName:      true,
		Reach:       tools.ReachOwn,
		Handle:      speaking(f.status),
	}
}

// A statusView is the result of observe_status.
type statusView struct {
	Observers []shownObserver `json:"observers"`
	// Here are the apps that calls without the argument app are about, by directory.
	Here  []string `json:"here"`
	Notes []string `json:"notes,omitempty"`
}

func (f *finder) status(ctx context.Context, c tools.Call, _ struct{}) (tools.Result, error) {
	all, err := f.Observers.Records()
	if err != nil && len(all) == 0 {
		return tools.Result{}, err
	}
	search := f.search(MaxDiscoveryDepth)
	answering := search.Running(ctx).Apps
	found := search.Find(ctx, f.Dir(c.Channel))
	v := &statusView{
		Observers: []shownObserver{},
		Here:      []string{},
		Notes:     found.Notes,
	}
	for i := range all {
		shown := showObserver(&all[i])
		answers := func(a discovery.App) bool { return a.Observer == all[i].ID }
		switch {
		case !all[i].Alive():
			shown.State = ended
		case !slices.ContainsFunc(answering, answers):
			shown.State = silent
		default:
			shown.Problems = problemsOf(ctx, answering[slices.IndexFunc(answering, answers)])
		}
		v.Observers = append(v.Observers, shown)
	}
	for _, a := range found.Apps {
		v.Here = append(v.Here, oneLine(a.Dir, maxWords))
	}
	return result(v, nil)
}

// problemsOf asks an observer what is wrong with itself.
func problemsOf(ctx context.Context, a discovery.App) []string {
	status, err := clientOf(a).Status(ctx)
	if err != nil {
		return []string{oneLine("It does not say how it does: "+err.Error(), maxWords)}
	}
	problems := make([]string, 0, len(status.Problems))
	for _, problem := range status.Problems {
		problems = append(problems, oneLine(problem, maxWords))
	}
	return problems
}

func (v *statusView) text(p *page) {
	if len(v.Observers) == 0 {
		p.line("No app is observed. %s", howToStart)
	}
	for i := range v.Observers {
		o := &v.Observers[i]
		p.line("- %s: %s since %s, app in %s", id(o.ID), o.State, o.Started, data(o.Dir, maxWords))
		if o.State != ended {
			p.line("  use %s in place of %s", address(o.Address), data(o.Target, maxName))
		}
		if o.Channel != "" {
			p.line("  tells %s (%s)", data(o.Channel, maxName), id(o.Notify))
		}
		if o.Command != "" {
			p.line("  runs %s", data(o.Command, maxWords))
		}
		for _, problem := range o.Problems {
			p.line("  problem: %s", data(problem, maxWords))
		}
	}
	for _, dir := range v.Here {
		p.line("Calls without app are about the app in %s.", data(dir, maxWords))
	}
	for _, note := range v.Notes {
		p.line("Note: %s", data(note, maxWords))
	}
}
