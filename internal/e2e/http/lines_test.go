package http

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// A logLine is one line of a daemon's log, with what tests look at.
type logLine struct {
	Level, Msg, Channel, Turn, Message string
	MS                                 *float64 `json:"ms"`
	Cost                               float64  `json:"cost_usd"`
}

// logged returns the lines of a channel, as daemons have written them so far.
func logged(m *harness.Machine, channel string) (lines []logLine) {
	m.T.Helper()
	for line := range strings.Lines(m.Log.String()) {
		var l logLine
		if json.Unmarshal([]byte(line), &l) == nil && l.Channel == channel {
			lines = append(lines, l)
		}
	}
	return lines
}

// TestOneLineForAnAnswer holds that the log says of each message that is answered when,
// where and at which price, in one line, and never what was asked or answered.
func TestOneLineForAnAnswer(t *testing.T) {
	m, g := harness.Started(t, "BARECLAW_LOG_LEVEL=info")
	first := g.Say("desk", "echo the session starts").Str("message_id")
	before := 0
	m.Eventually("the first answer is logged", func() bool {
		lines := logged(m, "desk")
		before = len(lines)
		return slices.ContainsFunc(lines, func(l logLine) bool { return l.Message == first })
	})
	one := g.Say("desk", "echo secret words")
	running, finish := g.Occupy("desk")
	together := []string{g.Tell("desk", "echo secret two"), g.Tell("desk", "echo secret three")}
	finish()
	want := map[string]harness.Answer{one.Str("message_id"): one}
	for _, id := range slices.Concat([]string{running}, together) {
		want[id] = g.Outcome(id)
	}
	g.Balanced()
	g.Signal(syscall.SIGTERM)
	lines := logged(m, "desk")[before:]
	for _, l := range lines {
		a, ok := want[l.Message]
		delete(want, l.Message)
		if !ok || l.Level != "INFO" || l.Msg != "message answered" || l.Turn != a.Str("turn_id") || l.MS == nil || *l.MS != a.Number("duration_ms") || l.Cost != a.Number("cost_usd") || l.Channel != a.Str("channel") {
			t.Errorf("the line %+v is not that of the answer %s", l, a.Body)
		}
	}
	if len(want) > 0 {
		t.Errorf("answered without a line: %v; there are %+v", want, lines)
	}
	if s := m.Log.String(); strings.Contains(s, "secret") {
		t.Errorf("the log has the text of messages:\n%s", s)
	}
}
