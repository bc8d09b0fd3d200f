package lanes

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// remotely has the outcome of a message delivered by the courier.
func remotely(s *core.Submission) { s.Adapter, s.Deliver = "remote", true }

// meddle does one of the things that change what waits, or with which settings it runs.
func (c *chaos) meddle(key core.ChannelKey) {
	m := c.m
	life := m.ctx
	switch n := c.rnd.IntN(6); n {
	case 0, 1, 2, 3:
		synctest.Wait()
		id := c.anyMessage()
		text := fmt.Sprintf("[amended %d;]", len(c.trace))
		go func() {
			if n == 0 || n == 1 {
				_ = m.RunNow(life, id)
			} else if m.Amend(life, id, core.Content{Text: text}) == nil {
				c.amended.Store(id, text)
			}
		}()
	case 4:
		model := oneOf(c.rnd, "", "opus", "sonnet")
		go func() { _ = m.ChannelSettings.ChangeSettings(life, key, &model, nil) }()
	default:
		rule := oneOf(c.rnd, "Read", "Bash(make)")
		go func() {
			if r, err := addRule(life, m, key, rule, "somebody"); err == nil && len(rule) > 4 {
				_ = m.ChannelSettings.RemoveRule(life, key, r.ID)
			}
		}()
	}
}

// anyMessage returns a message that was accepted, if there is one.
func (c *chaos) anyMessage() core.MessageID {
	if len(c.sent) == 0 {
		return "none"
	}
	s := c.sent[len(c.sent)-1-c.rnd.IntN(min(8, len(c.sent)))]
	if !s.over.Load() || s.err != nil {
		return "none"
	}
	return s.ticket.Message.ID
}

// A courier is an adapter that delivers, as one life of the gateway has it.
type courier struct {
	mu   sync.Mutex
	told map[string]int
}

// deliver has the courier of this life make its deliveries, in a while.
func (c *chaos) deliver() {
	m, rnd := c.m, rand.New(rand.NewPCG(c.rnd.Uint64(), 2))
	k := &courier{told: map[string]int{}}
	take := func(d core.Delivery) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.told[d.ID]++; k.told[d.ID] > 1 {
			return
		}
		pause := time.Duration(rnd.IntN(5000)) * time.Millisecond
		go func() { // ends with the deliveries
			for time.Sleep(pause); ; time.Sleep(time.Second) {
				d.State, d.Attempts = core.DeliverySent, d.Attempts+1
				if err := m.Adapters.Delivered(m.ctx, d); err == nil || errors.Is(err, core.ErrClosed) || m.ctx.Err() != nil {
					return
				}
			}
		}()
	}
	m.Adapters.OnDelivery("remote", take)
	pending, err := m.Adapters.PendingDeliveries(c.t.Context(), "remote")
	if err != nil {
		c.t.Error(err)
	}
	for _, d := range pending {
		take(d)
	}
}

// delivered checks that each outcome which was to be delivered was, once, and
// nothing else.
func (c *chaos) delivered() {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	for _, d := range c.ledger.outbox.deliveries {
		if d.State != core.DeliverySent {
			c.t.Errorf("delivery %+v was never made", *d)
		}
		if m := c.ledger.messages[d.Message]; d.Kind == core.DeliverReply && (m == nil || !m.Deliver || !m.State.Final()) {
			c.t.Errorf("delivery %+v of %+v", *d, m)
		}
	}
	for _, id := range c.ledger.accepted {
		m := c.ledger.messages[id]
		into := c.ledger.messages[m.Reply.Into]
		carried := into != nil && into.Deliver && into.Adapter == m.Adapter
		if m.Deliver && !carried && c.ledger.outbox.delivery(core.ReplyDelivery(id)) == nil {
			c.t.Errorf("outcome of %+v is not delivered", *m)
		}
	}
}

// settled checks that sessions were started with what their channels are set to and that no two
// channels have one session.
func (c *chaos) settled() {
	ids := map[string]core.ChannelKey{}
	for key, id := range c.sessions.All() {
		if other, ok := ids[id]; ok {
			c.t.Errorf("channels %s and %s have one session", key, other)
		}
		ids[id] = key
	}
	kept, err := c.m.o.Ledger.Settings(c.t.Context())
	if err != nil {
		c.t.Error(err)
	}
	for _, key := range chaosChannels {
		s := c.m.ChannelSettings.Settings(key)
		if s.Fingerprint() != kept[key].Fingerprint() || s.HadModel != kept[key].HadModel {
			c.t.Errorf("settings of %s are %+v, in the ledger %+v", key, s, kept[key])
		}
		c.agent.mu.Lock()
		if h := c.agent.hosts[key]; h != nil && !h.exited && len(h.answers) == 0 && h.launch.Settings.Fingerprint() != s.Fingerprint() {
			c.t.Errorf("session of %s runs with %+v, its channel has %+v", key, h.launch.Settings, s)
		}
		c.agent.mu.Unlock()
	}
}

// firstComesFirst notes what is begun although something else comes before it, which
// may have its outcome by then, and turns that are not of what their messages say.
func (l *fakeLedger) firstComesFirst(t *core.Turn) {
	place := func(id core.MessageID) int { return slices.Index(l.accepted, id) }
	first := func(a, b *core.Message) bool {
		return a.Rank < b.Rank || a.Rank == b.Rank && place(a.ID) < place(b.ID)
	}
	for i, id := range t.Members {
		m := l.messages[id]
		if m.Channel != t.Channel {
			l.disorder = append(l.disorder, fmt.Sprintf("turn %s of %s has %+v", t.ID, t.Channel, *m))
		}
		if i > 0 && !first(l.messages[t.Members[i-1]], m) {
			l.disorder = append(l.disorder, fmt.Sprintf("message %+v is behind another in its turn", *m))
		}
		if said, err := json.Marshal(m.Content.Text); err != nil || !strings.Contains(string(t.Line), strings.Trim(string(said), `"`)) {
			l.disorder = append(l.disorder, fmt.Sprintf("turn %s does not say %+v", t.Line, *m))
		}
		for _, id := range l.accepted {
			other := l.messages[id]
			if other.Channel == t.Channel && other.State == core.Waiting && !slices.Contains(t.Members, id) && first(other, m) {
				l.overtaken = append(l.overtaken, [2]core.MessageID{other.ID, m.ID})
			}
		}
	}
}

type meddling struct {
	amended sync.Map // message id → text that Amend has promised
}
