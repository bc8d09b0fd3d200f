package tools

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bareclaw/internal/wait"
	"bareclaw/observe/api"
	"bareclaw/observe/findings"
)

// replay sends requests to the endpoint again until the findings are resolved or seen again, or says why that
// cannot be.
func (v *verification) replay(ctx context.Context, all []shownFinding) error {
	if v.endpoint == "" {
		v.why = "the finding concerns the whole app: use the app, and call verify_fix without replay"
		return nil
	}
	endpoint := v.endpoint
	if !strings.Contains(endpoint, " ") {
		endpoint = http.MethodGet + " " + endpoint
	}
	method, _, _ := strings.Cut(endpoint, " ")
	if method = strings.ToUpper(method); method != http.MethodGet && method != http.MethodHead {
		v.why = "only GET and HEAD are sent again: repeat the request yourself, and call verify_fix without replay"
		return nil
	}
	for range replayRounds {
		needed, sameStatus := v.missing(all)
		if needed == 0 {
			return nil
		}
		for range needed {
			if err := v.send(ctx, endpoint, sameStatus); err != nil || v.why != "" {
				return err
			}
		}
		later, err := v.await(ctx)
		if err != nil {
			return err
		}
		if needed, _ := v.missing(later); needed == 0 {
			return nil
		}
		if !v.hasProgress(all, later) {
			v.why = "the requests have proven nothing: what the rule looks at was not seen in the answers, or not told by the app (such as its queries, by OpenTelemetry)"
			return nil
		}
		all = later
	}
	v.why = "some requests have proven nothing: send more to the endpoint, and call verify_fix again"
	return nil
}

// missing returns how many requests are needed to resolve those findings that were not seen again. sameStatus says
// that these must have a status of the same class as before: none of the findings is about the status itself.
func (v *verification) missing(all []shownFinding) (needed int, sameStatus bool) {
	sameStatus = true
	for i := range all {
		f := &all[i]
		if f.State == findings.Resolved || f.Occurrences > v.before[f.ID] {
			continue
		}
		needed = max(needed, findings.CleanHitsForResolution-f.CleanHits, 1)
		if f.Rule == "error" || f.Rule == "error-hotspot" {
			sameStatus = false
		}
	}
	return needed, sameStatus
}

// hasProgress reports whether requests have proven something of each finding.
func (v *verification) hasProgress(before, after []shownFinding) bool {
	clean := map[string]int{}
	for i := range before {
		clean[before[i].ID] = before[i].CleanHits
	}
	for i := range after {
		f := &after[i]
		isProven := f.State == findings.Resolved || f.Occurrences > v.before[f.ID]
		if !isProven && f.CleanHits == clean[f.ID] {
			return false
		}
	}
	return true
}

// send has one request sent again.
func (v *verification) send(ctx context.Context, endpoint string, sameStatus bool) error {
	r, err := v.app.client.Replay(ctx, endpoint)
	if refused, ok := errors.AsType[*api.StatusError](err); ok {
		v.why = refused.Error()
		if v.app.Observer == "" {
			v.why = "the app contains brakit, which sends no request again: repeat it yourself"
		}
		return nil
	}
	if err != nil {
		return err
	}
	v.replays++
	better := !sameStatus && r.Status < http.StatusBadRequest
	if r.Before/100 != r.Status/100 && !better {
		v.why = fmt.Sprintf("the answer has now the status %d, and had %d: what the finding is about may not have been reached", r.Status, r.Before)
	}
	return nil
}

// await returns the findings once each is resolved or was seen again, or the app had the time to tell of the
// requests.
func (v *verification) await(ctx context.Context) ([]shownFinding, error) {
	deadline := time.Now().Add(v.app.evidence)
	for {
		all, err := v.look(ctx)
		if err != nil {
			return nil, err
		}
		if needed, _ := v.missing(all); needed == 0 || time.Now().After(deadline) {
			return all, nil
		}
		if err := wait.Sleep(ctx, evidenceInterval); err != nil {
			return nil, err
		}
	}
}
