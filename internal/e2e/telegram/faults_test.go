package telegram

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
)

// TestTelegramFaults has the sending of an answer fail in each way: it arrives all the
// same, twice at most and only where nobody can know.
func TestTelegramFaults(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		steps []botapi.Step
		most  int // how often the answer may be there
		least time.Duration
	}{
		"too many":         {steps: []botapi.Step{botapi.TooMany(2), botapi.TooMany(1)}, most: 1, least: 3 * time.Second},
		"server error":     {steps: []botapi.Step{botapi.InternalError(), botapi.InternalError()}, most: 1, least: 2 * time.Second},
		"a proxy's page":   {steps: []botapi.Step{botapi.BadGateway()}, most: 1},
		"reset before":     {steps: []botapi.Step{botapi.ResetBefore()}, most: 1},
		"reset after":      {steps: []botapi.Step{botapi.ResetAfter()}, most: 2},
		"reset mid answer": {steps: []botapi.Step{botapi.ResetMidBody()}, most: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChatWith(t, nil)
			prefer(m, "tg-7", 0) // no status, which might meet the faults instead
			g := m.Start()
			api.Script("sendMessage", 7, row.steps...)
			began := time.Now()
			chat.Send(anna, "echo first")
			api.Await(t, "the faults are over", func() bool { return api.Scripted() == 0 })
			chat.Send(anna, "echo second")
			chat.AwaitText("second")
			if took := time.Since(began); took < row.least {
				t.Errorf("it took %s only", took)
			}
			g.Delivered()
			var got []string
			n := 0
			for _, text := range harness.Texts(chat) {
				if text == "first" {
					n++
				}
				got = append(got, text)
			}
			if n < 1 || n > row.most || got[len(got)-1] != "second" || len(got) != n+1 {
				t.Errorf("the chat has %q", got)
			}
			if v := api.RateViolations(); v != 0 {
				t.Errorf("%d calls came before they were allowed", v)
			}
			if ds := deliveries(g, "tg-7"); len(ds) != 1 || ds[0].Str("state") != "sent" {
				t.Errorf("the trace has %v", ds)
			}
		})
	}
}

// promptEnd is how long a daemon may take to end, or to hand over: longer than that it would
// be for the sake of what Telegram does not take.
const promptEnd = 10 * time.Second

// TestTelegramOtherChatsGoOn has one chat be refused for an hour: others are answered,
// and the gateway ends and is handed over without delay.
func TestTelegramOtherChatsGoOn(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	group := api.Supergroup(-1001, "Team", anna)
	g := m.Start()
	api.Script("sendMessage", 7, botapi.TooMany(3600))
	chat.Send(anna, "echo held")
	api.Await(t, "it is refused", func() bool { return api.Scripted() == 0 })
	group.Send(anna, "echo other")
	group.AwaitText("other")
	generation := g.Generation()
	began, late := time.Now(), harness.Lateness()
	g.Must("POST", "/restart", nil, 200)
	g.Restarted(generation)
	if took := time.Since(began); took > promptEnd+late() {
		t.Errorf("the hand-over took %s", took)
	}
	began, late = time.Now(), harness.Lateness()
	g.Signal(syscall.SIGTERM)
	if took := time.Since(began); took > promptEnd+late() {
		t.Errorf("the end took %s", took)
	}
	if v := api.RateViolations(); v != 0 {
		t.Errorf("%d calls came before they were allowed", v)
	}
}

// TestTelegramRetryAfterOutlivesTheDaemon has Telegram ask to wait, and another daemon
// begin while that time is not over: it keeps the rest of that time.
func TestTelegramRetryAfterOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	const seconds = 8 // longer than a daemon needs to begin; on a slower machine less is shown
	replace := map[string]func(g *harness.Gateway) *harness.Gateway{
		"killed": func(g *harness.Gateway) *harness.Gateway { g.Kill(); return g.Start() },
		"ended":  func(g *harness.Gateway) *harness.Gateway { g.Signal(syscall.SIGTERM); return g.Start() },
		"handed over": func(g *harness.Gateway) *harness.Gateway {
			generation := g.Generation()
			g.Must("POST", "/restart", nil, 200)
			g.Restarted(generation)
			return g
		},
	}
	for name, next := range replace {
		t.Run("a chat/"+name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChatWith(t, nil)
			prefer(m, "tg-7", 0) // no status, which might be refused instead
			other := api.Supergroup(-1001, "Team", anna)
			g := m.Start()
			api.Script("sendMessage", 7, botapi.TooMany(seconds))
			chat.Send(anna, "echo held")
			g.Eventually("the refusal is on record", func() bool {
				list := g.Must("GET", "/channels/tg-7/messages?limit=1", nil, 200, 404).Array("messages")
				if len(list) == 0 {
					return false
				}
				ds := g.Must("GET", "/messages/"+list[0].Str("message_id")+"/trace", nil, 200).Array("deliveries")
				return len(ds) == 1 && ds[0].Number("attempts") == 1
			})
			g = next(g)
			other.Send(anna, "echo other")
			other.AwaitText("other")
			chat.AwaitText("held")
			g.Delivered()
			if got := harness.Texts(chat); len(got) != 1 {
				t.Errorf("the chat has %q", got)
			}
			if v := api.RateViolations(); v != 0 {
				t.Errorf("%d calls came before they were allowed", v)
			}
			g.Balanced()
		})
		t.Run("polls/"+name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t)
			c.api.Await(t, "poll", c.api.Polling)
			c.api.Script("getUpdates", 0, botapi.TooMany(seconds))
			c.send("echo before") // which ends the poll that waits
			c.AwaitTelegram("asks for a pause")
			c.Gateway = next(c.Gateway)
			c.send("echo after")
			c.chat.AwaitMessage("both", func(m botapi.Message) bool { return m.FromBot && strings.Contains(m.Text, "after") })
			if v := c.api.RateViolations(); v != 0 {
				t.Errorf("%d calls came before they were allowed", v)
			}
			c.Balanced()
		})
	}
}

