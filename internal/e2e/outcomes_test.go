package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/docs"
	"bareclaw/internal/testkit/openapi"
)

// malformed says what an outcome lacks or has too much; empty for one that is complete,
// and for everything that is no outcome.
func malformed(m map[string]any) string {
	state, _ := m["state"].(string)
	if _, message := m["message_id"]; !message || state != "answered" && state != "failed" && state != "cancelled" {
		return ""
	}
	if len(m) == 4 && m["channel"] != nil && m["prompt"] != nil {
		return "" // only says that a message was accepted
	}
	word := func(name string) string { s, _ := m[name].(string); return s }
	isError, told := m["is_error"].(bool)
	text, texted := m["text"].(string)
	coalesced := m["coalesced"] == true
	began, err := time.Parse(time.RFC3339Nano, word("received_at"))
	ended, err2 := time.Parse(time.RFC3339Nano, word("ended_at"))
	switch _, timed := m["duration_ms"].(float64); {
	case !told || !texted || !timed:
		return "lacks is_error, text or duration_ms"
	case isError != (state != "answered"):
		return "has the wrong is_error"
	case isError && (word("code") == "" || word("error") == ""):
		return "lacks a code or a sentence"
	case isError && !coalesced && !strings.Contains(text, word("error")):
		return "does not say in its text what is wrong"
	case !isError && (m["code"] != nil || m["error"] != nil):
		return "is an answer with a code or an error"
	case coalesced != (word("into") != ""):
		return "is coalesced into nothing"
	case err != nil || err2 != nil || ended.Before(began):
		return "ended before it was received"
	}
	return ""
}

// checkOutcomes fails for every outcome in a JSON document that is not complete.
func checkOutcomes(t testing.TB, where string, doc any) {
	switch v := doc.(type) {
	case map[string]any:
		if wrong := malformed(v); wrong != "" {
			b, _ := json.Marshal(v)
			t.Errorf("%s: an outcome %s: %s", where, wrong, b)
		}
		for _, member := range v {
			checkOutcomes(t, where, member)
		}
	case []any:
		for _, element := range v {
			checkOutcomes(t, where, element)
		}
	}
}

// An outcomeWant is what all fields of an outcome are to be.
type outcomeWant struct {
	state, code string
	text        string   // of an answer; else the whole sentence, or a part of it that ends in "…"
	extra       []string // fields beside those that every outcome has
	into        string   // the message that carries the text
	notices     string   // codes
	cut         bool     // claude was asked to end the turn, and may have been ended before its result came
}

// always are the fields that every outcome over HTTP has, turned those of one that had a
// turn, and ran those of one whose turn has a result of claude's own.
var (
	always = []string{"message_id", "channel", "state", "prompt", "text", "is_error", "duration_ms", "adapter", "received_at", "ended_at"}
	turned = []string{"turn_id"}
	ran    = []string{"turn_id", "session_id", "cost_usd"}
)

func (w outcomeWant) check(t testing.TB, what string, a answer) {
	t.Helper()
	want := slices.Concat(always, w.extra)
	if w.state != "answered" {
		want = append(want, "code", "error")
	}
	if w.into != "" {
		want = append(want, "coalesced", "into")
		want = slices.DeleteFunc(want, func(name string) bool { return name == "cost_usd" }) // the carrier has it
	}
	if w.notices != "" {
		want = append(want, "notices")
	}
	got := slices.Sorted(maps.Keys(a.json))
	if w.cut {
		got = slices.DeleteFunc(got, func(name string) bool {
			return slices.Contains(ran, name) && !slices.Contains(turned, name)
		})
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s has the fields %q, want %q: %s", what, got, want, a.body)
	}
	if wrong := malformed(a.json); wrong != "" {
		t.Errorf("%s %s: %s", what, wrong, a.body)
	}
	text := w.text
	if w.into != "" {
		text = ""
	}
	said := func(s, want string) bool {
		if head, more := strings.CutSuffix(want, "…"); more {
			return strings.HasPrefix(s, head)
		}
		return s == want
	}
	var codes []string
	for _, n := range a.array("notices") {
		codes = append(codes, n.code())
	}
	if a.str("state") != w.state || a.code() != w.code || !said(a.str("text"), text) || a.str("into") != w.into || strings.Join(codes, " ") != w.notices ||
		w.state != "answered" && !said(a.str("error"), w.text) {
		t.Errorf("%s is %s, want %+v", what, a.body, w)
	}
}

