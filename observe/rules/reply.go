package rules

import (
	"bytes"
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

// isAnswered reports whether the answer came whole.
func isAnswered(s *Subject) bool { return s.Request.End == capture.Complete && s.Request.Status > 0 }

// isJudged reports whether the app has looked at what the request asks for and answered that, be it by a refusal: not if
// it did not let the client in, or could not.
func isJudged(s *Subject) bool {
	r := s.Request
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests:
		return false
	}
	return isAnswered(s) && !isServerError(r)
}

// returned reports whether the app did what the request asks for, and the response has a body.
func returned(r *capture.Request) bool {
	switch r.Status {
	case http.StatusNoContent, http.StatusResetContent, http.StatusPartialContent:
		return false
	}
	return r.Method != http.MethodHead && r.Status >= http.StatusOK && r.Status < http.StatusMultipleChoices
}

func isRedirect(r *capture.Request) bool {
	return r.Status >= http.StatusMultipleChoices && r.Status < http.StatusBadRequest && r.Status != http.StatusNotModified
}

// didItsWork reports whether the app did all the work for what the request asks for. Where nothing had to be returned,
// there may have been none: a page that has not changed, or an empty list.
func didItsWork(s *Subject) bool {
	r := s.Request
	isShort := r.Status == http.StatusNotModified && len(r.Queries) == 0
	isWhole := r.End == capture.Complete && r.Dropped == 0
	return worked(r) && isWhole && !isShort && !repliedNothing(s)
}

// repliedNothing reports whether the response is known to have no data.
func repliedNothing(s *Subject) bool {
	reply := s.receivedJSON()
	return isEmptyList(reply) || isFailure(reply)
}

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
	if bytes.Contains(r.Sent.Body, []byte(text)) || strings.Contains(r.URL, text) {
		return true
	}
	plain, err := url.QueryUnescape(r.URL)
	return err == nil && strings.Contains(plain, text)
}

// latest returns those of Recent that keep has, the subject's own request among them.
func (s *Subject) latest(keep func(r *capture.Request) bool) []*capture.Request {
	return s.latestOf(s.Recent, keep)
}

// latestOf returns those of requests that keep has, the subject's own request among them.
func (s *Subject) latestOf(requests []*capture.Request, keep func(r *capture.Request) bool) []*capture.Request {
	var kept []*capture.Request
	for _, r := range requests {
		if r != s.Request && keep(r) {
			kept = append(kept, r)
		}
	}
	if keep(s.Request) {
		kept = append(kept, s.Request)
	}
	return kept
}
