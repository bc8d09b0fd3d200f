package http

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bareclaw/docs"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/openapi"
)

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

func (w outcomeWant) check(t testing.TB, what string, a harness.Answer) {
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
	got := slices.Sorted(maps.Keys(a.JSON))
	if w.cut {
		got = slices.DeleteFunc(got, func(name string) bool {
			return slices.Contains(ran, name) && !slices.Contains(turned, name)
		})
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s has the fields %q, want %q: %s", what, got, want, a.Body)
	}
	if wrong := harness.Malformed(a.JSON); wrong != "" {
		t.Errorf("%s %s: %s", what, wrong, a.Body)
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
	for _, n := range a.Array("notices") {
		codes = append(codes, n.Code())
	}
	if a.Str("state") != w.state || a.Code() != w.code || !said(a.Str("text"), text) || a.Str("into") != w.into || strings.Join(codes, " ") != w.notices ||
		w.state != "answered" && !said(a.Str("error"), w.text) {
		t.Errorf("%s is %s, want %+v", what, a.Body, w)
	}
}

// An outcomeCase brings a message on a channel of its own to an outcome. It returns the
// answer of whoever waited for that, or of whoever asked afterwards, and what it is to be.
type outcomeCase func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant)

// fails sends a text that cannot be answered.
func fails(text string, w outcomeWant) outcomeCase {
	return func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant) {
		a := g.Say(channel, text)
		w.state = "failed"
		return a, w
	}
}

// cancelled has a message that waits end in some way.
func cancelled(code, sentence string, end func(g *harness.Gateway, channel, id string)) outcomeCase {
	return func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant) {
		_, finish := g.Occupy(channel)
		h := g.Hold(harness.Obj{"channel": channel, "text": "echo never"})
		g.Queued(channel, 1)
		id := g.Must("GET", "/channels/"+harness.Escaped(channel)+"/messages", nil, 200).Array("messages")[0].Str("message_id")
		end(g, channel, id)
		finish()
		return h.Answer(200), outcomeWant{state: "cancelled", code: code, text: sentence}
	}
}

// stopped has the turn of a message end in some way.
func stopped(code, sentence string, end func(g *harness.Gateway, channel, id string)) outcomeCase {
	return func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant) {
		id, _ := g.Occupy(channel)
		end(g, channel, id)
		return g.Outcome(id), outcomeWant{state: "cancelled", code: code, text: sentence, extra: turned, cut: true}
	}
}