// An outcomeCase brings a message on a channel of its own to an outcome. It returns the
// answer of whoever waited for that, or of whoever asked afterwards, and what it is to be.
type outcomeCase func(g *gateway, channel string) (answer, outcomeWant)

// fails sends a text that cannot be answered.
func fails(text string, w outcomeWant) outcomeCase {
	return func(g *gateway, channel string) (answer, outcomeWant) {
		a := g.say(channel, text)
		w.state = "failed"
		return a, w
	}
}

// cancelled has a message that waits end in some way.
func cancelled(code, sentence string, end func(g *gateway, channel, id string)) outcomeCase {
	return func(g *gateway, channel string) (answer, outcomeWant) {
		_, finish := g.occupy(channel)
		h := g.hold(obj{"channel": channel, "text": "echo never"})
		g.queued(channel, 1)
		id := g.must("GET", "/channels/"+escaped(channel)+"/messages", nil, 200).array("messages")[0].str("message_id")
		end(g, channel, id)
		finish()
		return h.answer(200), outcomeWant{state: "cancelled", code: code, text: sentence}
	}
}

// stopped has the turn of a message end in some way.
func stopped(code, sentence string, end func(g *gateway, channel, id string)) outcomeCase {
	return func(g *gateway, channel string) (answer, outcomeWant) {
		id, _ := g.occupy(channel)
		end(g, channel, id)
		return g.outcome(id), outcomeWant{state: "cancelled", code: code, text: sentence, extra: turned, cut: true}
	}
}

// together has two messages become one turn, which ends in some way, and returns the
// first one.
func together(text string, w outcomeWant, end func(g *gateway, channel string)) outcomeCase {
	return func(g *gateway, channel string) (answer, outcomeWant) {
		_, finish := g.occupy(channel)
		first := g.tell(channel, text)
		w.into = g.tell(channel, "and another")
		finish()
		if end != nil {
			g.eventually("the turn runs", func() bool { return g.begunOn(channel, text) == 1 })
			end(g, channel)
		}
		return g.outcome(first), w
	}
}

