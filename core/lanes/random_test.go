package lanes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// A chaos plays an agent, users and misfortunes at random.
type chaos struct {
	*world
	rnd    *rand.Rand
	sent   []*sending
	down   time.Time // when the ledger was last known not to take writes
	keys   int
	shaky  bool // outcomes may have been lost that were not durable
	trace  []string
	calmed atomic.Bool // the agent makes no trouble any more
	meddling

	mu    sync.Mutex         // guards the fields below
	spent float64            // what all agents have really cost
	saved map[string]float64 // the totals of sessions, as a resumed process finds them
	total map[*fakeHost]float64
}

// pays puts into a result what it has cost since the last one of its process.
func (c *chaos) pays(h *fakeHost, r core.Result) {
	h.a.mu.Lock()
	exited := h.exited
	h.a.mu.Unlock()
	if exited {
		return
	}
	c.mu.Lock()
	total, ok := c.total[h]
	if !ok {
		total = c.saved[h.launch.SessionID]
	}
	r.Cost = float64(1 + len(r.Turns))
	r.TotalCost = total + r.Cost
	c.total[h] = r.TotalCost
	c.spent += r.Cost
	if int(c.spent)%2 == 0 {
		c.saved[h.launch.SessionID] = r.TotalCost
	}
	c.mu.Unlock()
	h.results(r)
}

// notTwice checks that nothing was counted twice of what was spent.
func (c *chaos) notTwice() {
	kept, err := c.ledger.Spent(c.t.Context(), core.Day(time.Now()))
	if got := c.m.Directory.Spending(); kept > c.spent || err != nil || got.Spent > c.spent {
		c.t.Errorf("%v is counted, %v in the ledger (%v), and %v was spent", got.Spent, kept, err, c.spent)
	}
}

// TestRandomLives lets everything happen that can happen, in random order, and
// then gives the gateway time: every message that was accepted has its one
// outcome, each channel was served in order, no turn ran twice that must not,
// nothing was acknowledged too early (the fakes check the latter two), and every
// channel works. LIVES and LIVES_FROM in the environment say how many lives are
// played, and from which seed on. Each life is played on each ledger.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	lives := 60
	if n, err := strconv.Atoi(os.Getenv("LIVES")); err == nil {
		lives = n
	}
	from, _ := strconv.Atoi(os.Getenv("LIVES_FROM"))
	for name, open := range ledgers {
		t.Run(name, func(t *testing.T) {
			for seed := from; seed < from+lives; seed++ {
				randomLife(t, open, uint64(seed))
			}
		})
	}
}

// randomLife plays one life on a ledger without records.
func randomLife(t *testing.T, open openLedger, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	o := Options{
		ApprovalTimeout: 20 * time.Second, TurnTimeout: 2 * time.Minute, QueueLimit: 20,
		IdleTimeout: oneOf(rnd, 0, time.Second, 10*time.Second), MaxSessions: oneOf(rnd, 0, 1, 2),
		TurnBudget: oneOf(rnd, 0, 10.0), StallAfter: oneOf(rnd, 0, 7*time.Second, time.Minute), StallAction: oneOf(rnd, StallNotify, StallInterrupt, StallKill),
	}
	playOn(t, open, nil, o, func(t *testing.T, w *world) {
		w.agent.limit = o.MaxSessions
		c := &chaos{world: w, rnd: rnd, saved: map[string]float64{}, total: map[*fakeHost]float64{}}
		defer func() {
			if t.Failed() {
				t.Logf("seed %d: %q", seed, c.trace)
			}
		}()
		w.agent.script = c.player(seed)
		w.ledger.watched = c.firstComesFirst
		c.deliver()
		for range 80 {
			c.act()
		}
		c.calm()
	})
}

func oneOf[T any](rnd *rand.Rand, all ...T) T { return all[rnd.IntN(len(all))] }

var chaosChannels = []core.ChannelKey{"c", "d", "e"}

