package rules

import "bareclaw/observe/capture"

var unhandledError = Rule{
	ID:       "error",
	Category: Reliability,
	Severity: Critical,
	Title:    "Unhandled error",
	Advice:   "Fix the cause, and handle such errors where they occur or in one error handler.",
	Check:    checkError,
	Proof:    BySuccess,
	clears:   tellsErrors,
}

// tellsErrors reports whether the app has done what was asked, and would have told of an error.
func tellsErrors(s *Subject) bool {
	return isJudged(s) && s.Request.Evidence.Has(capture.Traced) && s.Request.Dropped == 0
}

// checkError takes an error for handled if the app answered: frameworks tell of each one that they turn
// into a reply such as 404, and of calls that failed and were tried again. Where the client is gone,
// errors are about that.
func checkError(s *Subject) []Match {
	r := s.Request
	if r.Status > 0 && !isServerError(r) || r.End == capture.ClientGone {
		return nil
	}
	var matches []Match
	for i := range r.Faults {
		f := &r.Faults[i]
		kind := name(f.Name)
		if kind == "" {
			kind = "Error"
		}
		matches = append(matches, Match{Description: Describe("%s: %s", kind, message(f.Message))})
	}
	return distinct(matches)
}
