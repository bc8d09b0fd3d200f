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
	"bareclaw/core/settings"
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
		go func() { _ = m.ChannelSettings.ChangeSettings(life, key, settings.Choice{Model: &model}) }()
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
	if err := m.Adapters.Consume(c.t.Context(), "remote", take); err != nil {
		c.t.Error(err)
	}
}

// delivered checks that each outcome which was to be delivered was, once, and
// nothing else.
func (c *chaos) delivered() {
	ctx := c.t.Context()
	if ds, err := c.m.Adapters.PendingDeliveries(ctx, "remote"); err != nil || len(ds) > 0 {
		c.t.Errorf("never delivered: %+v, %v", ds, err)
	}
	for _, key := range chaosChannels {
		all, err := c.m.Lookup.Messages(ctx, key, 1000, "")
		if err != nil {
			c.t.Error(err)
		}
		known := map[core.MessageID]*core.Message{}
		for i := range all {
			known[all[i].ID] = &all[i]
		}
		for _, m := range all {
			into := known[m.Reply.Into]
			carried := into != nil && into.Deliver && into.Adapter == m.Adapter
			ds, err := c.m.o.Ledger.MessageDeliveries(ctx, m.ID)
			replied := slices.ContainsFunc(ds, func(d core.Delivery) bool { return d.ID == core.ReplyDelivery(m.ID) })
			if err != nil || replied != (m.Deliver && !carried) {
				c.t.Errorf("deliveries of the outcome of %+v: %+v, %v", m, ds, err)
			}
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
func (c *chaos) firstComesFirst(change core.Change) {
	if len(change.Begin) == 0 {
		return
	}
	waiting, _, err := c.ledger.Open(c.t.Context()) // in order
	if err != nil {
		c.t.Error(err)
	}
	for _, m := range change.Accept {
		waiting = append(waiting, *m)
	}
	slices.SortStableFunc(waiting, func(a, b core.Message) int { return a.Rank - b.Rank })
	for _, t := range change.Begin {
		waits := func(id core.MessageID) bool {
			return slices.ContainsFunc(waiting, func(m core.Message) bool { return m.ID == id })
		}
		if slices.ContainsFunc(t.Members, func(id core.MessageID) bool { return !waits(id) }) {
			continue // a member was refused meanwhile, and so the ledger refuses the turn
		}
		left := slices.Clone(t.Members)
		for _, m := range waiting {
			switch i := slices.Index(left, m.ID); {
			case m.Channel != t.Channel && i >= 0:
				c.disorder = append(c.disorder, fmt.Sprintf("turn %+v has %+v", *t, m))
			case m.Channel != t.Channel || m.State != core.Waiting || len(left) == 0:
			case i < 0:
				c.overtaken = append(c.overtaken, [2]core.MessageID{m.ID, left[0]})
			default:
				said, err := json.Marshal(m.Content.Text)
				if i > 0 || err != nil || !strings.Contains(string(t.Line), strings.Trim(string(said), `"`)) {
					c.disorder = append(c.disorder, fmt.Sprintf("turn %+v has %+v", *t, m))
				}
				left = slices.Delete(left, i, i+1)
			}
		}
	}
}

type meddling struct {
	amended   sync.Map // message id → text that Amend has promised
	disorder  []string
	overtaken [][2]core.MessageID
}
