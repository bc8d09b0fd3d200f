package telegram

import (
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/adapters/telegram/botapi"
)

// Health is how the adapter does.
type Health struct {
	Ready     bool      // a poll was completed lately
	LastPoll  time.Time // when; zero if none was
	Problem   string    // why there is none, for a person; empty when ready, or when the first one is under way
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

// polled notes that a poll was completed, and returns the problem that is over.
func (h *health) polled(at time.Time) (over string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	over, h.lastPoll, h.problem = h.problem, at, ""
	return over
}

// failed notes a problem, and reports whether it is another one than before.
func (h *health) failed(problem string) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	news, h.problem = h.problem != problem, problem
	return news
}

// named notes the bot's user name.
func (h *health) named(bot string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bot = bot
}

// name returns the bot's user name, empty while it is not known.
func (h *health) name() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bot
}

// unwell notes why nothing is received, and logs it when that is news.
func (a *Adapter) unwell(problem string, err error) {
	if a.health.failed(problem) {
		a.o.Log.Warn("telegram: nothing is received", "problem", problem, "err", err)
	}
}

// Health returns how the adapter does. It does not block.
func (a *Adapter) Health() Health {
	h := &a.health
	h.mu.Lock()
	out := Health{LastPoll: h.lastPoll, Problem: h.problem, Bot: h.bot}
	h.mu.Unlock()
	out.Strangers, out.Failed, out.Pending = h.strangers.Load(), h.failures.Load(), a.outbox.pending()
	age := time.Since(out.LastPoll)
	if out.Problem == "" && !out.LastPoll.IsZero() && age >= a.o.PollTimeout+2*botapi.PollGrace {
		out.Problem = "No poll of Telegram was completed for " + age.Round(time.Second).String() + "."
	}
	out.Ready = out.Problem == "" && !out.LastPoll.IsZero()
	return out
}
