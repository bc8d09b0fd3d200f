package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"bareclaw/core"
)

// The adapter's records: a few bytes each, under keys that begin with what they are.
const (
	recordRef     = "ref:"     // + chat:message id → ref
	recordSource  = "source:"  // + message id of the core → message id of the chat
	recordStatus  = "status:"  // + channel key → message id of the status line in the chat
	recordStream  = "stream:"  // + channel key → streamRecord
	recordLeft    = "left:"    // + chat:message id → leftRecord
	recordAdopted = "adopted:" // + delivery id → message id of the chat
	recordChat    = "chat:"    // + chat id → chatRecord
	recordTopic   = "topic:"   // + channel key → topicRecord
	recordSetting = "setting:" // + channel key → settings
)

// refKept is how long it is known what a message of a chat was about.
const refKept = 30 * 24 * time.Hour

// A ref says what a message of a chat is about.
type ref struct {
	Message  core.MessageID `json:"message,omitempty"`  // it was submitted as this, or is about it
	Delivery string         `json:"delivery,omitempty"` // it is a part of this
	Caption  string         `json:"caption,omitempty"`  // what it said, as one of several
	Part     bool           `json:"part,omitempty"`     // it is one of several that are one message
}

// A chatRecord is what is known of a chat.
type chatRecord struct {
	Title string `json:"title,omitempty"`
	Spoke bool   `json:"spoke,omitempty"` // somebody who is listened to has spoken there
}

// A topicRecord is what is known of a topic.
type topicRecord struct {
	Name string `json:"name"`
}

// Settings are what was chosen for a conversation.
type settings struct {
	Verbose *int `json:"verbose,omitempty"` // 0 answers only, 1 (default) what it does, 2 everything
}

func chatKey(chat int64) string { return recordChat + strconv.FormatInt(chat, 10) }

func refKey(chat int64, message int) string {
	return recordRef + strconv.FormatInt(chat, 10) + ":" + strconv.Itoa(message)
}

// keep writes a record.
func (a *Adapter) keep(ctx context.Context, key string, v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("telegram: keep %s: %w", key, err)
	}
	return a.o.Core.Keep(ctx, &core.Record{Owner: Name, Key: key, Doc: doc})
}

// recall reads a record into v; false if there is none.
func (a *Adapter) recall(ctx context.Context, key string, v any) (bool, error) {
	r, err := a.o.Core.Record(ctx, Name, key)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Doc, v)
	}
	if err != nil {
		return false, fmt.Errorf("telegram: recall %s: %w", key, err)
	}
	return true, nil
}

// refer remembers what a message of a chat is about.
func (a *Adapter) refer(ctx context.Context, chat int64, message int, r ref) {
	if err := a.keep(ctx, refKey(chat, message), r); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: not remembered what a message is about", "err", err)
	}
}

// submitted remembers which message of a chat a message was, and the other way
// round.
func (a *Adapter) submitted(ctx context.Context, chat int64, message int, id core.MessageID) {
	a.refer(ctx, chat, message, ref{Message: id})
	if err := a.keep(ctx, recordSource+string(id), message); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: not remembered where a message came from", "err", err)
	}
}

// sourceOf returns which message of its chat a message was; 0 if that is not known.
func (a *Adapter) sourceOf(ctx context.Context, id core.MessageID) int {
	var message int
	if _, err := a.recall(ctx, recordSource+string(id), &message); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: not known where a message came from", "err", err)
	}
	return message
}

// refOf returns what a message of a chat is about; the zero ref if that is not known.
func (a *Adapter) refOf(ctx context.Context, chat int64, message int) ref {
	var r ref
	if _, err := a.recall(ctx, refKey(chat, message), &r); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: not known what a message is about", "err", err)
	}
	return r
}

// settingsOf returns what was chosen for a conversation.
func (a *Adapter) settingsOf(ctx context.Context, key core.ChannelKey) settings {
	var s settings
	if _, err := a.recall(ctx, recordSetting+string(key), &s); err != nil && ctx.Err() == nil {
		a.o.Log.Warn("telegram: settings not known", "channel", string(key), "err", err)
	}
	return s
}

// verbosity returns how much is shown of what happens: 0, 1 or 2.
func (s settings) verbosity() int {
	if s.Verbose == nil {
		return 1
	}
	return min(max(*s.Verbose, 0), 2)
}
