package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/lanes"
)

const (
	defaultHistory = 50 // messages
	maxHistory     = 500
)

// channelControl ends turns and sessions.
type channelControl interface {
	Interrupt(ctx context.Context, key core.ChannelKey, turn core.TurnID) (lanes.Interruption, error)
	Reset(ctx context.Context, key core.ChannelKey) error
}

// A historyReader reads the messages of a channel.
type historyReader interface {
	Messages(ctx context.Context, key core.ChannelKey, limit int, before core.MessageID) ([]core.Message, error)
	Backgrounds(ctx context.Context, key core.ChannelKey, limit int) ([]core.Background, error)
}

// channels interrupts and resets channels, and shows their history.
type channels struct {
	control channelControl
	history historyReader
	names   channelNames
}

func (c *channels) routes() []route {
	return []route{
		{http.MethodDelete, "/channels/{key}", c.reset},
		{http.MethodPost, "/channels/{key}/interrupt", c.interrupt},
		{http.MethodGet, "/channels/{key}/messages", c.messages},
	}
}

func (c *channels) reset(w *response, r *http.Request) error {
	key, err := c.names.fromPath(r)
	if err != nil {
		return err
	}
	if err := c.control.Reset(r.Context(), key); err != nil {
		return err
	}
	return w.show(http.StatusOK, api.ChannelReset{Status: "reset", Channel: string(key)})
}

func (c *channels) interrupt(w *response, r *http.Request) error {
	key, err := c.names.fromPath(r)
	if err != nil {
		return err
	}
	// A predecessor that has chosen the turn also sends the rest of the reply.
	var asked api.Interruption
	if err := readOptionalBody(w, r, &asked); err != nil {
		return err
	}
	if !w.repeated {
		asked = api.Interruption{TurnID: asked.TurnID}
	}
	began := time.Now()
	done, err := c.control.Interrupt(r.Context(), key, core.TurnID(asked.TurnID))
	switch {
	case errors.Is(err, core.ErrClosed):
		if done.Turn != "" { // the next process must not choose again: by then another turn may run
			asked = api.Interruption{
				TurnID: string(done.Turn), Messages: idStrings(done.Messages), TookMS: asked.TookMS + time.Since(began).Milliseconds(),
			}
		}
		body, marshalErr := marshal(asked)
		if marshalErr != nil {
			return fmt.Errorf("encode an interruption: %w", marshalErr)
		}
		w.resend = func() []byte { return body }
		r.Header.Set("Content-Type", "application/json")
		return err
	case errors.Is(err, core.ErrNothingRuns) && w.repeated && len(asked.Messages) > 0:
		return w.show(http.StatusOK, asked) // the turn chosen by the predecessor has ended
	case errors.Is(err, core.ErrNothingRuns):
		return refuse(http.StatusConflict, api.NothingRuns, "No such turn is running on this channel, so there is nothing to interrupt.")
	case errors.Is(err, core.ErrUnwritten):
		return outcomeNotWritten(err)
	case err != nil:
		return err
	}
	return w.show(http.StatusOK, api.Interruption{TurnID: string(done.Turn), Messages: idStrings(done.Messages), TookMS: asked.TookMS + done.Took.Milliseconds()})
}

// outcomeNotWritten answers that a turn has ended without a recorded outcome.
func outcomeNotWritten(err error) *problem {
	why := "cannot be written (see the gateway's log)"
	if errors.Is(err, core.ErrStorageFull) {
		why = "is on a full disk; free some space"
	}
	return refuse(http.StatusInsufficientStorage, api.OutcomeNotWritten,
		"The turn has ended, and its outcome follows when it can be written: the state directory "+why+".")
}

func (c *channels) messages(w *response, r *http.Request) error {
	key, err := c.names.fromPath(r)
	if err != nil {
		return err
	}
	limit, err := limitParam(r)
	if err != nil {
		return err
	}
	before := core.MessageID(r.URL.Query().Get("before"))
	messages, err := c.history.Messages(r.Context(), key, limit, before)
	if err != nil {
		return err
	}
	backgrounds, err := c.history.Backgrounds(r.Context(), key, limit)
	if err != nil {
		return err
	}
	if len(messages)+len(backgrounds) == 0 {
		if err := c.names.mustExist(r.Context(), key); err != nil {
			return err
		}
	}
	shown := api.History{Channel: string(key), Messages: make([]api.Message, len(messages))}
	for i := range messages {
		shown.Messages[i] = *showMessage(&messages[i], core.QueuePosition{}, shortPrompt)
	}
	for i := range backgrounds {
		shown.Background = append(shown.Background, showBackground(&backgrounds[i]))
	}
	return w.show(http.StatusOK, &shown)
}

func limitParam(r *http.Request) (int, error) {
	q := r.URL.Query()
	if !q.Has("limit") {
		return defaultHistory, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > maxHistory {
		return 0, badRequest(api.BadLimit, "The parameter limit must be a number from 1 to %d.", maxHistory)
	}
	return n, nil
}
