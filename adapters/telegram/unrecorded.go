package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-telegram/bot/models"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/throttle"
	"bareclaw/core"
)

// unrecordedAfter is how long nothing can be recorded before people are told: a disk
// may be slow for a moment.
const unrecordedAfter = 3 * time.Second

// unrecordedText is what they are told.
const unrecordedText = "I cannot write anything down at present: the gateway's disk is full, or fails. Your message is not lost, " +
	"it waits at Telegram and is read as soon as I can; do not send it again."

// unrecorded is a time in which nothing can be recorded. Only the poller knows it.
type unrecorded struct {
	since time.Time // zero: all is recorded
	told  map[chats.Address]bool
}

// waits tells those who have written what cannot be recorded that it waits, once in each
// conversation until something is recorded again. What is told is on no record either: it
// may be lost, and be told again by the next process.
func (a *Adapter) waits(in []*core.Inbound) {
	u := &a.unrecorded
	if u.since.IsZero() {
		*u = unrecorded{since: time.Now(), told: map[chats.Address]bool{}}
	}
	if time.Since(u.since) < unrecordedAfter {
		return
	}
	for _, i := range in {
		m := messageOf(i.Body)
		if m == nil || u.told[chats.AddressOf(m)] {
			continue
		}
		u.told[chats.AddressOf(m)] = true
		a.tellUnrecorded(chats.AddressOf(m), m.ID)
	}
}

// recorded ends such a time.
func (a *Adapter) recorded() { a.unrecorded = unrecorded{} }

func (a *Adapter) tellUnrecorded(p chats.Address, message int) {
	parts := textParts(unrecordedText, nil, message)
	a.post(throttle.Job{
		Chat: p.Chat, Group: p.Group(), Lane: p.Thread, Class: throttle.Progress, Key: fmt.Sprint("unrecorded ", p.Thread),
		Do: func(ctx context.Context, _ throttle.Try) error {
			return a.call(ctx, func(ctx context.Context) error {
				_, err := parts[0].send(ctx, a.client, p)
				return err
			})
		},
	})
}

// messageOf returns the message that an update is, nil if it is something else.
func messageOf(update json.RawMessage) *models.Message {
	var u models.Update
	if json.Unmarshal(update, &u) != nil {
		return nil
	}
	if u.Message == nil || u.Message.From == nil {
		return nil
	}
	return u.Message
}