// act does one thing.
func (c *chaos) act() {
	key := oneOf(c.rnd, chaosChannels...)
	n := c.rnd.IntN(120)
	c.trace = append(c.trace, fmt.Sprint(time.Now().Format("05.000 "), key, " ", n))
	switch {
	case n < 35:
		c.send(key)
	case n < 55:
		time.Sleep(time.Duration(c.rnd.IntN(3000)) * time.Millisecond)
	case n < 60:
		c.misfortune(key)
	case n < 63:
		if c.rnd.IntN(2) == 0 { // what is written now is lost
			c.ledger.hold()
			time.Sleep(time.Duration(c.rnd.IntN(200)) * time.Millisecond)
		}
		c.leaves()
		c.crash()
		c.ledger.release()
		c.start()
		c.deliver()
	case n < 65:
		c.leaves()
		c.m.Detach()
		c.start()
		c.deliver()
	case n < 68:
		c.down = time.Now().Add(time.Hour)
		c.ledger.setDown([]error{core.ErrStorage, core.ErrStorageFull}[c.rnd.IntN(2)])
	case n < 74:
		c.up()
		c.agent.mu.Lock()
		c.agent.startErr, c.agent.fateErr = nil, nil
		c.agent.mu.Unlock()
		c.ledger.slow(0)
	case n < 76:
		c.ledger.slow(time.Duration(c.rnd.IntN(50)) * time.Millisecond)
	case n < 82:
		m := c.m
		go func() { _, _ = m.Interrupt(context.Background(), key, "") }()
	case n < 86 && len(c.sent) > 0:
		synctest.Wait()
		if s := c.sent[c.rnd.IntN(len(c.sent))]; s.over.Load() && s.err == nil {
			m, id := c.m, s.ticket.Message.ID
			go func() { _, _ = m.Cancel(context.Background(), id) }()
		}
	case n < 87:
		// Not while nothing can be written: what is begun meanwhile may then be
		// older than what was cancelled, should the gateway crash.
		c.up()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_ = c.m.Reset(ctx, key)
		cancel()
		c.after(2 * saveRetry)
	case n < 89:
		c.decide()
	case n < 90:
		c.retryOne()
	case n < 92:
		c.agent.mu.Lock()
		c.agent.startErr = &core.AgentError{Code: "agent_missing", Text: "gone", Wait: oneOf(c.rnd, "", "It is being updated.")}
		c.agent.mu.Unlock()
	case n < 93:
		for _, s := range c.sent {
			s.unsure = true // likewise, should now everything else die
		}
		c.agent.mu.Lock()
		c.agent.fateErr = errCut
		c.agent.mu.Unlock()
	case n < 95:
		c.agent.mu.Lock()
		clear(c.agent.known)
		c.agent.mu.Unlock()
	case n < 100:
		synctest.Wait()
	default:
		c.meddle(key)
	}
}

// leaves notes what may be lost with a life: outcomes that are not durable,
// although they have been told, or something else has been begun after them.
func (c *chaos) leaves() {
	if time.Since(c.down) >= 2*saveRetry {
		return
	}
	c.shaky = true
	for _, s := range c.sent {
		s.unsure = true
	}
}

// up lets the ledger take writes again.
func (c *chaos) up() {
	c.ledger.setDown(nil)
	c.down = time.Now()
}

func (c *chaos) send(key core.ChannelKey) {
	change := []func(*core.Submission){in(key), mode([]core.Mode{core.Collect, core.Collect, core.Steer, core.Interrupt, core.Join}[c.rnd.IntN(5)])}
	text := fmt.Sprintf("m%d;", len(c.sent))
	if c.rnd.IntN(3) == 0 {
		change = append(change, remotely)
	}
	switch c.rnd.IntN(6) {
	case 0:
		c.keys++
		change = append(change, keyed(fmt.Sprint("k", c.keys), "h"))
	case 1: // perhaps again
		change = append(change, keyed(fmt.Sprint("k", c.keys), "h"))
	case 2:
		text = "/" + text
	case 3:
		change = append(change, askable)
	}
	s, m := &sending{}, c.m
	c.sent = append(c.sent, s)
	go func() {
		s.ticket, s.err = m.Submit(context.Background(), submission(text, change...))
		s.over.Store(true)
	}()
	if c.rnd.IntN(2) == 0 {
		synctest.Wait()
	}
}

func (c *chaos) misfortune(key core.ChannelKey) {
	c.agent.mu.Lock()
	h := c.agent.hosts[key]
	c.agent.mu.Unlock()
	if h == nil {
		return
	}
	switch c.rnd.IntN(4) {
	case 0:
		h.die()
	case 1:
		h.exit(core.Exit{Code: "agent_exit", Text: "killed"})
	case 2:
		h.cut()
	case 3:
		h.exit(core.Exit{Reason: core.ExitStartFailed, Code: "agent_timeout", Text: "late"})
	}
}

func (c *chaos) decide() {
	c.ledger.mu.Lock()
	ids := slices.Clone(c.ledger.asked)
	c.ledger.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	id, m, d := ids[c.rnd.IntN(len(ids))], c.m, core.Decision{Allow: true, Always: c.rnd.IntN(2) == 0}
	go func() { _, _ = m.Decider.Decide(context.Background(), id, d) }()
}

