package tools

import (
	"context"

	"bareclaw/core/tools"
)

func clearFindings(f *finder) tools.Tool {
	return tools.Tool{
		Name:        "clear_findings",
		Description: "Forget all findings of the running web app, and all requests that were captured, to begin anew. Fixed findings need not be cleared: requests resolve them.",
		Input:       object(appProperty),
		Annotations: tools.Annotations{Title: "Forget the findings of the app", Idempotent: true, Destructive: tools.Yes},
		Timeout:     callTimeout,
		Reach:       reach[appArgs](f),
		Handle:      handler(f, forget),
	}
}

// A clearedView is the result of clear_findings.
type clearedView struct {
	App     string `json:"app"`
	Cleared bool   `json:"cleared"`
}

func forget(ctx context.Context, a *app, _ appArgs) (view, error) {
	if err := a.client.Clear(ctx); err != nil {
		return nil, err
	}
	return &clearedView{App: a.Dir, Cleared: true}, nil
}

func (v *clearedView) text(p *page) {
	p.line("All findings and requests of the app in %s are forgotten. New requests show what is wrong with it now.", data(v.App, maxWords))
}