// together has two messages become one turn, which ends in some way, and returns the
// first one.
func together(text string, w outcomeWant, end func(g *harness.Gateway, channel string)) outcomeCase {
	return func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant) {
		_, finish := g.Occupy(channel)
		first := g.Tell(channel, text)
		w.into = g.Tell(channel, "and another")
		finish()
		if end != nil {
			g.Eventually("the turn runs", func() bool { return g.BegunOn(channel, text) == 1 })
			end(g, channel)
		}
		return g.Outcome(first), w
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
			"answered": func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant) {
				return g.Say(channel, "echo hi"), outcomeWant{state: "answered", text: "hi", extra: ran}
			},
			"retried": func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant) {
				failed := g.Say(channel, "once "+g.Path("retried")+" apierror 529")
				a := g.Must("POST", "/messages/"+failed.Str("message_id")+"/retry", nil, 200)
				return a, outcomeWant{state: "answered", text: "again", extra: append([]string{"retry_of"}, ran...)}
			},
			"answered with another": together("echo both", outcomeWant{state: "answered", extra: ran}, nil),
			"failed with another":   together("apierror 529", outcomeWant{state: "failed", code: "overloaded", text: "API Error: 529…", extra: ran}, nil),
			"interrupted with another": together("wait NEVER", outcomeWant{state: "cancelled", code: "interrupted", text: "Interrupted on request.", extra: turned, cut: true},
				func(g *harness.Gateway, channel string) { interrupt(g, channel, 200) }),
			"overloaded":    fails("apierror 529", outcomeWant{code: "overloaded", text: "API Error: 529…", extra: ran}),
			"rate limited":  fails("apierror 429", outcomeWant{code: "rate_limited", text: "API Error: 429…", extra: ran}),
			"another error": fails("apierror 500", outcomeWant{code: "api_error", text: "API Error: 500…", extra: ran}),
			"not logged in": fails("notloggedin", outcomeWant{code: "not_logged_in", text: "This message was not answered: Claude is not logged in…", extra: ran}),
			"max turns":     fails("maxturns", outcomeWant{code: "max_turns", text: "Claude stopped: the turn reached its limit of steps…", extra: ran}),
			"claude died":   fails("die 3", outcomeWant{code: "agent_exit", text: "Claude ended in the middle of its work, with exit status 3. …", extra: turned}),
			"no answer":     fails("noresult", outcomeWant{code: "interrupted", text: "Claude ended this turn without an answer.…", extra: turned}),
			"cut": func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant) {
				cut(g, channel)
				list := g.Must("GET", "/channels/"+harness.Escaped(channel)+"/messages", nil, 200).Array("messages")
				return list[0], outcomeWant{state: "failed", code: "interrupted", text: "The turn was interrupted: …", extra: turned}
			},
			"deleted": cancelled("cancelled", cancelText, func(g *harness.Gateway, _, id string) { g.Must("DELETE", "/messages/"+id, nil, 200) }),
			"deleted with its channel": cancelled("channel_reset", closedText, func(g *harness.Gateway, channel, _ string) {
				g.Must("DELETE", "/channels/"+harness.Escaped(channel), nil, 200)
			}),
			"ended with its channel": stopped("channel_reset", closedText, func(g *harness.Gateway, channel, _ string) {
				g.Must("DELETE", "/channels/"+harness.Escaped(channel), nil, 200)
			}),
			"interrupted": stopped("interrupted", "Interrupted on request.", func(g *harness.Gateway, channel, _ string) { interrupt(g, channel, 200) }),
			"interrupted by another": stopped("interrupted", "Interrupted by a newer message.", func(g *harness.Gateway, channel, _ string) {
				g.Must("POST", "/message", harness.Obj{"channel": channel, "text": "echo urgent", "mode": "interrupt"}, 200)
			}),
			"claude does not hear": func(g *harness.Gateway, channel string) (harness.Answer, outcomeWant) {
				id := g.Tell(channel, "mute")
				g.Eventually("the turn runs", func() bool { return g.BegunOn(channel, "mute") == 1 })
				interrupt(g, channel, 200)
				return g.Outcome(id), outcomeWant{state: "cancelled", code: "interrupted", text: "Interrupted on request.", extra: turned}
			},
		}},
		"bounded": {[]string{"BARECLAW_TIMEOUT_MS=300"}, map[string]outcomeCase{
			"timeout": fails("wait NEVER", outcomeWant{code: "timeout", text: "The turn took longer than BARECLAW_TIMEOUT_MS allows…", extra: turned, cut: true}),
		}},
		"silent": {[]string{"BARECLAW_STALL_AFTER=1s", "BARECLAW_STALL_ACTION=interrupt"}, map[string]outcomeCase{
			"stalled": fails("wait NEVER", outcomeWant{code: "stalled", text: "Nothing was heard of Claude for …", extra: turned, cut: true}),
		}},
		"silent and killed": {[]string{"BARECLAW_STALL_AFTER=1s", "BARECLAW_STALL_ACTION=kill"}, map[string]outcomeCase{
			"stalled and deaf": fails("mute", outcomeWant{code: "stalled", text: "Nothing was heard of Claude for …", extra: turned}),
		}},
		"not ready": {[]string{"FAKECLAUDE_START=hang", "BARECLAW_START_TIMEOUT=1s"}, map[string]outcomeCase{
			"claude does not get ready": fails("echo never", outcomeWant{code: "agent_timeout", text: "Claude did not get ready in time (BARECLAW_START_TIMEOUT) and was ended.…", extra: turned}),
		}},
		"no start": {[]string{"FAKECLAUDE_START=exit:1"}, map[string]outcomeCase{
			"claude does not start": fails("echo never", outcomeWant{code: "agent_start", text: "Claude ended while starting, with exit status 1. …", extra: turned}),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := harness.NewMachine(t, row.settings...)
			g := through(m.Start(), openapi.New(t, docs.OpenAPI(), &http.Transport{}))
			all := map[string]harness.Answer{}
			for what, provoke := range row.cases {
				a, w := provoke(g, what)
				w.check(t, what, a)
				everywhere(g, what, a)
				all[what] = a
			}
			g.Balanced()
			g.Kill()
			g = through(m.Start(), openapi.New(t, docs.OpenAPI(), &http.Transport{}))
			for what, a := range all {
				everywhere(g, what+", after a crash", a)
			}
			g.Balanced()
		})
	}
}

// everywhere fails unless the outcome is the same wherever it is shown.
func everywhere(g *harness.Gateway, what string, a harness.Answer) {
	g.T.Helper()
	id := a.Str("message_id")
	shown := map[string]harness.Answer{
		"alone":       g.Must("GET", "/messages/"+id, nil, 200),
		"in a stream": g.Stream("GET", "/messages/"+id+"/events", nil).Want("result"),
		"in a trace":  {JSON: g.Must("GET", "/messages/"+id+"/trace", nil, 200).JSON["message"].(map[string]any)},
	}
	for _, m := range g.Must("GET", "/channels/"+harness.Escaped(a.Str("channel"))+"/messages", nil, 200).Array("messages") {
		if m.Str("message_id") == id {
			shown["in a list"] = m
		}
	}
	for where, got := range shown {
		if !reflect.DeepEqual(got.JSON, a.JSON) {
			g.T.Errorf("%s: the outcome %s is %v, and was %s", what, where, got.JSON, a.Body)
		}
	}
	if len(shown) != 4 {
		g.T.Errorf("%s: the list of messages lacks it", what)
	}
}
