package tools

import (
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/discovery"
)

// A death is that of an observer, of which the people of a chat are told.
type death struct {
	m    *harness.Machine
	g    *harness.Gateway
	api  *botapi.Server
	chat *botapi.Chat
	of   discovery.Record
}

// newDeath starts a gateway and an observer, which lives still.
func newDeath(t *testing.T) *death {
	t.Helper()
	t.Parallel()
	m, api, _, chat := harness.NewChat(t)
	d := &death{
		m:    m,
		g:    m.Start(),
		api:  api,
		chat: chat,
	}
	d.of = observe(d.g, m.Path("work/app"), webApp(t), "tg-7")
	return d
}

// dies kills the observer.
func (d *death) dies() {
	d.m.T.Helper()
	check.OK(d.m.T, proc.Signal(d.of.PID, d.of.Start, syscall.SIGKILL))
	check.OK(d.m.T, proc.WaitGone(d.m.T.Context(), d.of.PID, d.of.Start))
}

// restart kills the gateway, and starts another one.
func (d *death) restart() {
	d.m.T.Helper()
	d.g.Kill()
	d.g = d.m.Start()
}

// failed waits until an attempt to tell has failed.
func (d *death) failed() {
	p := &harness.PushTest{Gateway: d.g}
	d.g.Eventually("it is not told", func() bool { return p.Pushes("failed") == 1 })
}

// TestDeathIsToldOnce: people are told of an observer's death once, whatever becomes of the first attempts, and wherever the
// gateway is killed meanwhile.
func TestDeathIsToldOnce(t *testing.T) {
	blocked := botapi.Refuse(403, "Forbidden: bot was blocked by the user")
	for name, c := range map[string]struct {
		tell   func(d *death)
		untold bool // perhaps, as far as the gateway knows: then nobody may be told again
	}{
		"the chat takes nothing": {tell: func(d *death) {
			d.api.Script("sendMessage", 7, blocked, blocked)
			d.dies()
		}},
		"there is no chat": {tell: func(d *death) {
			d.api.Script("sendMessage", 7, botapi.Refuse(400, "Bad Request: chat not found"))
			d.dies()
		}},
		"Telegram fails for a while": {tell: func(d *death) {
			d.api.Script("sendMessage", 7, botapi.InternalError(), botapi.BadGateway())
			d.dies()
		}},
		"Telegram asks for a pause": {tell: func(d *death) {
			d.api.Script("sendMessage", 7, botapi.TooMany(1))
			d.dies()
		}},
		"the answer is lost, and then the chat takes nothing": {tell: func(d *death) {
			d.api.Script("sendMessage", 7, botapi.ResetAfter(), blocked)
			d.dies()
		}},
		"Telegram fails, and then the chat takes nothing": {untold: true, tell: func(d *death) {
			d.api.Script("sendMessage", 7, botapi.InternalError(), blocked)
			d.dies()
		}},
		"killed while it tells": {tell: func(d *death) {
			held := d.api.Hold("sendMessage", 7)
			d.dies()
			d.api.Await(d.m.T, "the push", held.Reached)
			d.restart()
		}},
		"killed after an attempt": {tell: func(d *death) {
			d.chat.Block()
			d.dies()
			d.failed()
			d.g.Kill()
			d.chat.Unblock()
			d.g = d.m.Start()
		}},
		"killed while it tells after an attempt": {tell: func(d *death) {
			d.api.Script("sendMessage", 7, blocked)
			held := d.api.Hold("sendMessage", 7)
			d.dies()
			d.api.Await(d.m.T, "the push", held.Reached)
			d.restart()
		}},
		"ended while it tells after an attempt": {tell: func(d *death) {
			d.api.Script("sendMessage", 7, blocked)
			held := d.api.Hold("sendMessage", 7)
			d.dies()
			d.api.Await(d.m.T, "the push", held.Reached)
			d.g.Signal(syscall.SIGTERM)
			d.g = d.m.Start()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDeath(t)
			c.tell(d)
			d.g.Eventually("it is noted", func() bool { return discovery.RecordsOf(d.m.Path("state")).IsTold(&d.of) })
			d.g.Must("POST", "/send", harness.Obj{"channel": "tg-7", "text": "last"}, 200)
			d.chat.AwaitText("last")
			want := 1
			if c.untold {
				want = 0
			}
			if n := harness.CountText(d.chat, "has ended unexpectedly"); n != want {
				t.Errorf("people are told %d times, want %d:\n%s", n, want, d.api.Dump())
			}
		})
	}
}
