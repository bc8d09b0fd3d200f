package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/adapters"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/adapters/telegram/view"
	"bareclaw/internal/guard"
)

// A state is the state of the adapter at a moment.
type state struct {
	ready     bool      // a poll has succeeded lately
	lastPoll  time.Time // last successful poll; zero: none
	problem   string    // why polls fail, for people; empty when ready, and during the first poll
	bot       string    // user name of the bot; empty while unknown
	strangers int64     // updates of users without access
	pending   int       // deliveries not sent yet
	failed    int64     // abandoned deliveries
}

// state returns the present state without blocking.
func (a *Adapter) state() state {
	now := a.health.report()
	now.failed = a.out.Failed()
	now.pending = a.out.Pending() + a.live.Held()
	return now
}

// Health returns the state of the bot without blocking.
func (a *Adapter) Health() adapters.Health { return a.state().health() }

func (s state) health() adapters.Health {
	facts := map[string]any{
		"strangers": s.strangers,
		"pending":   s.pending,
		"failed":    s.failed,
	}
	if s.bot != "" {
		facts["bot"] = s.bot
	}
	if !s.lastPoll.IsZero() {
		facts["last_poll"] = s.lastPoll
	}
	return adapters.Health{Ready: s.ready, Problem: s.problem, Facts: facts}
}

// WriteMetrics writes the metrics of the bot without blocking.
func (a *Adapter) WriteMetrics(w *metrics.Writer) { a.state().writeMetrics(w) }

func (s state) writeMetrics(w *metrics.Writer) {
	ready := 0.0
	if s.ready {
		ready = 1
	}
	w.Gauge("bareclaw_telegram_ready", "1 while messages are received.", ready)
	if !s.lastPoll.IsZero() {
		w.Gauge("bareclaw_telegram_last_poll_age_seconds", "How long ago a poll was completed; left out before the first one.", time.Since(s.lastPoll).Seconds())
	}
	w.Counter("bareclaw_telegram_strangers_total", "Updates of users that are not allowed, since start.", float64(s.strangers))
	w.Gauge("bareclaw_telegram_deliveries_pending", "Deliveries that are still to be made.", float64(s.pending))
	w.Counter("bareclaw_telegram_deliveries_failed_total", "Deliveries given up, since start.", float64(s.failed))
}

type health struct {
	pollTimeout time.Duration
	strangers   atomic.Int64

	mu       sync.Mutex // guards the fields below
	lastPoll time.Time
	problem  string
	bot      string
}

// polled records a successful poll, and returns the problem that ended.
func (h *health) polled(at time.Time) (over string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	over, h.lastPoll, h.problem = h.problem, at, ""
	return over
}

// failed records a problem, and reports whether the problem is new.
func (h *health) failed(problem string) (isNew bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	isNew, h.problem = h.problem != problem, problem
	return isNew
}

func (h *health) setName(bot string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bot = bot
}

// name returns the bot's user name; empty while unknown.
func (h *health) name() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bot
}

// report returns the state as far as the poller knows it.
func (h *health) report() state {
	h.mu.Lock()
	s := state{
		lastPoll: h.lastPoll,
		problem:  h.problem,
		bot:      h.bot,
	}
	h.mu.Unlock()
	s.strangers = h.strangers.Load()
	age := time.Since(s.lastPoll)
	if s.problem == "" && !s.lastPoll.IsZero() && age >= h.pollTimeout+2*botapi.PollGrace {
		s.problem = "The last successful poll of Telegram was " + age.Round(time.Second).String() + " ago."
	}
	s.ready = s.problem == "" && !s.lastPoll.IsZero()
	return s
}

// pollProblem explains to the operator why a poll failed. The same cause has the same words
// each time.
func pollProblem(err error) string {
	if records.IsStorage(err) {
		return "Messages stay at Telegram, because they cannot be recorded here: " + err.Error()
	}
	api := (*botapi.Error)(nil)
	if !errors.As(err, &api) {
		switch {
		case errors.Is(err, botapi.ErrPollHung), errors.Is(err, context.DeadlineExceeded):
			return "Telegram does not answer: polls hang."
		case errors.Is(err, guard.ErrPanic):
			return "An internal error interrupted the poll; see the log."
		}
		return "Telegram cannot be reached: " + botapi.NetworkReason(err)
	}
	switch api.Status {
	case http.StatusUnauthorized, http.StatusNotFound:
		return "Telegram refuses the token. Check BARECLAW_TELEGRAM_TOKEN, or ask @BotFather for a new one."
	case http.StatusConflict:
		if strings.Contains(api.Text, "webhook") {
			return "This bot's messages go to a webhook. Remove it with the Bot API's deleteWebhook, or use another bot: " +
				"another program may need the webhook, so the gateway does not remove it."
		}
		return "Another program receives this bot's messages. Stop it, or have @BotFather revoke the token. Telegram says: " + api.Text
	case http.StatusTooManyRequests:
		return fmt.Sprintf("Telegram asks for a pause of %s.", api.RetryAfter)
	}
	return fmt.Sprintf("Telegram fails: %d %s", api.Status, api.Text)
}

// unrecordedDelay is how long recording fails before people are notified: a disk may be
// slow for a moment.
const unrecordedDelay = 3 * time.Second

const unrecordedText = "I cannot save anything at present: the gateway's disk is full, or fails. Your message is not lost. " +
	"It waits at Telegram, and I read it as soon as I can; please do not send it again."

type unrecorded struct {
	since time.Time // zero: updates are recorded
	told  map[chats.Address]bool
}

// tellUnrecorded notifies the senders of updates that cannot be recorded, once in each
// conversation. The notice is not recorded either, and may be lost, or repeated by the
// next process.
func (p *poller) tellUnrecorded(arrivals []*arrival) {
	u := &p.unrecorded
	if u.since.IsZero() {
		*u = unrecorded{since: time.Now(), told: map[chats.Address]bool{}}
	}
	if time.Since(u.since) < unrecordedDelay {
		return
	}
	for _, r := range arrivals {
		m := r.update.Message
		if m == nil || m.From == nil {
			continue
		}
		if to := chats.AddressOf(m); !u.told[to] {
			u.told[to] = true
			note := outbox.NoteParts(view.Note{Text: unrecordedText, ReplyTo: m.ID})[0]
			p.sender.Post(to, throttle.Progress, func(ctx context.Context) error {
				_, err := note.Send(ctx, p.client, to)
				return err
			})
		}
	}
}
