package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A logLine is one line of a daemon's log, with what tests look at.
type logLine struct {
	Level, Msg, Channel, Turn, Message string
	MS                                 *float64 `json:"ms"`
	Cost                               float64  `json:"cost_usd"`
}

// logged returns the lines of a channel, as daemons have written them so far.
func (m *machine) logged(channel string) (lines []logLine) {
	m.t.Helper()
	for line := range strings.Lines(m.log.String()) {
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
	t.Parallel()
	m := newMachine(t, "BARECLAW_LOG_LEVEL=info")
	g := m.start()
	first := g.say("desk", "echo the session starts").str("message_id")
	before := 0
	m.eventually("the first answer is logged", func() bool {
		lines := m.logged("desk")
		before = len(lines)
		return slices.ContainsFunc(lines, func(l logLine) bool { return l.Message == first })
	})
	one := g.say("desk", "echo secret words")
	running, finish := g.occupy("desk")
	together := []string{g.tell("desk", "echo secret two"), g.tell("desk", "echo secret three")}
	finish()
	want := map[string]answer{one.str("message_id"): one}
	for _, id := range slices.Concat([]string{running}, together) {
		want[id] = g.outcome(id)
	}
	g.balanced()
	g.signal(syscall.SIGTERM)
	lines := m.logged("desk")[before:]
	for _, l := range lines {
		a, ok := want[l.Message]
		delete(want, l.Message)
		if !ok || l.Level != "INFO" || l.Msg != "message answered" || l.Turn != a.str("turn_id") || l.MS == nil || *l.MS != a.number("duration_ms") || l.Cost != a.number("cost_usd") || l.Channel != a.str("channel") {
			t.Errorf("the line %+v is not that of the answer %s", l, a.body)
		}
	}
	if len(want) > 0 {
		t.Errorf("answered without a line: %v; there are %+v", want, lines)
	}
	if s := m.log.String(); strings.Contains(s, "secret") {
		t.Errorf("the log has the text of messages:\n%s", s)
	}
}
