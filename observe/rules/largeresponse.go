package rules

import (
	"net/http"
	"strings"

	"bareclaw/observe/capture"
)

var largeResponse = Rule{
	ID:       "large-response",
	Category: Performance,
	Severity: Info,
	Title:    "Large response",
	Advice:   "Return a page at a time, leave out fields, or compress the response.",
	Needs:    capture.Response,
	Check:    checkLargeResponse,
	clears:   isSized,
}

// isSized reports whether the size of the response says something of the endpoint.
func isSized(s *Subject) bool { return sized(s.Request) && !repliedNothing(s) }

// sized leaves out files, which are as large as they are.
func sized(r *capture.Request) bool {
	if !returned(r) || !isOneReply(r) || r.Method == http.MethodOptions {
		return false
	}
	media := r.Received.Media
	return isJSON(media) || strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "xml")
}

func checkLargeResponse(s *Subject) []Match {
	if !sized(s.Request) || s.Request.Received.Size <= LargeResponseBytes {
		return nil
	}
	recent := s.latest(sized)
	var total int64
	for _, r := range recent {
		total += r.Received.Size
	}
	average := total / int64(len(recent))
	if len(recent) < OverfetchMinRequests || average <= LargeResponseBytes {
		return nil
	}
	return []Match{{Description: Describe("Responses have %s on average.", bytesOf(average))}}
}
