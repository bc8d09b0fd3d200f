package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/core/schedule"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
)

// A fakeGateway has the channels a and b, and sends pushes to tg- channels. What is submitted to
// a or b waits.
type fakeGateway struct {
	t         *testing.T
	tools     *tools.Registry
	submitted []core.Submission
	tickets   map[string]*core.Ticket // by source key
	pushed    []core.Push
	pushErr   error
	schedules *schedule.Scheduler
	senders   map[core.MessageID]string // channels that have sent a message to another one
}

func newFakeGateway(t *testing.T) *fakeGateway {
	t.Helper()
	l, err := sqlite.Open(filepath.Join(t.TempDir(), "ledger.db"), slog.New(slog.DiscardHandler))
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, l.Close()) })
	f := &fakeGateway{t: t, tickets: map[string]*core.Ticket{}}
	f.schedules = schedule.New(schedule.Options{Store: l, Log: slog.New(slog.DiscardHandler), Admit: func(context.Context, core.ChannelKey) error { return nil }})
	f.offer(f.options(), nil)
	return f
}

// offer makes the registry, whose sessions may do what the policy says.
func (f *fakeGateway) offer(o Options, policy tools.Policy) {
	f.t.Helper()
	var err error
	f.tools, err = tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Policy:  policy,
		Sources: []tools.Source{Source(o)},
	})
	check.OK(f.t, err)
}

func (f *fakeGateway) options() Options {
	return Options{
		Channels: f, Submit: f.submit, Messages: f, Push: f, Schedules: f.schedules,
		Inert:   strings.NewReplacer("@", "＠").Replace,
		Restart: func(context.Context, <-chan struct{}) error { return errors.New("it does not compile") },
	}
}

func (f *fakeGateway) Channels(context.Context) ([]core.ChannelStatus, error) {
	return []core.ChannelStatus{{Key: "a"}, {Key: "b"}}, nil
}

func (f *fakeGateway) submit(_ context.Context, s core.Submission) (*core.Ticket, error) {
	f.submitted = append(f.submitted, s)
	t := f.tickets[s.SourceKey]
	if t == nil {
		t = core.NewTicket(core.Message{ID: "m-" + core.MessageID(s.Channel), Channel: s.Channel, State: core.Waiting})
		f.tickets[s.SourceKey] = t
	}
	return t, nil
}

func (f *fakeGateway) Message(_ context.Context, id core.MessageID) (core.Message, error) {
	channel, ok := strings.CutPrefix(string(id), "m-")
	if !ok {
		return core.Message{}, core.ErrNotFound
	}
	m := core.Message{ID: id, Channel: core.ChannelKey(channel), State: core.Waiting, Prompt: core.Prompt{Text: "for " + channel}}
	if from := f.senders[id]; from != "" {
		m.Adapter, m.Origin.User = sendAdapter, from
	}
	return m, nil
}

func (f *fakeGateway) QueuePosition(core.MessageID) core.QueuePosition {
	return core.QueuePosition{Position: 1, Why: "all sessions are in use"}
}

func (f *fakeGateway) Trace(ctx context.Context, id core.MessageID) (core.Trace, error) {
	m, err := f.Message(ctx, id)
	return core.Trace{Message: m}, err
}

func (f *fakeGateway) Send(_ context.Context, p core.Push) error {
	f.pushed = append(f.pushed, p)
	if !strings.HasPrefix(string(p.Channel), "tg-") {
		return core.ErrNoPusher
	}
	return f.pushErr
}

func (f *fakeGateway) Prefixes() []string { return []string{"tg-"} }

// call calls a tool, and returns what the result says.
func (f *fakeGateway) call(name, args string, c tools.Call) string {
	f.t.Helper()
	c.Args = json.RawMessage(args)
	r, err := f.tools.Call(f.t.Context(), name, c)
	check.OK(f.t, err)
	if r.IsError != (r.Structured == nil) {
		f.t.Errorf("%s %s: %+v", name, args, r)
	}
	return r.Text + string(r.Structured)
}

func (f *fakeGateway) want(name, args string, c tools.Call, says string) {
	f.t.Helper()
	if got := f.call(name, args, c); !strings.Contains(got, says) {
		f.t.Errorf("%s %s says %q, want %q in it", name, args, got, says)
	}
}

