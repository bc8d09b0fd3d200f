package rules

import "bareclaw/observe/capture"

var errorHotspot = Rule{
	ID:       "error-hotspot",
	Category: Reliability,
	Severity: Critical,
	Title:    "Requests fail often",
	Advice:   "Look at the errors, logs and responses of these requests.",
	Check:    checkErrorHotspot,
	Proof:    BySuccess,
	clears:   isJudged,
}

// answered leaves out the requests that no app took, because it was being started, and those whose client is gone.
func answered(r *capture.Request) bool {
	return r.End == capture.Complete || r.End == capture.AppFailed && (r.Status > 0 || len(r.Faults) > 0)
}

// broke counts no replies such as 404, which are right as often as not.
func broke(r *capture.Request) bool { return isServerError(r) || r.End == capture.AppFailed }

func checkErrorHotspot(s *Subject) []Match {
	if !answered(s.Request) || !broke(s.Request) {
		return nil
	}
	recent := s.latestOf(s.Arrived, answered)
	failures := 0
	for _, r := range recent {
		if broke(r) {
			failures++
		}
	}
	if len(recent) < MinRequestsForInsight || failures*whole < len(recent)*ErrorRateThresholdPct {
		return nil
	}
	d := Describe("%s of recent requests failed (%s of %s).", percent(failures, len(recent)), Count(failures), Count(len(recent)))
	return []Match{{Description: d}}
}
