package telegram

import (
	"sync"
	"sync/atomic"
	"time"
)

// Health is how the adapter does.
type Health struct {
	Ready     bool      // a poll was completed lately
	LastPoll  time.Time // when; zero if none was
	Problem   string    // why there is none, for a person; empty when ready
	Bot       string    // its user name, once it is known
	Strangers int64     // updates of users that are not listened to
	Pending   int       // deliveries that are not made yet
	Failed    int64     // deliveries that were given up
}

// health collects it.
type health struct {
	strangers atomic.Int64
	failures  atomic.Int64

	mu       sync.Mutex // guards the fields below
	lastPoll time.Time
	problem  string
	bot      string
}

func (h *health) polled(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastPoll, h.problem = at, ""
}

func (h *health) failed(problem string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problem = problem
}

// Health returns how the adapter does. It does not block.
func (a *Adapter) Health() Health {
	h := &a.health
	h.mu.Lock()
	out := Health{LastPoll: h.lastPoll, Problem: h.problem, Bot: h.bot}
	h.mu.Unlock()
	out.Strangers, out.Failed, out.Pending = h.strangers.Load(), h.failures.Load(), a.outbox.pending()
	lately := time.Since(out.LastPoll) < a.o.PollTimeout+2*pollGrace
	switch {
	case out.Problem != "":
	case out.LastPoll.IsZero():
		out.Problem = "Telegram has not answered yet."
	case !lately:
		out.Problem = "No poll of Telegram was completed for " + time.Since(out.LastPoll).Round(time.Second).String() + "."
	}
	out.Ready = out.Problem == ""
	return out
}
