package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// startBot runs a daemon that serves n groups of one user. Only ours can be told
// where the Bot API is.
func (l *lab) startBot(ctx context.Context, t target, m mode, n int) (*bot, error) {
	if t.baseline || l.plan.chats == 0 {
		return nil, errCannotSee
	}
	api, err := botapi.NewServer(botapi.WithoutRates())
	if err != nil {
		return nil, err
	}
	b := &bot{api: api, user: api.User(1, "Bench", "", "bench")}
	for i := range n {
		b.chats = append(b.chats, api.Supergroup(-1000000-int64(i), "Bench", b.user))
	}
	t.settings = append(t.settings[:len(t.settings):len(t.settings)],
		"BARECLAW_TELEGRAM_TOKEN="+api.Token(), "BARECLAW_TELEGRAM_API="+api.URL(), "BARECLAW_ALLOWED_USERS=1")
	if b.server, err = l.start(ctx, t, m); err != nil {
		api.Close()
		return nil, err
	}
	return b, nil
}

func (b *bot) stop() error {
	err := b.server.stop()
	b.api.Close()
	return err
}

// await returns once the condition holds.
func (b *bot) await(ctx context.Context, what string, cond func() bool) error {
	for end := time.Now().Add(chatsWithin); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("no %s within %s", what, chatsWithin)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// chats measures, with many chats, the time from a message to the first sign of it
// and to its answer.
func chats(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	b, err := l.startBot(ctx, t, instant, l.plan.chats)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	for _, warm := range []bool{false, true} {
		sent, err := b.round(ctx)
		if err != nil {
			return nil, err
		}
		if !warm {
			continue // the first messages start the sessions
		}
		signs, answers := b.reactions(sent)
		figures = append(figures,
			figure{id: "chats.sign.p50", name: "message to first sign, median", unit: "ms", value: milliseconds(median(signs))},
			figure{id: "chats.sign.p99", name: "message to first sign, p99", unit: "ms", value: milliseconds(quantile(signs, 0.99))},
			figure{id: "chats.answer.p50", name: "message to answer, median", unit: "ms", value: milliseconds(median(answers))},
			figure{id: "chats.answer.p99", name: "message to answer, p99", unit: "ms", value: milliseconds(quantile(answers, 0.99))})
	}
	return named(figures, strconv.Itoa(l.plan.chats)+" Telegram chats, "), nil
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
func chatCalls(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	b, err := l.startBot(ctx, t, scripted, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	private := b.api.Private(b.user)
	for name, c := range map[string]*botapi.Chat{"a private chat": private, "a group": b.chats[0]} {
		c.Send(b.user, fmt.Sprintf("tool %d make", l.plan.longTurn.Milliseconds()))
		figures = append(figures, figure{
			id: "calls." + name, name: "calls of the Bot API for a turn of " + l.plan.longTurn.String() + " in " + name,
		})
	}
	done := func(c *botapi.Chat) bool {
		all := c.FromBot()
		return len(all) > 0 && all[len(all)-1].Text == "final: ran: make"
	}
	if err := b.await(ctx, "answer", func() bool { return done(private) && done(b.chats[0]) }); err != nil {
		return nil, err
	}
	counts := map[int64]int{}
	for _, c := range b.api.Calls() {
		counts[c.Chat]++
	}
	for i := range figures {
		chat := private.ID()
		if figures[i].id == "calls.a group" {
			chat = b.chats[0].ID()
		}
		figures[i].value = float64(counts[chat])
	}
	return figures, nil
}

// chatMemory reads the daemon's size after many messages of many chats: most of
// each chat's wait for its first one, and are answered together.
func chatMemory(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	b, err := l.startBot(ctx, t, scripted, l.plan.chats)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
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
		for range l.plan.chatMessages/len(b.chats)/waves - 1 {
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
	of := fmt.Sprintf(" %d messages of %d Telegram chats", l.plan.chatMessages, l.plan.chats)
	return []figure{
		{id: "chatmemory.before", name: "daemon RSS before" + of, unit: "MiB", value: mebibytes(before)},
		{id: "chatmemory.after", name: "daemon RSS after" + of, unit: "MiB", value: mebibytes(after)},
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

// named puts words before the names of figures.
func named(figures []figure, words string) []figure {
	for i := range figures {
		figures[i].name = words + figures[i].name
	}
	return figures
}
