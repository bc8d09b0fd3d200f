package rules

import "bareclaw/observe/capture"

var unhandledError = Rule{
	ID:       "error",
	Category: Reliability,
	Severity: Critical,
	Title:    "Unhandled error",
	Advice:   "Handle the error where it is thrown, or in one error handler, and fix what causes it.",
	Check:    checkError,
	clears:   tellsErrors,
}

// tellsErrors reports whether an error in the request would be known.
func tellsErrors(s *Subject) bool {
	r := s.Request
	return r.Status > 0 && (r.Evidence.Has(capture.Traced) || r.Evidence.Has(capture.Logged))
}

// checkError takes an error for handled if the app answered: frameworks tell of each one that they turn
// into a reply such as 404, and of calls that failed and were tried again.
func checkError(s *Subject) []Match {
	if s.Request.Status > 0 && !isServerError(s.Request) {
		return nil
	}
	var matches []Match
	for i := range s.Request.Faults {
		f := &s.Request.Faults[i]
		kind := name(f.Name)
		if kind == "" {
			kind = "Error"
		}
		matches = append(matches, Match{Description: Describe("%s: %s", kind, message(f.Message))})
	}
	return distinct(matches)
}
