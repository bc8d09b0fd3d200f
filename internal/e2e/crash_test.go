package e2e

import (
	"bytes"
	"encoding/json"
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

	"bareclaw/internal/proc"
)

// soak says that the long runs of these tests are wanted.
func soak() bool { return os.Getenv("BARECLAW_TEST_SOAK") != "" }

// A sent message is what its sender knows of it.
type sent struct {
	text string // unique on the machine
	form string // "" (wait for the answer), "async" or "sse"
	key  string // its Idempotency-Key, "" if it has none

	id    string // once the sender was told that it is accepted
	doubt bool   // the connection broke before that
	told  answer // the answer, if the sender waited and got one
}

// post sends the message, once more if it has a key, and notes what comes of it.
// The daemon may die meanwhile.
func (g *gateway) post(channel string, s *sent) {
	header := []string{"Accept", "application/json"}
	switch s.form {
	case "async":
		header = append(header, "Prefer", "respond-async")
	case "sse":
		header[1] = "text/event-stream"
	}
	if s.key != "" {
		header = append(header, "Idempotency-Key", s.key)
	}
	a, err := g.do("POST", "/message", map[string]any{"channel": channel, "text": s.text}, header...)
	id := a.str("message_id")
	if s.form == "sse" {
		id = acceptedEvent(a.body)
	}
	switch {
	case id != "" && s.id != "" && id != s.id:
		g.t.Errorf("%s: accepted as %s and as %s", s.text, s.id, id)
	case id != "":
		s.id, s.doubt = id, false
	case err == nil && (a.status != 503 || a.str("code") != "shutting_down"):
		g.t.Errorf("%s: status %d: %s", s.text, a.status, a.body)
	case err != nil && s.id == "":
		s.doubt = true
	}
	if err == nil && a.status == 200 && s.form == "" {
		s.told = a
	}
}

// acceptedEvent returns the message id in the first event of a stream, which may
// have been cut anywhere after it.
func acceptedEvent(stream []byte) string {
	_, rest, _ := bytes.Cut(stream, []byte("event: accepted\ndata: "))
	data, _, whole := bytes.Cut(rest, []byte("\n\n"))
	var m struct {
		ID string `json:"message_id"`
	}
	if !whole || json.Unmarshal(data, &m) != nil {
		return ""
	}
	return m.ID
}

// settled waits until every message of the channel has its outcome and returns
// those by id. Whatever was accepted is in there, and at most what is in doubt
// besides.
func (g *gateway) settled(channel string, msgs []*sent) map[string]answer {
	g.t.Helper()
	known, doubts := map[string]bool{}, 0
	for _, s := range msgs {
		if s.id != "" {
			known[s.id] = true
		}
		if s.doubt {
			doubts++
		}
	}
	outcomes := map[string]answer{}
	for _, id := range g.history(channel) {
		outcomes[id] = g.outcome(id)
		delete(known, id)
	}
	for id := range known {
		g.t.Errorf("channel %s: message %s was accepted and is not there", channel, id)
	}
	if n := len(outcomes); n > len(msgs) || n < len(msgs)-doubts {
		g.t.Errorf("channel %s: %d messages are there; %d were sent, %d of them are in doubt", channel, n, len(msgs), doubts)
	}
	for _, s := range msgs {
		if a, ok := outcomes[s.id]; ok && s.told.status == 200 && a.str("text") != s.told.str("text") {
			g.t.Errorf("%s: the sender was told %q, now it is %q", s.text, s.told.str("text"), a.str("text"))
		}
	}
	return outcomes
}

// history returns the ids of all messages of the channel.
func (g *gateway) history(channel string) []string {
	g.t.Helper()
	var all []string
	for before := ""; ; {
		a, err := g.do("GET", "/channels/"+escaped(channel)+"/messages?limit=100&before="+before, nil)
		if err != nil || a.status != 200 && a.status != 404 {
			g.t.Fatalf("history of %s: %v, status %d: %s", channel, err, a.status, a.body)
		}
		var page struct {
			Messages []struct {
				ID string `json:"message_id"`
			}
		}
		if err := json.Unmarshal(a.body, &page); err != nil {
			g.t.Fatal(err)
		}
		for _, m := range page.Messages {
			all, before = append(all, m.ID), m.ID
		}
		if len(page.Messages) < 100 {
			return all
		}
	}
}

