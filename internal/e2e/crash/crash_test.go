package crash

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
)

// TestCrashAtRandomMoments kills daemon, hosts and claudes, one or all, at any
// moment while clients send: every message that was accepted has one outcome,
// and no tool runs twice.
func TestCrashAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed, rounds := uint64(time.Now().UnixNano()), 20
	if harness.Soak() {
		rounds = 200
	}
	if s, err := strconv.ParseUint(os.Getenv("BARECLAW_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("BARECLAW_TEST_SEED=%d", seed)
	m := harness.NewMachine(t)
	c := &chaos{t: t, m: m, rand: rand.New(rand.NewPCG(seed, 0)), failed: map[string]int{}, sent: map[string][]*harness.Sent{}}
	c.daemon.Store(m.Start())
	for round := range rounds {
		c.round(round)
	}
	g := c.daemon.Load()
	total := 0
	for channel, msgs := range c.sent {
		outcomes := g.Settled(channel, msgs)
		c.check(msgs, outcomes)
		total += len(outcomes)
	}
	if n := g.Balanced(); n != total {
		t.Errorf("%d messages accepted by the ledger's account, %d are there", n, total)
	}
	for channel := range c.sent {
		g.Usable(channel)
	}
	t.Logf("%d messages, %d kills, failed: %v", total, c.kills, c.failed)
	g.EndsAll()
}

// chaos is what the clients and the killer share.
type chaos struct {
	t      *testing.T
	m      *harness.Machine
	rand   *rand.Rand // of the test's own goroutine
	daemon atomic.Pointer[harness.Gateway]
	kills  int
	failed map[string]int // messages, by code

	mu   sync.Mutex // guards the fields below
	sent map[string][]*harness.Sent
}

// round lets some clients send while something is killed, and brings the daemon
// back if it was that.
func (c *chaos) round(n int) {
	var clients sync.WaitGroup
	for i := range 4 {
		channel := fmt.Sprintf("c%d", c.rand.IntN(3))
		var msgs []*harness.Sent
		for j := range 4 {
			msgs = append(msgs, c.message(fmt.Sprintf("%d-%d-%d", n, i, j)))
		}
		clients.Go(func() {
			for _, s := range msgs {
				c.send(channel, s)
			}
		})
	}
	<-time.After(time.Duration(c.rand.IntN(250)) * time.Millisecond) // any moment will do
	c.kill()
	clients.Wait()
}

// message makes one of any kind.
func (c *chaos) message(name string) *harness.Sent {
	texts := []string{"echo text-" + name, "slow 40 text-" + name, "tool 20 tool-" + name, "tool 0 tool-" + name}
	s := &harness.Sent{Text: texts[c.rand.IntN(len(texts))], Form: []string{"", "async", "sse"}[c.rand.IntN(3)]}
	if c.rand.IntN(2) == 0 {
		s.Key = name
	}
	return s
}

// send posts the message to whichever daemon runs. With a key it insists.
func (c *chaos) send(channel string, s *harness.Sent) {
	c.mu.Lock()
	c.sent[channel] = append(c.sent[channel], s)
	c.mu.Unlock()
	for range 100 {
		g := c.daemon.Load()
		g.Post(channel, s)
		if s.ID != "" || s.Doubt && s.Key == "" {
			return
		}
		select { // it is gone, and the next one is on its way
		case <-g.Done:
		case <-time.After(harness.Patience):
			c.t.Errorf("%s: not accepted by a daemon that lives", s.Text)
			return
		}
		c.m.Eventually("another daemon", func() bool { return c.daemon.Load() != g })
	}
}

// kill kills the daemon, some hosts, some claudes, or all of them.
func (c *chaos) kill() {
	g := c.daemon.Load()
	what := c.rand.IntN(8)
	hosts := make([]harness.HostRecord, 0, 3)
	for _, h := range c.m.Hosts() {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b harness.HostRecord) int { return a.PID - b.PID })
	all := what == 7
	if what < 4 || all {
		_ = g.Cmd.Process.Kill()
		c.kills++
	}
	for _, h := range hosts {
		if all || what >= 3 && what < 6 && c.rand.IntN(2) == 0 {
			_ = proc.Signal(h.PID, h.Start, syscall.SIGKILL)
			c.kills++
		}
		if h.ClaudePID > 0 && (all || what == 6 && c.rand.IntN(2) == 0) {
			_ = proc.Signal(h.ClaudePID, h.ClaudeStart, syscall.SIGKILL)
			c.kills++
		}
	}
	if what < 4 || all {
		<-g.Done
		c.daemon.Store(c.m.Start())
	}
}

// check holds what is known of the messages against what claude did.
func (c *chaos) check(msgs []*harness.Sent, outcomes map[string]harness.Answer) {
	tools, begun := map[string]int{}, map[string]int{}
	for _, l := range c.m.Journal() {
		switch l.Event {
		case "tool":
			tools[l.Text]++
		case "begun":
			for _, s := range msgs {
				if hasLine(l.Text, s.Text) {
					begun[s.Text]++
				}
			}
		}
	}
	for command, n := range tools {
		if n > 1 {
			c.t.Errorf("%s was run %d times", command, n)
		}
	}
	for _, s := range msgs {
		if n := begun[s.Text]; n > 3 {
			c.t.Errorf("%s: begun %d times", s.Text, n)
		}
	}
	for id, a := range outcomes {
		switch code := a.Str("code"); {
		case a.Str("state") == "answered":
		case a.Str("state") != "failed" || !a.Flag("is_error") || a.Str("error") == "":
			c.t.Errorf("message %s: %s", id, a.Body)
		case !slices.Contains([]string{"interrupted", "agent_exit", "agent_start"}, code): // what a kill can do to a turn
			c.t.Errorf("message %s failed otherwise: %s", id, a.Body)
		default:
			c.failed[code]++
		}
	}
	for _, s := range msgs {
		if a, ok := outcomes[s.ID]; ok && a.Str("state") == "answered" && begun[s.Text] == 0 {
			c.t.Errorf("%s: answered without having been begun: %s", s.Text, a.Body)
		}
	}
}

// hasLine reports whether one of the lines of text is line.
func hasLine(text, line string) bool {
	for l := range bytes.Lines([]byte(text)) {
		if string(bytes.TrimSuffix(l, []byte("\n"))) == line {
			return true
		}
	}
	return false
}
