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

	"bareclaw/adapters/telegram/botapi"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/adapters/telegram/view"
	"bareclaw/internal/guard"
)

// Health is the state of the adapter.
type Health struct {
	Ready     bool      // a poll has succeeded lately
	LastPoll  time.Time // last successful poll; zero: none
	Problem   string    // why polls fail, for people; empty when ready, and during the first poll
	Bot       string    // user name of the bot; empty while unknown
	Strangers int64     // updates of users without access
	Pending   int       // deliveries not sent yet
	Failed    int64     // abandoned deliveries
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

func (h *health) report() Health {
	h.mu.Lock()
	out := Health{LastPoll: h.lastPoll, Problem: h.problem, Bot: h.bot}
	h.mu.Unlock()
	out.Strangers = h.strangers.Load()
	age := time.Since(out.LastPoll)
	if out.Problem == "" && !out.LastPoll.IsZero() && age >= h.pollTimeout+2*botapi.PollGrace {
		out.Problem = "The last successful poll of Telegram was " + age.Round(time.Second).String() + " ago."
	}
	out.Ready = out.Problem == "" && !out.LastPoll.IsZero()
	return out
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
