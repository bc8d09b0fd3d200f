// Package records keeps what the Telegram adapter must know after a restart: a few bytes each, in
// the ledger, under keys that begin with the kind of record.
package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/core"
)

// The kinds of records, with the rest of the key.
const (
	kindLink     = "ref:"    // + chat:message id → Link
	kindSource   = "source:" // + message id of the core → message id of the chat
	kindSettings = "setting:"

	RecordChat     = "chat:"        // + chat id: title, and whether an allowed user has written in the chat
	RecordTopic    = "topic:"       // + channel key → Name
	RecordBot      = "bot"          // → Name, the user name of the bot
	RecordMoved    = "moved:"       // + chat id: the supergroup that replaced the chat
	RecordShown    = "shown:"       // + channel key:message id → status or unfinished text displayed by the message
	RecordAdopted  = "adopted:"     // + delivery id → message to be replaced by the delivery's first part
	RecordAnswers  = "answers:"     // + approval id → answers so far
	RecordReply    = "reply:"       // + source key → approval that the reply decides
	RecordEdit     = "edit:"        // + source key → edit that arrived too late
	RecordStop     = "stop:"        // + source key of the command → turn to stop
	RecordStopped  = "stopped:"     // + turn id → the same
	RecordRestart  = "restart:"     // + source key → chat that requested a restart
	RecordCooldown = "retry_after:" // + scope → end of the pause requested by Telegram

	retention = 30 * 24 * time.Hour
)

// A Store reads and writes the adapter's records. Its methods are safe for concurrent
// use.
type Store struct {
	ledger Ledger
	log    *slog.Logger
}

// A Ledger keeps records of adapters.
type Ledger interface {
	PutRecords(ctx context.Context, rs ...*core.Record) error
	Record(ctx context.Context, owner, key string) (core.Record, error)
	Records(ctx context.Context, owner, prefix string) ([]core.Record, error)
}

// New returns the records in a ledger.
func New(ledger Ledger, log *slog.Logger) *Store { return &Store{ledger: ledger, log: log} }

// An Entry is a record to be written. A nil Value deletes the record.
type Entry struct {
	Key   string
	Value any
}

// A Name is the record of a name.
type Name struct {
	Name string `json:"name"`
}

// Of returns the records of entries.
func Of(entries ...Entry) ([]*core.Record, error) {
	rs := make([]*core.Record, len(entries))
	for i, e := range entries {
		rs[i] = &core.Record{Owner: chats.Name, Key: e.Key}
		if e.Value == nil {
			continue
		}
		var err error
		if rs[i].Doc, err = json.Marshal(e.Value); err != nil {
			return nil, fmt.Errorf("telegram: encode record %s: %w", e.Key, err)
		}
	}
	return rs, nil
}

// Put writes a record.
func (s *Store) Put(ctx context.Context, key string, v any) error { return s.Write(ctx, Entry{key, v}) }

// Keep writes a record, even if ctx has ended, and logs a failure.
func (s *Store) Keep(ctx context.Context, what, key string, v any) {
	s.Warn(ctx, what+" is not recorded", s.Put(context.WithoutCancel(ctx), key, v), "key", key)
}

// Forget deletes a record, and logs a failure.
func (s *Store) Forget(ctx context.Context, what, key string) {
	s.Warn(ctx, what+" is kept", s.Write(ctx, Entry{Key: key}), "key", key)
}

// Write writes all of the entries, or none.
func (s *Store) Write(ctx context.Context, entries ...Entry) error {
	rs, err := Of(entries...)
	if err != nil {
		return err
	}
	return s.ledger.PutRecords(ctx, rs...)
}

// Get reads a record into v, and returns false without a record.
func (s *Store) Get(ctx context.Context, key string, v any) (bool, error) {
	r, err := s.ledger.Record(ctx, chats.Name, key)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Doc, v)
	}
	if err != nil {
		return false, fmt.Errorf("telegram: read record %s: %w", key, err)
	}
	return true, nil
}

