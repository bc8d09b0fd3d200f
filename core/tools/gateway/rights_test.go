package gateway

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// modes are the permission modes of channels; "" is that of the gateway.
type modes map[core.ChannelKey]string

func (m modes) HasRule(core.ChannelKey, string) bool { return false }
func (m modes) View(core.ChannelKey) tools.View      { return tools.View{} }
func (m modes) Mode(key core.ChannelKey) string      { return cmp.Or(m[key], m[""]) }
func (m modes) OwnModes() map[core.ChannelKey]string {
	own := map[core.ChannelKey]string{}
	for key, mode := range m {
		if key != "" {
			own[key] = mode
		}
	}
	return own
}

// withModes makes the gateway look at the modes of channels.
func (f *fakeGateway) withModes(m modes, builds bool) *fakeGateway {
	f.t.Helper()
	o := f.options()
	o.RestartBuilds = builds
	f.offer(o, m)
	return f
}

// TestRights has callers with more, equal and fewer rights use each tool towards the channel b.
func TestRights(t *testing.T) {
	t.Parallel()
	const refused = "is refused: "
	f := newFakeGateway(t)
	f.senders = map[core.MessageID]string{"m-b": "sender"}
	boss := modes{"": "default", "a": "plan", "b": "bypassPermissions", "c": "bypassPermissions"}
	session := func(key core.ChannelKey) tools.Call {
		return tools.Call{Caller: tools.Caller{Channel: key, Session: "s"}}
	}
	for _, c := range []struct {
		what       string
		modes      modes
		call       tools.Call
		tool, args string
		says       string
	}{
		{"fewer rights", boss, session("a"), "channel_send", `{"channel":"b","text":"x","wait_s":0}`, `your channel has the permission mode plan, and channel "b" has bypassPermissions`},
		{"equal rights", boss, session("c"), "channel_send", `{"channel":"b","text":"x","wait_s":0}`, `"message_id":"m-b"`},
		{"more rights", modes{"": "plan", "c": "default"}, session("c"), "channel_send", `{"channel":"b","text":"x","wait_s":0}`, `"message_id":"m-b"`},
		{"the user", boss, tools.Call{}, "channel_send", `{"channel":"b","text":"x","wait_s":0}`, `"message_id":"m-b"`},
		{"a command of claude", boss, tools.Call{Caller: tools.Caller{Local: true}}, "channel_send", `{"channel":"b","text":"x","wait_s":0}`, refused},
		{"an unknown channel", boss, session("a"), "channel_send", `{"channel":"tg-9","text":"x"}`, refused},
		{"an unknown channel, with rights", boss, session("c"), "channel_send", `{"channel":"bb","text":"x"}`, "did you mean"},

		{"a push", boss, session("a"), "push_send", `{"channel":"tg-1","text":"x"}`, refused},
		{"a push to the own channel", modes{"tg-1": "plan"}, session("tg-1"), "push_send", `{"channel":"tg-1","text":"x"}`, `"status":"sent"`},
		{"a push with rights", boss, session("c"), "push_send", `{"channel":"tg-1","text":"x"}`, `"status":"sent"`},

		{"a schedule", boss, session("a"), "schedule_create", `{"channel":"b","text":"x","when":"in 1h"}`, refused},
		{"an own schedule", boss, session("a"), "schedule_create", `{"text":"x","when":"in 1h"}`, `"channel":"a"`},
		{"an own schedule, by name", boss, session("a"), "schedule_create", `{"channel":"a","text":"x","when":"in 1h"}`, `"channel":"a"`},
		{"a schedule with rights", boss, session("c"), "schedule_create", `{"channel":"b","text":"x","when":"in 1h"}`, `"channel":"b"`},
		{"a schedule of a command", boss, tools.Call{Caller: tools.Caller{Local: true}}, "schedule_create", `{"channel":"b","text":"x","when":"in 1h"}`, refused},

		{"what others ask", boss, session("a"), "message_trace", `{"id":"m-b"}`, `message "m-b" is of channel "b"`},
		{"what others with fewer rights ask", boss, session("c"), "message_trace", `{"id":"m-a"}`, `message "m-a" is of channel "a"`},
		{"what the channel itself asks", boss, session("b"), "message_trace", `{"id":"m-b"}`, `"prompt":"for b"`},
		{"what the channel has asked another", boss, session("sender"), "message_trace", `{"id":"m-b"}`, `"prompt":"for b"`},
		{"what a command may see", boss, tools.Call{Caller: tools.Caller{Local: true}}, "message_trace", `{"id":"m-a"}`, `"prompt":"for a"`},
		{"what a command may not see", boss, tools.Call{Caller: tools.Caller{Local: true}}, "message_trace", `{"id":"m-b"}`, refused},
		{"all, for the user", boss, tools.Call{}, "message_trace", `{"id":"m-b"}`, `"prompt":"for b"`},

		{"a restart that builds", boss, session("a"), "restart_self", `{}`, "concerns all channels"},
		{"a restart that builds, with rights", boss, session("c"), "restart_self", `{}`, "does not compile"},
		{"a list", boss, session("a"), "channel_list", `{}`, `"channel":"b"`},
	} {
		f.withModes(c.modes, true)
		f.submitted, f.pushed = nil, nil
		if got := f.call(c.tool, c.args, c.call); !strings.Contains(got, c.says) {
			t.Errorf("%s: %s %s says %s, want %q", c.what, c.tool, c.args, got, c.says)
		}
		if sent := len(f.submitted) + len(f.pushed); strings.Contains(c.says, "refused") && sent > 0 {
			t.Errorf("%s: refused, and done", c.what)
		}
	}
	f.withModes(boss, false)
	f.want("restart_self", `{}`, session("a"), "does not compile") // the same program again
}

