package intent

import (
	"context"
	"encoding/json"

	"bareclaw/core/tools"
)

// Names of the tools.
const (
	AnalyzeName = "analyze_intent"
	CurateName  = "curate_tool_bag"
)

// ownNames are not suggested.
var ownNames = []string{AnalyzeName, CurateName}

// source is that of the tools.
type source struct{}

// Source returns the source of the tools that analyze a request and choose tools for it.
func Source() tools.Source { return source{} }

// Name implements [tools.Source].
func (source) Name() string { return tools.Gateway }

// input is the schema of a Request.
var input = json.RawMessage(`{"type":"object","properties":{` +
	`"tool":{"type":"string","description":"The name of a tool, or of what is wanted, such as test_login_flow"},` +
	`"args":{"type":"object","description":"The arguments, as far as they are known"},` +
	`"text":{"type":"string","description":"What is wanted, in words"}}}`)

// Tools implements [tools.Source].
func (source) Tools(r *tools.Registry) []tools.Tool {
	a := New(r)
	return []tools.Tool{
		{
			Name: AnalyzeName,
			Description: "Say what a request takes before anything is called: the domain, whether it is one call, several steps or parallel work, " +
				"and the tools for its steps in order. Give the name of a tool or of what is wanted, its arguments, or words.",
			Input:       input,
			Annotations: tools.Annotations{Title: "Analyze a request", ReadOnly: true, Idempotent: true},
			Category:    tools.Meta,
			ByName:      true,
			Reach:       tools.ReachOwn,
			Handle:      tools.WithArgs(a.handleAnalyze),
		},
		{
			Name: CurateName,
			Description: "Choose the tools for a request, at most 30, with their schemas: those of its domain, those that check results and make data, " +
				"and what serves it of other domains. Give the name of a tool or of what is wanted, its arguments, or words.",
			Input:       input,
			Annotations: tools.Annotations{Title: "Choose tools", ReadOnly: true, Idempotent: true},
			Category:    tools.Meta,
			ByName:      true,
			Reach:       tools.ReachOwn,
			Handle:      tools.WithArgs(a.handleCurate),
		},
	}
}

func (a *Analyzer) handleAnalyze(ctx context.Context, c tools.Call, r Request) (tools.Result, error) {
	made, err := a.Analyze(ctx, r, c.View)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Object(made)
}

func (a *Analyzer) handleCurate(ctx context.Context, c tools.Call, r Request) (tools.Result, error) {
	b, err := a.Curate(ctx, r, c.View)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Object(shown(&b))
}