// TestCrashAtRandomMoments kills daemon, hosts and claudes, one or all, at any
// moment while clients send: every message that was accepted has one outcome,
// and no tool runs twice.
func TestCrashAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed, rounds := uint64(time.Now().UnixNano()), 20
	if soak() {
		rounds = 200
	}
	if s, err := strconv.ParseUint(os.Getenv("BARECLAW_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("BARECLAW_TEST_SEED=%d", seed)
	m := newMachine(t)
	c := &chaos{t: t, m: m, rand: rand.New(rand.NewPCG(seed, 0)), failed: map[string]int{}, sent: map[string][]*sent{}}
	c.daemon.Store(m.start())
	for round := range rounds {
		c.round(round)
	}
	g := c.daemon.Load()
	total := 0
	for channel, msgs := range c.sent {
		outcomes := g.settled(channel, msgs)
		c.check(msgs, outcomes)
		total += len(outcomes)
	}
	if n := g.balanced(); n != total {
		t.Errorf("%d messages accepted by the ledger's account, %d are there", n, total)
	}
	for channel := range c.sent {
		g.usable(channel)
	}
	t.Logf("%d messages, %d kills, failed: %v", total, c.kills, c.failed)
	g.endsAll()
}

// chaos is what the clients and the killer share.
type chaos struct {
	t      *testing.T
	m      *machine
	rand   *rand.Rand // of the test's own goroutine
	daemon atomic.Pointer[gateway]
	kills  int
	failed map[string]int // messages, by code

	mu   sync.Mutex // guards the fields below
	sent map[string][]*sent
}

// round lets some clients send while something is killed, and brings the daemon
// back if it was that.
func (c *chaos) round(n int) {
	var clients sync.WaitGroup
	for i := range 4 {
		channel := fmt.Sprintf("c%d", c.rand.IntN(3))
		var msgs []*sent
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
func (c *chaos) message(name string) *sent {
	texts := []string{"echo text-" + name, "slow 40 text-" + name, "tool 20 tool-" + name, "tool 0 tool-" + name}
	s := &sent{text: texts[c.rand.IntN(len(texts))], form: []string{"", "async", "sse"}[c.rand.IntN(3)]}
	if c.rand.IntN(2) == 0 {
		s.key = name
	}
	return s
}

// send posts the message to whichever daemon runs. With a key it insists.
func (c *chaos) send(channel string, s *sent) {
	c.mu.Lock()
	c.sent[channel] = append(c.sent[channel], s)
	c.mu.Unlock()
	for range 100 {
		g := c.daemon.Load()
		g.post(channel, s)
		if s.id != "" || s.doubt && s.key == "" {
			return
		}
		select { // it is gone, and the next one is on its way
		case <-g.done:
		case <-time.After(patience):
			c.t.Errorf("%s: not accepted by a daemon that lives", s.text)
			return
		}
		c.m.eventually("another daemon", func() bool { return c.daemon.Load() != g })
	}
}

// kill kills the daemon, some hosts, some claudes, or all of them.
func (c *chaos) kill() {
	g := c.daemon.Load()
	what := c.rand.IntN(8)
	hosts := make([]hostRecord, 0, 3)
	for _, h := range c.m.hosts() {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b hostRecord) int { return a.PID - b.PID })
	all := what == 7
	if what < 4 || all {
		_ = g.cmd.Process.Kill()
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
		<-g.done
		c.daemon.Store(c.m.start())
	}
}

// check holds what is known of the messages against what claude did.
func (c *chaos) check(msgs []*sent, outcomes map[string]answer) {
	tools, begun := map[string]int{}, map[string]int{}
	for _, l := range c.m.journal() {
		switch l.Event {
		case "tool":
			tools[l.Text]++
		case "begun":
			for _, s := range msgs {
				if hasLine(l.Text, s.text) {
					begun[s.text]++
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
		if n := begun[s.text]; n > 3 {
			c.t.Errorf("%s: begun %d times", s.text, n)
		}
	}
	for id, a := range outcomes {
		switch code := a.str("code"); {
		case a.str("state") == "answered":
		case a.str("state") != "failed" || !a.flag("is_error") || a.str("error") == "":
			c.t.Errorf("message %s: %s", id, a.body)
		case !slices.Contains([]string{"interrupted", "agent_exit", "agent_start"}, code): // what a kill can do to a turn
			c.t.Errorf("message %s failed otherwise: %s", id, a.body)
		default:
			c.failed[code]++
		}
	}
	for _, s := range msgs {
		if a, ok := outcomes[s.id]; ok && a.str("state") == "answered" && begun[s.text] == 0 {
			c.t.Errorf("%s: answered without having been begun: %s", s.text, a.body)
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
