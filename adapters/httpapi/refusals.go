package httpapi

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/internal/humanize"
)

// refusalPeriod is how long refusals of a code are gathered in one line of the log.
const refusalPeriod = time.Minute

// refusals logs requests that the guard refuses: of each code the first one at once, and how many
// followed when the period is over. Whoever is not let in must not push everybody else's lines out of
// the log.
type refusals struct {
	log *slog.Logger

	mu     sync.Mutex               // protects the fields below
	counts map[string]*refusalCount // by code
}

// A refusalCount is how often requests were refused with a code.
type refusalCount struct {
	all       int
	followed  int         // since the line of the first one
	gathering *time.Timer // ends the period; nil outside of one
}

// note counts a refused request, and logs the first one of a period.
func (s *refusals) note(r *http.Request, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts[code]
	if c == nil {
		c = &refusalCount{}
		s.counts[code] = c
	}
	c.all++
	if c.gathering != nil {
		c.followed++
		return
	}
	c.gathering = time.AfterFunc(refusalPeriod, func() { s.endPeriod(code) })
	s.log.Info("http request refused", "code", code, "method", humanize.Shorten(r.Method, maxQuoted), "remote", r.RemoteAddr,
		"host", humanize.Shorten(r.Host, maxQuoted), "origin", humanize.Shorten(r.Header.Get("Origin"), maxQuoted))
}

// endPeriod logs how many refusals of a code followed the first one.
func (s *refusals) endPeriod(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts[code]
	if c.gathering == nil { // close has ended the period
		return
	}
	if c.followed > 0 {
		s.log.Info("http requests refused", "code", code, "more", c.followed, "within", refusalPeriod.String())
	}
	c.gathering.Stop()
	c.followed, c.gathering = 0, nil
}

// close logs what was gathered so far.
func (s *refusals) close() {
	s.mu.Lock()
	codes := slices.Sorted(maps.Keys(s.counts))
	s.mu.Unlock()
	for _, code := range codes {
		s.endPeriod(code)
	}
}

// writeMetrics adds how many requests were refused, by code.
func (s *refusals) writeMetrics(w *metrics.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for code, c := range s.counts {
		w.Counter("bareclaw_http_refused_total", "Requests refused before their route was looked up, since start, by code.", float64(c.all), "code", code)
	}
}