// Each calls f with each readable record of a kind, and with the rest of the record's
// key.
func Each[T any](ctx context.Context, s *Store, kind string, f func(rest string, v T)) error {
	all, err := s.ledger.Records(ctx, chats.Name, kind)
	if err != nil {
		return fmt.Errorf("telegram: read the records %s: %w", kind, err)
	}
	for _, r := range all {
		var v T
		if err := json.Unmarshal(r.Doc, &v); err != nil {
			s.log.Warn("telegram: unreadable record ignored", "key", r.Key, "err", err)
			continue
		}
		f(strings.TrimPrefix(r.Key, kind), v)
	}
	return nil
}

// Warn logs a failure that loses no message, unless ctx has ended.
func (s *Store) Warn(ctx context.Context, text string, err error, args ...any) {
	if err != nil && ctx.Err() == nil {
		s.log.Warn("telegram: "+text, append(args, "err", err)...) //nolint:sloglint // text is a constant of the caller
	}
}

// Error logs a failure that users notice, such as a lost message, unless ctx has ended.
func (s *Store) Error(ctx context.Context, text string, err error, args ...any) {
	if err != nil && ctx.Err() == nil {
		s.log.Error("telegram: "+text, append(args, "err", err)...) //nolint:sloglint // text is a constant of the caller
	}
}

// A Link names the subject of a message of a chat.
type Link struct {
	Message  core.MessageID `json:"message,omitempty"`  // submitted as the message, or about the message
	Delivery string         `json:"delivery,omitempty"` // part of the delivery
	Caption  string         `json:"caption,omitempty"`  // text of one message of an album
	Part     bool           `json:"part,omitempty"`     // one of several messages submitted together
}

// LinkKey returns the key of the link of a message.
func LinkKey(chat int64, message int) string {
	return kindLink + strconv.FormatInt(chat, 10) + ":" + strconv.Itoa(message)
}

// LinkMessage records the subject of a message of a chat.
func (s *Store) LinkMessage(ctx context.Context, chat int64, message int, l Link) {
	s.Keep(ctx, "the turn of a message", LinkKey(chat, message), l)
}

// ValueOf returns the value of a record, or the zero value.
func ValueOf[T any](ctx context.Context, s *Store, key string) (v T) {
	_, err := s.Get(ctx, key, &v)
	s.Warn(ctx, "a record is not readable", err)
	return v
}

// LinkOf returns the subject of a message of a chat, or the zero Link.
func (s *Store) LinkOf(ctx context.Context, chat int64, message int) Link {
	return ValueOf[Link](ctx, s, LinkKey(chat, message))
}

// LinkSource links a message of a chat and the message's submission in the core, in both
// directions.
func (s *Store) LinkSource(ctx context.Context, chat int64, message int, id core.MessageID) {
	s.LinkMessage(ctx, chat, message, Link{Message: id})
	s.Keep(ctx, "the source of a message", kindSource+string(id), message)
}

// SourceOf returns the chat message behind a message of the core; 0 if unknown.
func (s *Store) SourceOf(ctx context.Context, id core.MessageID) int {
	return ValueOf[int](ctx, s, kindSource+string(id))
}

// chatSettings are the settings of a conversation kept by the adapter alone.
type chatSettings struct {
	Verbose *int `json:"verbose,omitempty"` // 0: answers, 1 (default): also what Claude does, 2: everything
}

// Verbosity returns how much is shown in a conversation while a turn runs: 0, 1 or 2.
func (s *Store) Verbosity(ctx context.Context, key core.ChannelKey) int {
	if v := ValueOf[chatSettings](ctx, s, kindSettings+string(key)).Verbose; v != nil {
		return min(max(*v, 0), 2)
	}
	return 1
}

// SetVerbosity sets how much is shown in a conversation.
func (s *Store) SetVerbosity(ctx context.Context, key core.ChannelKey, level int) error {
	return s.Put(ctx, kindSettings+string(key), chatSettings{&level})
}

// Expired returns the ranges of records old enough to be removed.
func Expired(now time.Time) []core.RecordRange {
	var old []core.RecordRange
	for _, kind := range []string{
		kindLink, kindSource, RecordAdopted, RecordEdit, RecordAnswers, RecordReply, RecordCooldown, RecordStop, RecordStopped,
	} {
		old = append(old, core.RecordRange{Owner: chats.Name, Prefix: kind, Before: now.Add(-retention)})
	}
	return old
}
