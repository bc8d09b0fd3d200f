package mounts

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"time"

	"bareclaw/internal/mdtext"
)

const (
	// saidEvery is the time in which at most maxSaid lines of a server are logged.
	saidEvery = time.Minute
	maxSaid   = 30
	// maxSaidLine bounds a logged line, in characters.
	maxSaidLine = 400
	// firstKept and lastKept are how many of the first and of the last lines are kept: they say why a server has ended,
	// some in the first and some in the last one.
	firstKept = 2
	lastKept  = 3
	// maxReasonLine bounds a line in the reason, in UTF-16 units.
	maxReasonLine = 200
)

// A stderrLog logs what a server writes that is no message, as far as its bounds allow. It is safe for
// concurrent use.
type stderrLog struct {
	log     *slog.Logger // with the name of the server
	secrets *redactor    // of the server

	mu      sync.Mutex // guards the fields below
	rest    []byte     // of a line without an end
	began   time.Time  // of the present time of saidEvery
	said    int        // lines in it
	leftOut int        // likewise, beyond maxSaid
	first   []string   // of all lines, as they were written
	last    []string   // of those after first, likewise
	between bool       // there were lines between first and last
}

// Write implements io.Writer. It never fails.
func (l *stderrLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range bytes.SplitAfter(p, []byte("\n")) {
		if room := 4*maxSaidLine - len(l.rest); len(part) > room && !bytes.HasSuffix(part, []byte("\n")) {
			part = part[:max(room, 0)] // the rest of the line is left out
		}
		l.rest = append(l.rest, part...)
		if bytes.HasSuffix(part, []byte("\n")) {
			l.line(string(l.rest))
			l.rest = l.rest[:0]
		}
	}
	return len(p), nil
}

// line logs a line, or only keeps it: a server may write more lines than can be made readable in time. The caller
// holds mu.
func (l *stderrLog) line(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	l.keep(text)
	if now := time.Now(); now.Sub(l.began) > saidEvery {
		if l.leftOut > 0 {
			l.log.Warn("mounted server says more than is logged", "lines", l.leftOut)
		}
		l.began = now
		l.said = 0
		l.leftOut = 0
	}
	if l.said++; l.said > maxSaid {
		l.leftOut++
		return
	}
	l.log.Info("mounted server", "says", l.readable(text, maxSaidLine))
}

// readable returns a line without secrets, of at most n UTF-16 units.
func (l *stderrLog) readable(line string, n int) string { return mdtext.Brief(l.secrets.hide(line), n) }

// keep keeps a line for the reason; mu is held.
func (l *stderrLog) keep(line string) {
	if len(l.first) < firstKept {
		l.first = append(l.first, line)
		return
	}
	if len(l.last) == lastKept {
		l.last = l.last[1:]
		l.between = true
	}
	l.last = append(l.last, line)
}

// reason returns the first and the last lines, which may say why the server has ended; empty: it has said nothing.
func (l *stderrLog) reason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, line := range l.first {
		lines = append(lines, l.readable(line, maxReasonLine))
	}
	if l.between {
		lines = append(lines, "…")
	}
	for _, line := range l.last {
		lines = append(lines, l.readable(line, maxReasonLine))
	}
	return strings.Join(lines, " / ")
}