// TestEveryKindOfOutcome looks at all fields of every kind of outcome: as whoever waited
// got it, as streams and lists show it, and as the ledger has it for the next daemon.
func TestEveryKindOfOutcome(t *testing.T) {
	t.Parallel()
	const cancelText, closedText = "Cancelled before it was begun.", "The conversation was closed before this message was answered."
	for name, row := range map[string]struct {
		settings []string
		cases    map[string]outcomeCase
	}{
		"usual": {nil, map[string]outcomeCase{
			"answered": func(g *gateway, channel string) (answer, outcomeWant) {
				return g.say(channel, "echo hi"), outcomeWant{state: "answered", text: "hi", extra: ran}
			},
			"retried": func(g *gateway, channel string) (answer, outcomeWant) {
				failed := g.say(channel, "once "+g.path("retried")+" apierror 529")
				a := g.must("POST", "/messages/"+failed.str("message_id")+"/retry", nil, 200)
				return a, outcomeWant{state: "answered", text: "again", extra: append([]string{"retry_of"}, ran...)}
			},
			"answered with another": together("echo both", outcomeWant{state: "answered", extra: ran}, nil),
			"failed with another":   together("apierror 529", outcomeWant{state: "failed", code: "overloaded", text: "API Error: 529…", extra: ran}, nil),
			"interrupted with another": together("wait NEVER", outcomeWant{state: "cancelled", code: "interrupted", text: "Interrupted on request.", extra: turned, cut: true},
				func(g *gateway, channel string) { g.interrupt(channel, 200) }),
			"overloaded":    fails("apierror 529", outcomeWant{code: "overloaded", text: "API Error: 529…", extra: ran}),
			"rate limited":  fails("apierror 429", outcomeWant{code: "rate_limited", text: "API Error: 429…", extra: ran}),
			"another error": fails("apierror 500", outcomeWant{code: "api_error", text: "API Error: 500…", extra: ran}),
			"not logged in": fails("notloggedin", outcomeWant{code: "not_logged_in", text: "Claude is not logged in.…", extra: ran, notices: "parked"}),
			"max turns":     fails("maxturns", outcomeWant{code: "max_turns", text: "Claude stopped: the turn reached its limit of steps…", extra: ran}),
			"claude died":   fails("die 3", outcomeWant{code: "agent_exit", text: "Claude ended in the middle of its work, with exit status 3. …", extra: turned}),
			"no answer":     fails("noresult", outcomeWant{code: "interrupted", text: "Claude ended this turn without an answer.…", extra: turned}),
			"cut": func(g *gateway, channel string) (answer, outcomeWant) {
				g.cut(channel, "")
				list := g.must("GET", "/channels/"+escaped(channel)+"/messages", nil, 200).array("messages")
				return list[0], outcomeWant{state: "failed", code: "interrupted", text: "The turn was interrupted: …", extra: turned}
			},
			"deleted": cancelled("cancelled", cancelText, func(g *gateway, _, id string) { g.must("DELETE", "/messages/"+id, nil, 200) }),
			"deleted with its channel": cancelled("channel_reset", closedText, func(g *gateway, channel, _ string) {
				g.must("DELETE", "/channels/"+escaped(channel), nil, 200)
			}),
			"ended with its channel": stopped("channel_reset", closedText, func(g *gateway, channel, _ string) {
				g.must("DELETE", "/channels/"+escaped(channel), nil, 200)
			}),
			"interrupted": stopped("interrupted", "Interrupted on request.", func(g *gateway, channel, _ string) { g.interrupt(channel, 200) }),
			"interrupted by another": stopped("interrupted", "Interrupted by a newer message.", func(g *gateway, channel, _ string) {
				g.must("POST", "/message", obj{"channel": channel, "text": "echo urgent", "mode": "interrupt"}, 200)
			}),
			"claude does not hear": func(g *gateway, channel string) (answer, outcomeWant) {
				id := g.tell(channel, "mute")
				g.eventually("the turn runs", func() bool { return g.begunOn(channel, "mute") == 1 })
				g.interrupt(channel, 200)
				return g.outcome(id), outcomeWant{state: "cancelled", code: "interrupted", text: "Interrupted on request.", extra: turned}
			},
		}},
		"bounded": {[]string{"BARECLAW_TIMEOUT_MS=300"}, map[string]outcomeCase{
			"timeout": fails("wait NEVER", outcomeWant{code: "timeout", text: "The turn took longer than BARECLAW_TIMEOUT_MS allows…", extra: turned, cut: true}),
		}},
		"silent": {[]string{"BARECLAW_STALL_AFTER=1s", "BARECLAW_STALL_ACTION=interrupt"}, map[string]outcomeCase{
			"stalled": fails("wait NEVER", outcomeWant{code: "stalled", text: "Nothing was heard of Claude for …", extra: turned, cut: true}),
		}},
		"no start": {[]string{"FAKECLAUDE_START=exit:1"}, map[string]outcomeCase{
			"claude does not start": fails("echo never", outcomeWant{code: "agent_start", text: "Claude ended while starting, with exit status 1. …", extra: turned}),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, row.settings...)
			g := m.start().through(openapi.New(t, docs.OpenAPI(), &http.Transport{}))
			all := map[string]answer{}
			for what, provoke := range row.cases {
				a, w := provoke(g, what)
				w.check(t, what, a)
				g.everywhere(what, a)
				all[what] = a
			}
			g.balanced()
			g.kill()
			g = m.start().through(openapi.New(t, docs.OpenAPI(), &http.Transport{}))
			for what, a := range all {
				g.everywhere(what+", after a crash", a)
			}
			g.balanced()
		})
	}
}

// everywhere fails unless the outcome is the same wherever it is shown.
func (g *gateway) everywhere(what string, a answer) {
	g.t.Helper()
	id := a.str("message_id")
	shown := map[string]answer{
		"alone":       g.must("GET", "/messages/"+id, nil, 200),
		"in a stream": g.stream("GET", "/messages/"+id+"/events", nil).want("result"),
		"in a trace":  {json: g.must("GET", "/messages/"+id+"/trace", nil, 200).json["message"].(map[string]any)},
	}
	for _, m := range g.must("GET", "/channels/"+escaped(a.str("channel"))+"/messages", nil, 200).array("messages") {
		if m.str("message_id") == id {
			shown["in a list"] = m
		}
	}
	for where, got := range shown {
		if !reflect.DeepEqual(got.json, a.json) {
			g.t.Errorf("%s: the outcome %s is %v, and was %s", what, where, got.json, a.body)
		}
	}
	if len(shown) != 4 {
		g.t.Errorf("%s: the list of messages lacks it", what)
	}
}
