package soak

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
)

// realSoakKinds are turns of the real CLI; see messagesapi for the directives.
var realSoakKinds = map[string]soakKind{
	"echo":  {weight: 2, text: soakText("echo %s"), answer: soakReply("TOKEN")},
	"words": {weight: 1, text: soakText("slow 1 %s"), answer: soakReply("")},
	"tool": {weight: 3, tool: true, ran: true, answer: soakReply("final after 1 call(s)"), text: func(r *soakRun, token string) string {
		return "tool:bash echo " + token + " >> " + r.Path("ran")
	}},
	"longtool": {weight: 2, tool: true, ran: true, answer: soakReply("final after 1 call(s)"), text: func(r *soakRun, token string) string {
		return "tool:bash echo " + token + " >> " + r.Path("ran") + "; sleep 0.5"
	}},
}

// TestRealSoak is the soak with the real CLI, in short.
func TestRealSoak(t *testing.T) {
	t.Parallel()
	m := harness.NewRealMachine(t)
	blows := slices.DeleteFunc(slices.Clone(soakBlows), func(b soakBlow) bool { return strings.Contains(b.name, "SIGINT") })
	r := newSoak(m.Machine, realSoakKinds, blows)
	r.pace = 3 // it is slower too
	most, length := 8, time.Minute
	if harness.Soak() {
		most, length = 60, 10*time.Minute
	}
	if r.run(3, length, most); t.Failed() {
		return
	}
	g := &harness.RealGateway{Gateway: r.calm(), M: m}
	total := len(r.lines)
	for _, l := range r.lines {
		total += soaked(g, l)
	}
	if n := g.Balanced(); n != total {
		t.Errorf("%d messages accepted by the ledger's account, %d are there", n, total)
	}
	r.nothingLoose()
	g.EndsAll()
	r.quietLogs()
	t.Logf("what happened: %v", r.tally)
}

// cutTwice is told of a turn that was cut, run again and cut again: claude does not run it
// a third time, and a daemon that was started since does not know of those that died.
const cutTwice = "Claude ended this turn without an answer."

// soaked checks the messages of a channel and returns how many were accepted.
func soaked(g *harness.RealGateway, l *soakLine) int {
	g.T.Helper()
	msgs, known := []*harness.Sent{{Text: "echo usable", Doubt: true}}, map[string]*soakMessage{}
	for _, s := range l.sent {
		msgs, known[s.ID] = append(msgs, &s.Sent), s
	}
	outcomes := g.Settled(l.key, msgs)
	for id, o := range outcomes {
		s := known[id]
		if s == nil {
			continue // not known to be accepted, and had an outcome
		}
		ran := count(g.M.Lines("ran"), s.token)
		if ran > 1 {
			g.T.Errorf("the tool of %s ran %d times", s.token, ran)
		}
		l.count(strings.TrimSpace(o.Str("state") + " " + o.Code()))
		lead, text := leader(g, known, outcomes, o)
		if lead == nil {
			continue
		}
		k := l.kinds[lead.kind]
		switch what := o.Str("state") + " " + o.Code(); {
		case what == "answered " && !o.Flag("is_error"):
			if !strings.Contains(text, k.answer(lead.token)) && !l.steered(text) {
				g.T.Errorf("%s was answered %q: %s", lead.Text, text, o.Body)
			}
			if lead == s && k.ran && ran != 1 {
				g.T.Errorf("%s was answered, and its tool ran %d times", s.Text, ran)
			}
		case what == "failed interrupted" && (k.tool || l.interrupted()):
		case what == "cancelled interrupted" && l.interrupted(), what == "cancelled cancelled" && s.withdrawn != "":
		case (what == "failed agent_exit" || what == "failed agent_start") && strings.Contains(o.Str("error"), "tried 3 times"):
		case what == "failed interrupted" && strings.HasPrefix(o.Str("error"), cutTwice):
		default:
			g.T.Errorf("%s: %s", s.Text, o.Body)
		}
	}
	return len(outcomes) - 1
}

// steered reports whether the text is what a steered message was to be answered
// with: the API follows its directive, once it is folded into another's turn.
func (l *soakLine) steered(text string) bool {
	return slices.ContainsFunc(l.sent, func(s *soakMessage) bool {
		return s.mode == "steer" && strings.Contains(text, s.token)
	})
}

// leader returns the message whose directive the turn of an outcome followed, if it
// is known, and the text that the turn was answered with.
func leader(g *harness.RealGateway, known map[string]*soakMessage, outcomes map[string]harness.Answer, o harness.Answer) (*soakMessage, string) {
	g.T.Helper()
	if into := o.Str("into"); into != "" {
		o = outcomes[into]
	}
	members, _ := g.Must("GET", "/messages/"+o.Str("message_id")+"/trace", nil, 200).JSON["members"].([]any)
	if len(members) == 0 {
		return known[o.Str("message_id")], o.Str("text")
	}
	id, _ := members[0].(string)
	return known[id], o.Str("text")
}

// count returns how often s is among the lines.
func count(lines []string, s string) (n int) {
	for _, l := range lines {
		if l == s {
			n++
		}
	}
	return n
}