// TestSchedulesOfOthers: a session sees when others have schedules, but not their texts, and deletes
// only those of channels with no more rights.
func TestSchedulesOfOthers(t *testing.T) {
	t.Parallel()
	f := newFakeGateway(t).withModes(modes{"": "default", "a": "plan", "b": "bypassPermissions"}, false)
	of := map[core.ChannelKey]string{}
	for _, key := range []core.ChannelKey{"a", "b"} {
		f.want("schedule_create", `{"text":"secret of `+string(key)+`","when":"in 1h"}`, tools.Call{Caller: tools.Caller{Channel: key}}, `"channel":"`+string(key)+`"`)
	}
	all, err := f.schedules.Jobs(t.Context())
	check.OK(t, err)
	for _, j := range all {
		of[j.Channel] = `{"id":"` + j.ID + `"}`
	}
	for _, c := range []struct {
		call  tools.Call
		texts string
	}{{tools.Call{Caller: tools.Caller{Channel: "a"}}, "a"}, {tools.Call{Caller: tools.Caller{Channel: "b"}}, "b"}, {tools.Call{Caller: tools.Caller{Local: true}}, ""}, {tools.Call{}, "ab"}} {
		got, texts := f.call("schedule_list", `{}`, c.call), ""
		for _, key := range []string{"a", "b"} {
			if strings.Contains(got, "secret of "+key) {
				texts += key
			}
			if !strings.Contains(got, `"channel":"`+key+`"`) {
				t.Errorf("%+v does not see the schedule of %s", c.call, key)
			}
		}
		if texts != c.texts {
			t.Errorf("%+v sees the texts of %q, want %q", c.call, texts, c.texts)
		}
	}
	f.want("schedule_delete", of["b"], tools.Call{Caller: tools.Caller{Channel: "a"}}, "is refused")
	f.want("schedule_delete", of["b"], tools.Call{Caller: tools.Caller{Local: true}}, "is refused")
	f.want("schedule_delete", `{"id":"none"}`, tools.Call{Caller: tools.Caller{Channel: "a"}}, "there is no schedule")
	f.want("schedule_delete", of["a"], tools.Call{Caller: tools.Caller{Channel: "b"}}, `"status":"deleted"`)
	f.want("schedule_delete", of["b"], tools.Call{Caller: tools.Caller{Channel: "b"}}, `"status":"deleted"`)
}

// TestUnreadableMessage: a message that cannot be read is shown to nobody.
func TestUnreadableMessage(t *testing.T) {
	t.Parallel()
	ts := traces{unreadable{}}
	if key, err := ts.channelOf(t.Context(), tools.Call{Caller: tools.Caller{Channel: "a"}}, traceArgs{"m"}); err == nil {
		t.Errorf("it is of channel %q", key)
	}
}

type unreadable struct{ Messages }

func (unreadable) Message(context.Context, core.MessageID) (core.Message, error) {
	return core.Message{}, errors.New("cannot be read")
}

// TestReachOfTools: a new tool that reaches all channels stands here, on purpose.
func TestReachOfTools(t *testing.T) {
	t.Parallel()
	for _, builds := range []bool{false, true} {
		for _, tool := range Tools(Options{RestartBuilds: builds}) {
			if all := tool.Reach == nil; all != (builds && tool.Name == "restart_self") {
				t.Errorf("%s reaches all channels: %v", tool.Name, all)
			}
		}
	}
}
