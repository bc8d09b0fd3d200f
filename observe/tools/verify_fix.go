package tools

import (
	"context"
	"errors"
	"strings"

	"bareclaw/core/tools"
	"bareclaw/internal/humanize"
	"bareclaw/observe/api"
	"bareclaw/observe/findings"
)

func verifyFix(f *finder) tools.Tool {
	return tools.Tool{
		Name: "verify_fix",
		Description: "Check whether a finding is gone, by the requests that came after the fix. Give a finding_id, or an endpoint for all its findings. " +
			"With replay the endpoint's latest GET or HEAD request is sent again until the evidence suffices; requests of other methods must be repeated by hand.",
		Input: object(`"finding_id":{"type":"string"},` +
			`"endpoint":{"type":"string","description":"Such as GET /users/:id, as get_endpoints shows it."},` +
			`"replay":{"type":"boolean","description":"Send the requests that are needed, with the cookies of the latest one."},` + appProperty),
		Annotations: tools.Annotations{Title: "Verify a fix", Idempotent: true, Destructive: tools.No},
		Timeout:     verifyTimeout,
		Reach:       reach[verifyArgs](f),
		Handle:      handler(f, verify),
	}
}

type verifyArgs struct {
	appArgs

	FindingID *string `json:"finding_id"`
	Endpoint  *string `json:"endpoint"`
	Replay    bool    `json:"replay"`
}

// A verdict says what the requests prove of a finding.
type verdict string

// The verdicts.
const (
	gone     verdict = "resolved"
	present  verdict = "still_present"
	unproven verdict = "not_proven_yet" // too few requests came after the latest that had it
	unknown  verdict = "could_not_verify"
)

// A judgedFinding is a finding with the verdict.
type judgedFinding struct {
	shownFinding

	Verdict verdict `json:"verdict"`
}

// A verifiedView is the result of verify_fix.
type verifiedView struct {
	Endpoint string          `json:"endpoint,omitempty"`
	Findings []judgedFinding `json:"findings"`
	Replayed int             `json:"replayed"`      // requests that were sent again
	Why      string          `json:"why,omitempty"` // replay could not verify
}

// A verification looks at some findings of an app.
type verification struct {
	app      *app
	id       string // of the finding; empty: those of the endpoint
	endpoint string
	before   map[string]int // occurrences at first, by id
	replays  int
	why      string // the replay could not verify
}

func verify(ctx context.Context, a *app, args verifyArgs) (view, error) {
	wanted, endpoint, err := oneOf("finding_id", args.FindingID, "endpoint", args.Endpoint)
	if err != nil {
		return nil, err
	}
	v := &verification{app: a, id: wanted, endpoint: endpoint}
	first, err := v.look(ctx)
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		if err := v.nothing(ctx); err != nil {
			return nil, err
		}
	}
	v.before = map[string]int{}
	for i := range first {
		v.before[first[i].ID] = first[i].Occurrences
		if wanted != "" {
			v.endpoint = first[i].as.Issue.Endpoint
		}
	}
	if !args.Replay {
		return v.view(first), nil
	}
	if err := v.replay(ctx, first); err != nil {
		return nil, err
	}
	last, err := v.look(ctx)
	if err != nil {
		return nil, err
	}
	return v.view(last), nil
}

// look returns the findings as they are now.
func (v *verification) look(ctx context.Context) (found []shownFinding, err error) {
	choice := api.Choice{ID: v.id}
	if v.id == "" {
		choice.Endpoint = v.endpoint
	}
	found, _, err = v.app.findings(ctx, choice)
	return found, err
}

// nothing returns an error if what was asked for does not exist.
func (v *verification) nothing(ctx context.Context) error {
	if v.id != "" {
		return v.app.noFinding(ctx, v.id)
	}
	_, err := v.app.client.Latest(ctx, v.endpoint)
	if errors.Is(err, api.ErrNoRequest) {
		return sentencef("no request to %s is kept, and it has no finding; endpoints are: %s", data(v.endpoint, maxName), v.app.endpoints(ctx))
	}
	return err
}

// judge returns what the requests prove of a finding.
func (v *verification) judge(f *shownFinding) verdict {
	switch {
	case f.State == findings.Resolved:
		return gone
	case f.Occurrences > v.before[f.ID], f.FixFailed:
		return present
	case v.why != "":
		return unknown
	case f.CleanHits > 0, f.Fix == findings.Fixed:
		return unproven
	}
	return present
}

func (v *verification) view(all []shownFinding) *verifiedView {
	out := &verifiedView{
		Endpoint: oneLine(v.endpoint, maxName),
		Findings: []judgedFinding{},
		Replayed: v.replays,
		Why:      oneLine(v.why, maxWords),
	}
	for i := range all {
		out.Findings = append(out.Findings, judgedFinding{all[i], v.judge(&all[i])})
	}
	return out
}

func (v *verifiedView) text(p *page) {
	if len(v.Findings) == 0 {
		p.line("No finding at %s.", data(v.Endpoint, maxName))
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		p.line("%s: %s (id %s)", strings.ToUpper(strings.ReplaceAll(string(f.Verdict), "_", " ")), f.head(), id(f.ID))
		switch f.Verdict {
		case gone:
			p.line("- requests after the fix have shown that it is gone")
		case present:
			p.line("- last seen %s, in %s so far: %s", clock(f.LastSeen), humanize.Count(f.Occurrences, "request"), data(f.Description, maxWords))
			p.line("- do: %s", f.words(f.Advice))
		default:
			p.line("- %d of %d requests that prove it have come since it was last seen, %s", f.CleanHits, findings.CleanHitsForResolution, clock(f.LastSeen))
		}
	}
	if v.Replayed > 0 {
		p.line("%s sent again.", humanize.Count(v.Replayed, "request"))
	}
	if v.Why != "" {
		p.line("Could not verify by replay: %s", data(v.Why, maxWords))
	}
}
