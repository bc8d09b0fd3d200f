package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"bareclaw/internal/testkit/botapi"
)

const (
	// chatsPace lies between two messages of different chats: a bot may send some 20
	// messages a second, and what is measured is not that limit.
	chatsPace = 80 * time.Millisecond
	// chatsWithin bounds every wait for a chat.
	chatsWithin = 2 * time.Minute
)

// A bot is a Bot API server with a daemon that is its bot.
type bot struct {
	*server
	api   *botapi.Server
	user  *botapi.User
	chats []*botapi.Chat
}

// withBot measures a daemon that serves the groups of one user.
func withBot(m mode, f func(context.Context, *bot) ([]figure, error)) measurement {
	return func(ctx context.Context, l *lab, t target) (figures []figure, err error) {
		if l.plan.chats == 0 {
			return nil, errCannotSee
		}
		api, err := botapi.NewServer(botapi.WithoutRates())
		if err != nil {
			return nil, err
		}
		defer api.Close()
		b := &bot{api: api, user: api.User(1, "Bench", "", "bench")}
		for i := range l.plan.chats {
			b.chats = append(b.chats, api.Supergroup(-1000000-int64(i), "Bench", b.user))
		}
		t = t.with("BARECLAW_TELEGRAM_TOKEN="+api.Token(), "BARECLAW_TELEGRAM_API="+api.URL(), "BARECLAW_ALLOWED_USERS=1")
		return served(m, func(ctx context.Context, s *server) ([]figure, error) {
			b.server = s
			return f(ctx, b)
		})(ctx, l, t)
	}
}

// await returns once the condition holds.
func (b *bot) await(ctx context.Context, what string, cond func() bool) error {
	if err := await(ctx, chatsWithin, 5*time.Millisecond, cond); err != nil {
		return fmt.Errorf("wait for an %s: %w", what, err)
	}
	return nil
}

// chats measures, with many chats, the time from a message to the first sign of it
// and to its answer.
func chats(ctx context.Context, b *bot) ([]figure, error) {
	if _, err := b.round(ctx); err != nil { // the first messages start the sessions
		return nil, err
	}
	sent, err := b.round(ctx)
	if err != nil {
		return nil, err
	}
	signs, answers := b.reactions(sent)
	of := strconv.Itoa(len(b.chats)) + " Telegram chats, message to "
	return []figure{
		ms("chats.sign.p50", of+"first sign, median", median(signs)),
		ms("chats.sign.p99", of+"first sign, p99", quantile(signs, 0.99)),
		ms("chats.answer.p50", of+"answer, median", median(answers)),
		ms("chats.answer.p99", of+"answer, p99", quantile(answers, 0.99)),
	}, nil
}

// round sends a message to each chat and returns when, once all are answered.
func (b *bot) round(ctx context.Context) ([]time.Time, error) {
	before := len(b.api.Calls("sendMessage"))
	sent := make([]time.Time, len(b.chats))
	for i, c := range b.chats {
		sent[i] = time.Now()
		c.Send(b.user, "hello")
		time.Sleep(chatsPace)
	}
	return sent, b.await(ctx, "answer", func() bool { return len(b.api.Calls("sendMessage")) >= before+len(b.chats) })
}

// reactions returns how long each chat waited for anything, and for its answer.
func (b *bot) reactions(sent []time.Time) (signs, answers []time.Duration) {
	first, answer := map[int64]time.Time{}, map[int64]time.Time{}
	for _, c := range b.api.Calls("sendChatAction", "sendMessage") {
		i := int(-c.Chat - 1000000)
		if i < 0 || i >= len(sent) || c.Time.Before(sent[i]) {
			continue
		}
		if _, ok := first[c.Chat]; !ok {
			first[c.Chat] = c.Time
		}
		if c.Method == "sendMessage" {
			answer[c.Chat] = c.Time
		}
	}
	for i, at := range sent {
		chat := b.chats[i].ID()
		signs = append(signs, first[chat].Sub(at))
		answers = append(answers, answer[chat].Sub(at))
	}
	return signs, answers
}

// chatCalls counts the calls of the Bot API for one long turn.
func chatCalls(ctx context.Context, b *bot) (figures []figure, err error) {
	places := map[string]*botapi.Chat{"a private chat": b.api.Private(b.user), "a group": b.chats[0]}
	for _, c := range places {
		c.Send(b.user, fmt.Sprintf("tool %d make", b.lab.plan.longTurn.Milliseconds()))
	}
	for name, c := range places {
		done := func() bool {
			all := c.FromBot()
			return len(all) > 0 && all[len(all)-1].Text == "final: ran: make"
		}
		if err := b.await(ctx, "answer", done); err != nil {
			return nil, err
		}
		calls := slices.DeleteFunc(b.api.Calls(), func(call botapi.Call) bool { return call.Chat != c.ID() })
		figures = append(figures, figure{
			id: "calls." + name, name: "calls of the Bot API for a turn of " + b.lab.plan.longTurn.String() + " in " + name, value: float64(len(calls)),
		})
	}
	return figures, nil
}

// chatMemory reads the daemon's size after many messages of many chats: most of
// each chat's wait for its first one, and are answered together.
func chatMemory(ctx context.Context, b *bot) ([]figure, error) {
	time.Sleep(settle)
	before, _, err := sizeOf(b.daemon())
	if err != nil {
		return nil, err
	}
	const waves = 10
	gate := func(n int) string { return filepath.Join(b.dir, "gate-"+strconv.Itoa(n)) }
	for n := range waves {
		for _, c := range b.chats {
			c.Send(b.user, "wait "+gate(n))
		}
		for range b.lab.plan.chatMessages/len(b.chats)/waves - 1 {
			for _, c := range b.chats {
				c.Send(b.user, "echo and this")
			}
		}
		if err := b.await(ctx, "acknowledgement", func() bool { return len(b.api.Pending()) == 0 }); err != nil {
			return nil, err
		}
		if err := os.WriteFile(gate(n), nil, 0o600); err != nil {
			return nil, err
		}
		want := 2 * (n + 1) * len(b.chats)
		if err := b.await(ctx, "answer", func() bool { return b.answers() >= want }); err != nil {
			return nil, err
		}
	}
	time.Sleep(settle)
	after, _, err := sizeOf(b.daemon())
	of := fmt.Sprintf(" %d messages of %d Telegram chats", b.lab.plan.chatMessages, len(b.chats))
	return []figure{
		mib("chatmemory.before", "daemon RSS before"+of, before),
		mib("chatmemory.after", "daemon RSS after"+of, after),
	}, err
}

// answers counts the messages that the bot has sent and that are no status lines.
func (b *bot) answers() (n int) {
	for _, c := range b.chats {
		for _, m := range c.FromBot() {
			if len(m.Buttons) == 0 && m.Edits == 0 {
				n++
			}
		}
	}
	return n
}