// TestWaits has callers begin and end to wait: no circle comes about.
func TestWaits(t *testing.T) {
	t.Parallel()
	var w waits
	must := func(caller, target core.ChannelKey, want bool) (end func()) {
		t.Helper()
		end, ok := w.begin(caller, target)
		if ok != want {
			t.Errorf("%s may wait for %s: %v", caller, target, ok)
		}
		return end
	}
	endAB, endAB2, endBC := must("a", "b", true), must("a", "b", true), must("b", "c", true)
	must("b", "a", false)
	must("c", "a", false)
	must("c", "b", false)
	endAB()
	must("b", "a", false) // the other call waits still
	endBC()
	must("c", "b", true)()
	endAB2()
	must("b", "a", true)()
	if len(w.on) != 0 {
		t.Errorf("left: %v", w.on)
	}
}

// TestSendWaits: a call of channel_send ends in time, also if an earlier process has waited for a
// part of the time. A call that is repeated while it could not begin sends nothing else.
func TestSendWaits(t *testing.T) {
	t.Parallel()
	f := newFakeGateway(t)
	const waiting = `"message_id":"m-b","state":"waiting","why":"all sessions are in use"`
	synctest.Test(t, func(t *testing.T) {
		f.t = t
		call := tools.Call{Caller: tools.Caller{Channel: "a", Session: "s"}, ID: "1"}
		took := func(args string, want time.Duration) {
			t.Helper()
			began := time.Now()
			f.want("channel_send", args, call, waiting)
			if got := time.Since(began); got != want {
				t.Errorf("%s took %s, want %s", args, got, want)
			}
		}
		took(`{"channel":"b","text":"x","wait_s":7}`, 7*time.Second)
		took(`{"channel":"b","text":"x"}`, defaultWait)
		took(`{"channel":"b","text":"x","wait_s":0}`, 0)
		f.want("channel_send", `{"channel":"b","text":"x","wait_s":601}`, call, "wait_s")
		call.At = time.Now()
		time.Sleep(5 * time.Second)
		took(`{"channel":"b","text":"x","wait_s":7}`, 2*time.Second)
		time.Sleep(time.Minute)
		took(`{"channel":"b","text":"x","wait_s":7}`, 0)
	})
	f.t = t
	if f.submitted[0].SourceKey != "channel_send:1:tool:s/1" || f.submitted[0].Adapter != sendAdapter || f.submitted[0].Deliver {
		t.Errorf("submitted: %+v", f.submitted[0])
	}
}

// TestDepth: a message that an agent sends is one deeper than those that the agent answers, and no
// chain goes on for ever.
func TestDepth(t *testing.T) {
	t.Parallel()
	f := newFakeGateway(t)
	for depth := range maxDepth {
		f.want("channel_send", `{"channel":"b","text":"x","wait_s":0}`, tools.Call{Caller: tools.Caller{Channel: "a", Depth: depth}}, `"message_id":"m-b"`)
		if got := f.submitted[depth].Depth; got != depth+1 {
			t.Errorf("an agent at depth %d sends a message of depth %d", depth, got)
		}
	}
	f.want("channel_send", `{"channel":"b","text":"x","wait_s":0}`, tools.Call{Caller: tools.Caller{Channel: "a", Depth: maxDepth}}, "the last of 3")
	if n := len(f.submitted); n != maxDepth {
		t.Errorf("%d messages are sent", n)
	}
}

