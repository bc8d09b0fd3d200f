package tools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"bareclaw/core/tools"
	"bareclaw/observe/api"
	"bareclaw/observe/findings"
)

func reportFix(f *finder) tools.Tool {
	return tools.Tool{
		Name: "report_fix",
		Description: "Say how far the fix of a finding is: fixing (you begin), fixed (then verify_fix proves it) or wont_fix (it is not told again). " +
			"The note says what was done, or why not.",
		Input: object(`"finding_id":{"type":"string","minLength":1,"description":"An id of get_findings."},`+
			`"status":{"enum":["fixing","fixed","wont_fix"]},`+
			`"note":{"type":"string","maxLength":500},`+appProperty, "finding_id", "status"),
		Annotations: tools.Annotations{Title: "Report a fix", Idempotent: true, Destructive: tools.No},
		Timeout:     callTimeout,
		Reach:       reach[fixArgs](f),
		Handle:      handler(f, sayFix),
	}
}

type fixArgs struct {
	appArgs

	FindingID string             `json:"finding_id"`
	Status    findings.FixStatus `json:"status"`
	Note      string             `json:"note"`
}

// A fixView is the result of report_fix.
type fixView struct {
	FindingID string             `json:"findingId"`
	Status    findings.FixStatus `json:"status"`
}

func sayFix(ctx context.Context, a *app, args fixArgs) (view, error) {
	if args.Status == findings.WontFix && strings.TrimSpace(args.Note) == "" {
		return nil, sentencef("the note is missing: say why the finding will not be fixed")
	}
	note := strings.TrimSpace(args.Note)
	if note == "" {
		note = string(args.Status) // brakit wants one
	}
	err := a.client.Report(ctx, args.FindingID, args.Status, note)
	if refused, ok := errors.AsType[*api.StatusError](err); ok && refused.Status == http.StatusNotFound {
		return nil, a.noFinding(ctx, args.FindingID)
	}
	if err != nil {
		return nil, err
	}
	return &fixView{args.FindingID, args.Status}, nil
}

// noFinding says that there is no finding with an id, and which there are.
func (a *app) noFinding(ctx context.Context, unknown string) error {
	all, _, err := a.findings(ctx, api.Choice{})
	if err != nil {
		return err
	}
	var ids []string
	for i := range all {
		if i == maxListed {
			ids = append(ids, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		ids = append(ids, id(all[i].ID))
	}
	if len(ids) == 0 {
		return sentencef("there is no finding %s: the app has none", id(unknown))
	}
	return sentencef("there is no finding %s; the app has: %s", id(unknown), strings.Join(ids, ", "))
}

func (v *fixView) text(p *page) {
	switch v.Status {
	case findings.Fixed:
		p.line("Reported as fixed: %s. Now prove it: verify_fix, with replay for an endpoint of GET, or after new requests.", id(v.FindingID))
	case findings.WontFix:
		p.line("Reported as wont_fix: %s. It is not told again.", id(v.FindingID))
	default:
		p.line("Reported as being fixed: %s.", id(v.FindingID))
	}
}