// retryOne tries a message again, if it failed.
func (c *chaos) retryOne() {
	if len(c.sent) == 0 {
		return
	}
	synctest.Wait()
	old := c.sent[c.rnd.IntN(len(c.sent))]
	if !old.over.Load() || old.err != nil || old.unsure {
		return
	}
	r, _, err := c.m.Decider.Resubmission(context.Background(), old.ticket.Message.ID)
	if err != nil {
		return
	}
	s, m := &sending{}, c.m
	c.sent = append(c.sent, s)
	go func() {
		s.ticket, s.err = m.Submit(context.Background(), r)
		s.over.Store(true)
	}()
}

// calm ends the misfortunes, gives everything its time and looks at what is left.
func (c *chaos) calm() {
	t := c.t
	c.up()
	c.calmed.Store(true)
	c.ledger.slow(0)
	c.agent.mu.Lock()
	c.agent.startErr, c.agent.fateErr = nil, nil
	for _, h := range c.agent.hosts {
		h.tasks = 0
		h.sayLocked(core.Event{Kind: core.TasksChanged, Type: "system"})
	}
	c.agent.mu.Unlock()
	c.after(time.Hour)
	for i, s := range c.sent {
		if !s.over.Load() {
			t.Errorf("submission %d still waits", i)
			continue
		}
		if s.err != nil || s.unsure {
			continue
		}
		m, err := c.m.Lookup.Message(t.Context(), s.ticket.Message.ID)
		if err != nil || !m.State.Final() {
			t.Errorf("message %d %q is %s, %v", i, m.Content.Text, m.State, err)
		}
		select {
		case <-s.ticket.Done():
			if got := s.ticket.Outcome(); got.State != m.State {
				t.Errorf("message %q: the waiter was told %s %q, the ledger has %s %q", m.Content.Text, got.State, got.Reply.Text, m.State, m.Reply.Text)
			}
		default: // of an earlier life
		}
	}
	if b, err := c.m.Lookup.Balance(t.Context()); err != nil || b.Waiting != 0 {
		t.Errorf("balance %+v, %v", b, err)
	}
	if n := len(c.m.tickets.open); n != 0 {
		t.Errorf("%d tickets are left", n)
	}
	if !c.shaky {
		c.inOrder()
	}
	c.delivered()
	c.ownResults()
	for _, key := range chaosChannels {
		m := c.submit("still there?", in(key))
		c.after(5 * time.Minute) // more than a turn may take
		if got := c.outcome(m); got.State != core.Answered && got.Reply.Code != "api" && got.Reply.Code != core.CodeMaxBudget {
			t.Errorf("channel %s does not work: %+v", key, got.Reply)
		}
	}
	c.settled()
	c.after(time.Minute)
	if n := c.m.Directory.Lanes(); c.o.IdleTimeout > 0 && (n != 0 || c.live() != 0) {
		t.Errorf("%d lanes and %d sessions are left although nobody uses them", n, c.live())
	}
	c.notTwice()
	c.decideAll()
	c.notTwice()
	if as, _ := c.m.Decider.Approvals(t.Context()); len(as) != 0 {
		t.Errorf("approvals are left: %+v", as)
	}
}

// decideAll goes on with every other turn that was cut in its work, and drops the
// rest.
func (c *chaos) decideAll() {
	as, _ := c.m.Decider.Approvals(c.t.Context())
	for i, a := range as {
		if a.Kind != core.ApprovalContinue {
			continue
		}
		now, err := c.m.Decider.Decide(c.t.Context(), a.ID, core.Decision{Allow: i%2 == 0})
		if err != nil {
			c.t.Errorf("turn %s cannot be gone on with, or dropped: %v", a.Turn, err)
			continue
		}
		c.after(5 * time.Minute)
		if again, err := c.m.Lookup.Message(c.t.Context(), now.Retry); i%2 == 0 && (err != nil || !again.State.Final() || again.RetryOf != a.Message) {
			c.t.Errorf("message that goes on with %s is %+v, %v", a.Message, again, err)
		}
	}
}

// inOrder checks that turns were begun in the order of the queue, and with what their
// messages said by then.
func (c *chaos) inOrder() {
	for _, s := range c.disorder {
		c.t.Error(s)
	}
	for _, pair := range c.overtaken {
		if m, err := c.m.Lookup.Message(c.t.Context(), pair[0]); err != nil || m.Turn != "" {
			c.t.Errorf("message %+v was overtaken by %s (%v)", m, pair[1], err)
		}
	}
	c.amended.Range(func(id, text any) bool {
		m, err := c.m.Lookup.Message(c.t.Context(), id.(core.MessageID))
		if err != nil || !strings.HasPrefix(m.Content.Text, "[amended") {
			c.t.Errorf("message %+v was amended to %q (%v)", m, text, err)
		}
		return true
	})
}

