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
)

const (
	defaultHistory = 50 // messages
	maxHistory     = 500
)

// channels shows channels with their history, settings and rules, changes settings, and
// interrupts and resets channels.
type channels struct{ *shared }

func (c *channels) routes() []route {
	on, open := c.names.onChannel, c.lifecycle.whileOpen
	return []route{
		{http.MethodGet, api.PathChannels, c.list},
		{http.MethodGet, "/channels/{key}", on(c.show)},
		{http.MethodPatch, "/channels/{key}", open(on(c.change))},
		{http.MethodDelete, "/channels/{key}", on(c.reset)},
		{http.MethodPost, "/channels/{key}/interrupt", on(c.interrupt)},
		{http.MethodGet, "/channels/{key}/messages", on(c.messages)},
		{http.MethodGet, "/channels/{key}/rules", on(c.rules)},
		{http.MethodDelete, "/channels/{key}/rules/{id}", open(on(c.removeRule))},
	}
}

func (c *channels) reset(w *response, r *http.Request, key core.ChannelKey) error {
	if err := c.core.Reset(r.Context(), key); err != nil {
		return err
	}
	return w.show(http.StatusOK, api.ChannelReset{Status: "reset", Channel: string(key)})
}

func (c *channels) interrupt(w *response, r *http.Request, key core.ChannelKey) error {
	// A predecessor that has chosen the turn also sends the rest of the reply.
	var asked api.Interruption
	if err := readOptionalBody(w, r, &asked); err != nil {
		return err
	}
	if !w.repeated {
		asked = api.Interruption{TurnID: asked.TurnID}
	}
	began := time.Now()
	done, err := c.core.Interrupt(r.Context(), key, core.TurnID(asked.TurnID))
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

func (c *channels) messages(w *response, r *http.Request, key core.ChannelKey) error {
	limit, err := limitParam(r)
	if err != nil {
		return err
	}
	before := core.MessageID(r.URL.Query().Get("before"))
	messages, err := c.core.Lookup.Messages(r.Context(), key, limit, before)
	if err != nil {
		return err
	}
	backgrounds, err := c.core.Lookup.Backgrounds(r.Context(), key, limit)
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

func (c *channels) list(w *response, r *http.Request) error {
	all, err := c.core.Directory.Channels(r.Context())
	if err != nil {
		return err
	}
	shown := api.Channels{Channels: make([]api.Channel, len(all))}
	for i := range all {
		own := c.core.ChannelSettings.Settings(all[i].Key)
		shown.Channels[i] = showChannel(&all[i], &own)
	}
	return w.show(http.StatusOK, &shown)
}

func (c *channels) show(w *response, r *http.Request, key core.ChannelKey) error {
	st, err := c.core.Directory.Channel(r.Context(), key)
	if err != nil {
		return err
	}
	own := c.core.ChannelSettings.Settings(st.Key)
	return w.show(http.StatusOK, showChannel(&st, &own))
}

// change sets the members of the request; an empty member resets the channel's setting.
// change is not served on the Unix socket: the agent's own commands reach the socket,
// and the agent must not change its own permissions.
func (c *channels) change(w *response, r *http.Request, key core.ChannelKey) error {
	if w.local {
		return refuse(http.StatusForbidden, api.NotOnSocket,
			"Settings are changed over TCP: this socket is open to the agent's own commands, and the agent must not change what it may do.")
	}
	var in api.ChannelChange
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	if in.Model == nil && in.PermissionMode == nil {
		return badRequest(api.BadSetting, `Send "model", "permission_mode" or both; an empty text takes the setting back.`)
	}
	if err := c.core.ChannelSettings.ChangeSettings(r.Context(), key, in.Model, in.PermissionMode); err != nil {
		return err
	}
	return c.show(w, r, key)
}

func (c *channels) rules(w *response, r *http.Request, key core.ChannelKey) error {
	own := c.core.ChannelSettings.Settings(key)
	if len(own.Rules) == 0 {
		if err := c.names.mustExist(r.Context(), key); err != nil {
			return err
		}
	}
	shown := api.Rules{Channel: string(key), Rules: make([]api.Rule, len(own.Rules))}
	for i := range own.Rules {
		shown.Rules[i] = showRule(&own.Rules[i])
	}
	return w.show(http.StatusOK, &shown)
}

// removeRule removes a rule. The agent may remove rules too, because a removal only adds
// requests for permission.
func (c *channels) removeRule(w *response, r *http.Request, key core.ChannelKey) error {
	return remove(w, r, func(ctx context.Context, id string) error { return c.core.ChannelSettings.RemoveRule(ctx, key, id) })
}
