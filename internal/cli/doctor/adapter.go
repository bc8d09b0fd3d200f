package doctor

import (
	"context"
	"slices"

	"bareclaw/adapters"
	"bareclaw/adapters/httpapi/api"
)

// checkAdapter returns the check of an adapter: whether the gateway that runs serves its channels,
// and what the adapter itself finds.
func checkAdapter(k adapters.Kind) func(context.Context, *report) {
	return func(ctx context.Context, r *report) {
		if !k.IsConfigured(r.cfg) {
			return
		}
		h, err := r.health()
		running := stateOf(&h, k.Name)
		if err == nil && running == nil { // else checkGateway says why it does not answer
			r.warning(k.Name+"_off", "The gateway that runs does not serve "+k.Title+".", "It was started without the settings.", "bareclaw restart")
		}
		if k.Check == nil {
			return
		}
		k.Check(ctx, adapters.Examination{
			Findings: findings{r},
			Config:   r.cfg,
			Offline:  r.Offline,
			IsWrong:  r.Report.Wrong,
			Running:  running,
		})
	}
}

// stateOf returns what the gateway says of an adapter; nil: nothing.
func stateOf(h *api.Health, name string) *adapters.Health {
	i := slices.IndexFunc(h.Parts, func(p api.Part) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &adapters.Health{Ready: h.Parts[i].Ready, Problem: h.Parts[i].Problem, Facts: h.Parts[i].Facts}
}

// findings is a report as an adapter's check sees it.
type findings struct{ r *report }

// OK adds a finding of something healthy.
func (f findings) OK(format string, args ...any) { f.r.ok(format, args...) }

// Note adds a finding worth knowing.
func (f findings) Note(code, what, why, command string) { f.r.note(code, what, why, command) }

// Problem adds a finding that keeps the gateway from its work.
func (f findings) Problem(code, what, why, command string) { f.r.problem(code, what, why, command) }
