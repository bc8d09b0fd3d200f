package rules

import (
	"net/http"
	"net/url"
	"strings"

	"bareclaw/observe/capture"
)

// isErrorReply reports whether the app answered that it will not or cannot.
func isErrorReply(r *capture.Request) bool { return r.Status >= http.StatusBadRequest }

// isServerError reports whether the app answered that it cannot.
func isServerError(r *capture.Request) bool { return r.Status >= http.StatusInternalServerError }

// worked reports whether the app did what the request asks for, or had done it before.
func worked(r *capture.Request) bool { return r.Status > 0 && !isErrorReply(r) }

// returned reports whether the app did what the request asks for, and the response has a body.
func returned(r *capture.Request) bool {
	switch r.Status {
	case http.StatusNoContent, http.StatusResetContent:
		return false
	}
	return r.Method != http.MethodHead && r.Status >= http.StatusOK && r.Status < http.StatusMultipleChoices
}

func isRedirect(r *capture.Request) bool {
	return r.Status >= http.StatusMultipleChoices && r.Status < http.StatusBadRequest && r.Status != http.StatusNotModified
}

// subjectWorked is worked as evidence.
func subjectWorked(s *Subject) bool { return worked(s.Request) }

// isOneReply reports whether the response is one answer, whose time and size say something.
func isOneReply(r *capture.Request) bool {
	return r.End == capture.Complete && r.Received.Media != "text/event-stream"
}

// path returns the path of the request, without its query.
func path(r *capture.Request) string {
	before, _, _ := strings.Cut(r.URL, "?")
	return before
}

// echoes reports whether the text is from the request itself.
func echoes(r *capture.Request, text string) bool {
	if strings.Contains(string(r.Sent.Body), text) || strings.Contains(r.URL, text) {
		return true
	}
	plain, err := url.QueryUnescape(r.URL)
	return err == nil && strings.Contains(plain, text)
}

// latest returns those of Recent that keep has, the subject's own request among them.
func (s *Subject) latest(keep func(r *capture.Request) bool) []*capture.Request {
	var kept []*capture.Request
	for _, r := range s.Recent {
		if r != s.Request && keep(r) {
			kept = append(kept, r)
		}
	}
	if keep(s.Request) {
		kept = append(kept, s.Request)
	}
	return kept
}