// TestTelegramEndsWhileItHangs ends while Telegram answers nothing.
func TestTelegramEndsWhileItHangs(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChatWith(t, nil)
	prefer(m, "tg-7", 0) // no status, which might be held instead
	g := m.Start()
	held := api.Hold("sendMessage", 7)
	chat.Send(anna, "echo held")
	api.Await(t, "it hangs", held.Reached)
	began, late := time.Now(), harness.Lateness()
	g.Signal(syscall.SIGTERM)
	if took := time.Since(began); took < time.Second || took > promptEnd+late() {
		t.Errorf("the end took %s, want the second that a call may take", took)
	}
	g = m.Start()
	chat.AwaitText("held")
	g.Delivered()
	if got := harness.Texts(chat); len(got) != 1 {
		t.Errorf("the chat has %q", got)
	}
}

// TestTelegramNetworkGone loses the network for a while: what is said meanwhile comes
// afterwards, once.
func TestTelegramNetworkGone(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.send("wait " + c.Path("go"))
	c.Eventually("it runs", func() bool { return c.Begun("wait") == 1 })
	c.api.DropNetwork()
	c.Touch("go")
	c.Eventually("it has ended", func() bool { return c.Did("ended", "") })
	c.AwaitTelegram("cannot be reached")
	c.api.RestoreNetwork()
	c.chat.AwaitText("waited for ")
	c.ask("echo after", "after")
	if got := harness.Texts(c.chat); len(got) != 2 {
		t.Errorf("the chat has %q", got)
	}
	c.Balanced()
}

// TestTelegramHandOverWhileSending hands over while an answer is being sent: its end
// is waited for, so that it comes once.
func TestTelegramHandOverWhileSending(t *testing.T) {
	t.Parallel()
	m, api, anna, chat := harness.NewChat(t)
	prefer(m, "tg-7", 0) // no status, which might be held instead
	g := m.Start()
	for n := range 5 {
		text := fmt.Sprintf("number %d", n)
		held := api.HoldAnswer("sendMessage", 7)
		chat.Send(anna, "echo "+text)
		api.Await(t, "it is sent", held.Reached)
		generation := g.Generation()
		g.Must("POST", "/restart", nil, 200)
		held.Release()
		g.Restarted(generation)
	}
	chat.Send(anna, "echo last")
	chat.AwaitText("last")
	g.Delivered()
	cut := 0 // calls that the daemon did not wait for any longer: nobody knows that they arrived
	for _, c := range api.Calls("sendMessage") {
		if strings.Contains(c.Outcome, "the client left") {
			cut++
		}
	}
	all := harness.Texts(chat)
	once := slices.Compact(slices.Clone(all))
	if got := strings.Join(once, ", "); got != "number 0, number 1, number 2, number 3, number 4, last" || len(all)-len(once) > cut || cut == 5 {
		t.Errorf("the chat has %s, and %d calls were cut", strings.Join(all, ", "), cut)
	}
	g.Balanced()
}

// TestTelegramSendHangs has the sending of an answer hang until the gateway gives it up:
// other chats are answered meanwhile, and what hung arrives, twice at most.
func TestTelegramSendHangs(t *testing.T) {
	t.Parallel()
	for name, carried := range map[string]bool{"before it is taken": false, "after it was taken": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, api, anna, chat := harness.NewChatWith(t, nil)
			prefer(m, "tg-7", 0) // no status, which might be held instead
			other := api.Supergroup(-1001, "Team", anna)
			g := m.Start()
			hold := api.Hold
			if carried {
				hold = api.HoldAnswer
			}
			held := hold("sendMessage", 7)
			defer held.Release()
			chat.Send(anna, "echo hangs")
			api.Await(t, "it hangs", held.Reached)
			for n := range 3 {
				other.Send(anna, fmt.Sprintf("echo other %d", n))
				other.AwaitText(fmt.Sprintf("other %d", n))
			}
			for _, c := range api.Calls("sendMessage") {
				if c.Chat == 7 && c.Outcome != "" {
					t.Errorf("what hangs has ended with %q before others were answered", c.Outcome)
				}
			}
			chat.Send(anna, "echo behind")
			answers(chat, "behind")
			g.Delivered()
			got := strings.Join(harness.Texts(chat), ", ")
			if got != "hangs, behind" && (!carried || got != "hangs, hangs, behind") {
				t.Errorf("the chat has %s", got)
			}
			if v := api.RateViolations(); v != 0 {
				t.Errorf("%d calls came before they were allowed", v)
			}
			g.Balanced()
		})
	}
}