// player returns a script that serves turns one after the other.
func (c *chaos) player(seed uint64) func(*fakeHost) {
	return func(h *fakeHost) {
		rnd := rand.New(rand.NewPCG(seed, uint64(h.pid)))
		pause := func() bool { // reports whether the process goes on
			select {
			case <-time.After(time.Duration(rnd.IntN(2000)) * time.Millisecond):
				return true
			case <-h.stop:
				return false
			}
		}
		if !pause() {
			return
		}
		h.becomeReady()
		for {
			own := make(<-chan time.Time) // the agent begins a turn by itself
			if rnd.IntN(3) == 0 && !c.calmed.Load() {
				own = time.After(time.Duration(rnd.IntN(5000)) * time.Millisecond)
			}
			select {
			case <-own:
				if !c.ownTurn(h, rnd, pause) {
					return
				}
			case id := <-h.turn:
				if !c.serve(h, rnd, id, pause) {
					return
				}
			case <-h.stop:
				return
			}
		}
	}
}

// serve plays one turn, and reports whether the process goes on.
func (c *chaos) serve(h *fakeHost, rnd *rand.Rand, id core.TurnID, pause func() bool) bool {
	interrupts := h.interrupted()
	h.begin(id)
	ids, folded := []core.TurnID{id}, []core.TurnID(nil)
	if rnd.IntN(2) == 0 {
		select {
		case next := <-h.turn: // joined
			h.begin(next)
			h.records(id, func(f *core.Fate) { f.Into = next })
			ids, folded = append(ids, next), append(folded, next)
		default:
		}
	}
	tools := func() {
		for _, id := range ids {
			h.records(id, func(f *core.Fate) { f.ToolBegun, f.Done = true, "Bash (make)" })
		}
	}
	for range rnd.IntN(4) {
		if !pause() {
			return false
		}
		if h.interrupted() > interrupts && rnd.IntN(4) > 0 {
			c.pays(h, core.Result{Turns: ids, IsError: true, Interrupted: true, Error: "aborted", SessionID: h.launch.SessionID})
			h.done(ids...)
			return true
		}
		trouble := rnd.IntN(16)
		if c.calmed.Load() {
			trouble = 15
		}
		switch trouble {
		case 0:
			h.retries(401)
		case 1:
			c.pays(h, core.Result{Turns: ids, IsError: true, Code: core.CodeNotLoggedIn, Error: "401", SessionID: h.launch.SessionID})
			h.done(ids...)
			return true
		case 2:
			c.pays(h, core.Result{Turns: ids, IsError: true, Code: core.CodeUsageLimit, Error: "limit", SessionID: h.launch.SessionID,
				Until: oneOf(rnd, time.Time{}, time.Now().Add(time.Duration(rnd.IntN(600))*time.Second))})
			h.done(ids...)
			return true
		case 3: // it hangs
			<-h.stop
			return false
		case 4:
			h.runs(rnd.IntN(2))
		case 5:
			h.bash(id, "long", time.Minute)
			tools()
		}
		switch rnd.IntN(5) {
		case 0:
			h.tool(id)
			tools()
			select {
			case next := <-h.turn: // folded
				h.begin(next)
				h.records(next, func(f *core.Fate) { f.ToolBegun = true })
				ids, folded = append(ids, next), append(folded, next)
			default:
			}
		case 1:
			h.ask(fmt.Sprint("r", rnd.Uint32()), "Bash")
		case 2:
			c.pays(h, core.Result{Background: true, Text: fmt.Sprint("bg", rnd.Uint32())})
		}
	}
	h.done(folded...)
	switch rnd.IntN(10) {
	case 0: // it forgets the result
		h.records(id, func(f *core.Fate) { f.Answered, f.Text = true, "from the record" })
	case 1:
		c.pays(h, core.Result{Turns: ids, IsError: true, Code: "api", Error: "API error", SessionID: h.launch.SessionID})
	case 2:
		c.pays(h, core.Result{Turns: ids, IsError: true, Code: core.CodeMaxBudget, Error: "over", SessionID: h.launch.SessionID})
	default:
		c.pays(h, core.Result{Text: "ok", Turns: ids, SessionID: h.launch.SessionID})
	}
	if rnd.IntN(10) > 0 {
		h.done(id)
	}
	return true
}
