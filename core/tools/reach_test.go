package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/toolset"
)

// fakePolicy lets all sessions use the same tools.
type fakePolicy struct {
	tools toolset.Set
	mode  string // of channels without one of their own
	own   map[core.ChannelKey]string
	rules []string // of every channel
}

func (f fakePolicy) View(core.ChannelKey) View       { return ViewOf(cmp.Or(f.tools, toolset.All)) }
func (f fakePolicy) Mode(key core.ChannelKey) string { return cmp.Or(f.own[key], f.mode) }
func (f fakePolicy) HasRule(_ core.ChannelKey, rule string) bool {
	return slices.Contains(f.rules, rule)
}
func (f fakePolicy) OwnModes() map[core.ChannelKey]string          { return f.own }
func (f fakePolicy) with(key core.ChannelKey, m string) fakePolicy { f.own[key] = m; return f }

// TestReach calls tools of each reach from channels with more and with fewer rights, from clients of
// the user, and over the socket that claude's own commands reach, directly and by name.
func TestReach(t *testing.T) {
	t.Parallel()
	computes, named, changesAll, lost := echo("computes"), echo("named"), echo("changes_all"), echo("lost")
	computes.Reach = ReachOwn
	named.Reach = ReachOf(func(_ context.Context, _ Call, args struct{ Channel core.ChannelKey }) (core.ChannelKey, error) {
		return args.Channel, nil
	})
	lost.Reach = func(context.Context, Call) (core.ChannelKey, error) { return "", errors.New("it cannot be known") }
	const goesThrough = ""
	for _, c := range []struct {
		what, gateway string
		call          Call
		tool, target  string
		says          string
	}{
		{"own channel", "", Call{Caller: Caller{Channel: "plans"}}, "named", "plans", goesThrough},
		{"a channel with more rights", "", Call{Caller: Caller{Channel: "plans"}}, "named", "boss", `your channel has the permission mode plan, and channel "boss" has bypassPermissions`},
		{"a channel with fewer rights", "", Call{Caller: Caller{Channel: "boss"}}, "named", "plans", goesThrough},
		{"a channel with equal rights", "", Call{Caller: Caller{Channel: "plans"}}, "named", "plans too", goesThrough},
		{"both as the gateway", "", Call{Caller: Caller{Channel: "x"}}, "named", "y", goesThrough},
		{"a channel without a mode may do as claude's settings say", "", Call{Caller: Caller{Channel: "edits"}}, "named", "x", `channel "x" has that Claude's own settings choose`},
		{"a mode of the gateway", "acceptEdits", Call{Caller: Caller{Channel: "edits"}}, "named", "x", goesThrough},
		{"a channel without a mode of its own", "plan", Call{Caller: Caller{Channel: "x"}}, "named", "edits", `has the permission mode plan, and channel "edits" has acceptEdits`},
		{"a client of the user", "plan", Call{}, "named", "boss", goesThrough},
		{"the socket", "plan", Call{Caller: Caller{Local: true}}, "named", "boss", `does not come from a session has the gateway's own permission mode, plan,`},
		{"the socket of a gateway with all rights", "bypassPermissions", Call{Caller: Caller{Local: true}}, "named", "boss", goesThrough},
		{"computing", "", Call{Caller: Caller{Channel: "plans"}}, "computes", "", goesThrough},
		{"computing over the socket", "plan", Call{Caller: Caller{Local: true}}, "computes", "", goesThrough},
		{"all channels, from one of many", "", Call{Caller: Caller{Channel: "plans"}}, "changes_all", "", `a channel without a mode of its own has that Claude's own settings choose`},
		{"all channels, from one with fewer rights than another", "acceptEdits", Call{Caller: Caller{Channel: "edits"}}, "changes_all", "", `channel "boss" has bypassPermissions`},
		{"all channels, from the one with all rights", "", Call{Caller: Caller{Channel: "boss"}}, "changes_all", "", goesThrough},
		{"all channels, by the user", "", Call{}, "changes_all", "", goesThrough},
		{"all channels, over the socket", "acceptEdits", Call{Caller: Caller{Local: true}}, "changes_all", "", `changes_all is refused: it concerns all channels`},
		{"unknown", "", Call{Caller: Caller{Channel: "boss"}}, "lost", "", "it cannot be known"},
	} {
		policy := fakePolicy{mode: c.gateway, own: map[core.ChannelKey]string{}}.with("plans", "plan").with("plans too", "plan").with("edits", "acceptEdits").with("boss", "bypassPermissions")
		r := registry(t, policy, computes, named, changesAll, lost)
		args, err := json.Marshal(map[string]string{"channel": c.target})
		check.OK(t, err)
		for _, tool := range []string{c.tool, CallName} {
			c.call.Args = args
			if tool == CallName {
				c.call.Args = json.RawMessage(`{"name":"` + c.tool + `","args":` + string(args) + `}`)
			}
			got, err := r.Call(t.Context(), tool, c.call)
			if err != nil || got.IsError != (c.says != goesThrough) || !strings.Contains(got.Text, c.says) {
				t.Errorf("%s, by %s: %+v, %v; want %q", c.what, tool, got, err, c.says)
			}
			if refusal := strings.Contains(got.Text, "refused"); refusal && !strings.Contains(got.Text, "A person can") {
				t.Errorf("%s: it does not say what a person can do: %s", c.what, got.Text)
			}
		}
	}
}

// TestReachOfLaterSettings: what is set counts for the next call.
func TestReachOfLaterSettings(t *testing.T) {
	t.Parallel()
	policy := fakePolicy{own: map[core.ChannelKey]string{}}
	changes := echo("changes_all")
	r := registry(t, policy, changes)
	for _, step := range []struct {
		mode    string
		refused bool
	}{{"", false}, {"plan", true}, {"bypassPermissions", false}, {"default", true}} {
		policy.own["c"] = step.mode
		got, err := r.Call(t.Context(), "changes_all", Call{Caller: r.Session("c", "", "", 0)})
		if err != nil || got.IsError != step.refused {
			t.Errorf("with the mode %q: %+v, %v", step.mode, got, err)
		}
	}
}

// TestLongNames: an unknown name may be of any length; it takes no time, and the answer is short.
func TestLongNames(t *testing.T) {
	t.Parallel()
	r := registry(t, fakePolicy{}, echo("a"), echo("b"))
	long := strings.Repeat("x", 2<<20)
	got, err := r.Call(t.Context(), CallName, Call{Caller: r.Session("c", "", "", 0), Args: json.RawMessage(`{"name":"` + long + `"}`)})
	if err != nil || !got.IsError || len(got.Text) > 300 {
		t.Errorf("%.300s (%d bytes), %v", got.Text, len(got.Text), err)
	}
	if _, err := r.Call(t.Context(), long, Call{Caller: r.Session("c", "", "", 0)}); !errors.Is(err, ErrUnknown) || len(err.Error()) > 300 {
		t.Errorf("the error is %.300s", err)
	}
	var names []string
	for range 1000 {
		names = append(names, strings.Repeat("y", toolset.MaxName))
	}
	if like := Nearest(long, names); like != nil {
		t.Errorf("it resembles %.300q", like)
	}
}
