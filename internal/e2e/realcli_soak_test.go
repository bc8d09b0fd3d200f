package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// realSoakKinds are turns of the real CLI; see messagesapi for the directives.
var realSoakKinds = map[string]soakKind{
	"echo":  {weight: 2, text: soakText("echo %s"), answer: soakReply("TOKEN")},
	"words": {weight: 1, text: soakText("slow 1 %s"), answer: soakReply("")},
	"tool": {weight: 3, tool: true, ran: true, answer: soakReply("final after 1 call(s)"), text: func(r *soakRun, token string) string {
		return "tool:bash echo " + token + " >> " + r.path("ran")
	}},
	"longtool": {weight: 2, tool: true, ran: true, answer: soakReply("final after 1 call(s)"), text: func(r *soakRun, token string) string {
		return "tool:bash echo " + token + " >> " + r.path("ran") + "; sleep 0.5"
	}},
}

// TestRealSoak is the soak with the real CLI, in short.
func TestRealSoak(t *testing.T) {
	t.Parallel()
	m := newRealMachine(t)
	blows := slices.DeleteFunc(slices.Clone(soakBlows), func(b soakBlow) bool { return strings.Contains(b.name, "SIGINT") })
	r := newSoak(m.machine, realSoakKinds, blows)
	r.pace = 3 // it is slower too
	most, length := 8, time.Minute
	if soak() {
		most, length = 60, 10*time.Minute
	}
	if r.run(3, length, most); t.Failed() {
		return
	}
	g := &realGateway{r.calm(), m}
	total := len(r.lines)
	for _, l := range r.lines {
		total += g.soaked(l)
	}
	if n := g.balanced(); n != total {
		t.Errorf("%d messages accepted by the ledger's account, %d are there", n, total)
	}
	r.nothingLoose()
	g.endsAll()
	r.quietLogs()
	t.Logf("what happened: %v", r.tally)
}

// cutTwice is told of a turn that was cut, run again and cut again: claude does not run it
// a third time, and a daemon that was started since does not know of those that died.
const cutTwice = "Claude ended this turn without an answer."

// soaked checks the messages of a channel and returns how many were accepted.
func (g *realGateway) soaked(l *soakLine) int {
	g.t.Helper()
	msgs, known := []*sent{{text: "echo usable", doubt: true}}, map[string]*soakMessage{}
	for _, s := range l.sent {
		msgs, known[s.id] = append(msgs, &s.sent), s
	}
	outcomes := g.settled(l.key, msgs)
	for id, o := range outcomes {
		s := known[id]
		if s == nil {
			continue // not known to be accepted, and had an outcome
		}
		ran := count(g.m.lines("ran"), s.token)
		if ran > 1 {
			g.t.Errorf("the tool of %s ran %d times", s.token, ran)
		}
		l.count(strings.TrimSpace(o.str("state") + " " + o.code()))
		lead, text := g.leader(known, outcomes, o)
		if lead == nil {
			continue
		}
		k := l.kinds[lead.kind]
		switch what := o.str("state") + " " + o.code(); {
		case what == "answered " && !o.flag("is_error"):
			if !strings.Contains(text, k.answer(lead.token)) && !l.steered(text) {
				g.t.Errorf("%s was answered %q: %s", lead.text, text, o.body)
			}
			if lead == s && k.ran && ran != 1 {
				g.t.Errorf("%s was answered, and its tool ran %d times", s.text, ran)
			}
		case what == "failed interrupted" && (k.tool || l.interrupted()):
		case what == "cancelled interrupted" && l.interrupted(), what == "cancelled cancelled" && s.withdrawn != "":
		case (what == "failed agent_exit" || what == "failed agent_start") && strings.Contains(o.str("error"), "tried 3 times"):
		case what == "failed interrupted" && strings.HasPrefix(o.str("error"), cutTwice):
		default:
			g.t.Errorf("%s: %s", s.text, o.body)
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
func (g *realGateway) leader(known map[string]*soakMessage, outcomes map[string]answer, o answer) (*soakMessage, string) {
	g.t.Helper()
	if into := o.str("into"); into != "" {
		o = outcomes[into]
	}
	members, _ := g.must("GET", "/messages/"+o.str("message_id")+"/trace", nil, 200).json["members"].([]any)
	if len(members) == 0 {
		return known[o.str("message_id")], o.str("text")
	}
	id, _ := members[0].(string)
	return known[id], o.str("text")
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