// TestRepeatedSend repeats a call after the channels have come to wait in a circle.
func TestRepeatedSend(t *testing.T) {
	t.Parallel()
	f := newFakeGateway(t)
	s := &sender{channels: channels{f}, submit: f.submit, messages: f, inert: f.options().Inert}
	end, _ := s.waits.begin("b", "a")
	defer end()
	c := tools.Call{Caller: tools.Caller{Channel: "a", Session: "s"}, ID: "1"}
	if _, err := s.send(t.Context(), c, sendArgs{Channel: "b", Text: "x"}); err == nil || len(f.submitted) != 0 {
		t.Errorf("%v, and %d are sent", err, len(f.submitted))
	}
	c.Repeated = true
	r, err := s.send(t.Context(), c, sendArgs{Channel: "b", Text: "x"})
	if err != nil || r.(sent).State != core.Waiting {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	f := newFakeGateway(t)
	c := tools.Call{Caller: tools.Caller{Channel: "a", Session: "s"}, ID: "1"}
	f.want("push_send", `{"channel":"tg-1","text":"hi"}`, c, `"status":"sent"`)
	f.want("push_send", `{"channel":"tg-1","text":"hi"}`, c, `"status":"sent"`)
	f.want("push_send", `{"channel":"tg-1","text":"hi","file":"/a"}`, tools.Call{}, `"status":"sent"`)
	if f.pushed[0].ID == "" || f.pushed[0].ID != f.pushed[1].ID || f.pushed[2].ID != "" || f.pushed[2].Media.Path != "/a" {
		t.Errorf("pushed: %+v", f.pushed)
	}
	f.want("push_send", `{"channel":"b","text":"hi"}`, c, "the channels of people begin with tg-")
	f.want("push_send", `{"channel":"tg-1","text":" "}`, c, "not blank")
	for _, e := range []struct {
		err  error
		says string
	}{
		{&core.PushError{Kind: core.ErrNotAllowed, Text: "Nobody there."}, "not sent: Nobody there."},
		{&core.PushError{Kind: core.ErrUnconfirmed, Text: "Perhaps."}, "outcome unknown: Perhaps."},
		{core.ErrStorageFull, "not sent: ledger: no space left"},
	} {
		f.pushErr = e.err
		f.want("push_send", `{"channel":"tg-1","text":"hi"}`, c, e.says)
	}
	f.pushErr = core.ErrClosed
	if _, err := f.tools.Call(t.Context(), "push_send", tools.Call{Args: json.RawMessage(`{"channel":"tg-1","text":"hi"}`)}); !errors.Is(err, core.ErrClosed) {
		t.Errorf("a push that the next process sends: %v", err)
	}
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	f := newFakeGateway(t)
	c := tools.Call{Caller: tools.Caller{Channel: "new", Session: "s"}, ID: "1"} // a channel in its first turn is not listed yet
	first := f.call("schedule_create", `{"text":"x","when":"in 1h"}`, c)
	if again := f.call("schedule_create", `{"text":"x","when":"in 1h"}`, c); again != first || !strings.Contains(first, `"channel":"new"`) {
		t.Errorf("repeated: %s, at first %s", again, first)
	}
	f.want("schedule_create", `{"text":"x","when":"in 1h"}`, tools.Call{}, "name the channel")
	f.want("schedule_create", `{"text":"x","when":"in 1h","channel":"c"}`, c, `there is no channel "c"; did you mean`)
	f.want("schedule_create", `{"text":"x","when":"in 1h","channel":"other"}`, c, `channel_list lists all`)
	f.want("schedule_create", `{"text":"x","when":"in 1h","missed":"never"}`, tools.Call{Caller: tools.Caller{Channel: "new"}}, "does not say what becomes")
	all, err := f.schedules.Jobs(t.Context())
	check.OK(t, err)
	id := `{"id":"` + all[0].ID + `"}`
	f.want("schedule_delete", id, c, `"status":"deleted"`)
	f.want("schedule_delete", id, c, "there is no schedule")
	c.Repeated = true
	f.want("schedule_delete", id, c, `"status":"deleted"`)
	f.want("schedule_list", `{}`, c, `{"schedules":[]}`)
}

// TestNobodyHasTypedWhatToolsSend: a text of an agent means nothing to the program of another one,
// nor later to its own.
func TestNobodyHasTypedWhatToolsSend(t *testing.T) {
	t.Parallel()
	f := newFakeGateway(t)
	for i, channel := range []core.ChannelKey{"@a", ""} { // a session, and a client that is an agent as well
		f.call("channel_send", `{"channel":"b","text":"see @/secret","wait_s":0}`, tools.Call{Caller: tools.Caller{Channel: channel}})
		sub := f.submitted[i]
		if want := strings.Replace(string(channel), "@", "＠", 1); sub.Content.Text != "see ＠/secret" || sub.Origin.User != want {
			t.Errorf("%q submits %q of %q", channel, sub.Content.Text, sub.Origin.User)
		}
		f.want("schedule_create", `{"text":"see @/secret","when":"in 1h","channel":"b"}`, tools.Call{Caller: tools.Caller{Channel: channel}}, `"text":"see ＠/secret"`)
	}
	all, err := f.schedules.Jobs(t.Context())
	check.OK(t, err)
	for _, j := range all {
		if j.Text != "see ＠/secret" {
			t.Errorf("the schedule is to send %q", j.Text)
		}
	}
	if len(all) != 2 {
		t.Errorf("there are %d schedules", len(all))
	}
}

func TestRefusedRestart(t *testing.T) {
	t.Parallel()
	newFakeGateway(t).want("restart_self", `{}`, tools.Call{}, "the gateway goes on as it is: it does not compile")
}
