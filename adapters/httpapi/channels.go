package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/settings"
	"bareclaw/internal/humanize"
)

const (
	defaultHistory = 50 // messages
	maxHistory     = 500
)

// channels shows channels with their history, settings and rules, changes settings, and
// interrupts and resets channels.
type channels struct{ *shared }

func (c *channels) reset(w *response, r *http.Request, key core.ChannelKey) (any, error) {
	if err := c.checkReach(w, key); err != nil {
		return nil, err
	}
	return api.ChannelReset{Status: "reset", Channel: string(key)}, c.Core.Lanes.Reset(r.Context(), key)
}

// remove removes a channel with its history, its settings and its schedules. A channel with open
// messages stays as it is.
func (c *channels) remove(w *response, r *http.Request, key core.ChannelKey) (any, error) {
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
		return nil, err
	}
	shown := api.ChannelRemoved{Status: "removed", Channel: string(key)}
	gone, err := c.Core.Lanes.Remove(r.Context(), key)
	switch {
	case errors.Is(err, core.ErrBusy):
		return nil, refuse(http.StatusConflict, api.ChannelBusy,
			"This channel has messages that wait or run. Let them end, or cancel them with DELETE /channels/{key}, and remove it then.")
	case errors.Is(err, core.ErrNotFound) && w.repeated: // the repeated request itself removed the channel
	case err != nil:
		return nil, err
	}
	shown.Messages, shown.Kept = gone.Messages, gone.Kept
	shown.Schedules, err = c.Schedules.RemoveOf(r.Context(), key)
	return shown, err
}

func (c *channels) interrupt(w *response, r *http.Request, key core.ChannelKey) (any, error) {
	if err := c.checkReach(w, key); err != nil {
		return nil, err
	}
	// A predecessor that has chosen the turn also sends the rest of the reply.
	var asked api.Interruption
	if err := readOptionalBody(w, r, &asked); err != nil {
		return nil, err
	}
	if !w.repeated {
		asked = api.Interruption{TurnID: asked.TurnID}
	}
	began := time.Now()
	done, err := c.Core.Lanes.Interrupt(r.Context(), key, core.TurnID(asked.TurnID))
	switch {
	case errors.Is(err, core.ErrClosed):
		if done.Turn != "" { // the next process must not choose again: by then another turn may run
			asked = api.Interruption{
				TurnID:   string(done.Turn),
				Messages: idStrings(done.Messages),
				TookMS:   asked.TookMS + time.Since(began).Milliseconds(),
			}
		}
		w.resend = func() []byte {
			body, _ := marshal(asked) // is always encoded
			return body
		}
		r.Header.Set("Content-Type", "application/json")
		return nil, err
	case errors.Is(err, core.ErrNothingRuns) && w.repeated && len(asked.Messages) > 0:
		return asked, nil // the turn chosen by the predecessor has ended
	case errors.Is(err, core.ErrNothingRuns):
		return nil, refuse(http.StatusConflict, api.NothingRuns, "No such turn is running on this channel, so there is nothing to interrupt.")
	case errors.Is(err, core.ErrUnwritten):
		return nil, outcomeNotWritten(err)
	}
	return api.Interruption{TurnID: string(done.Turn), Messages: idStrings(done.Messages), TookMS: asked.TookMS + done.Took.Milliseconds()}, err
}

func outcomeNotWritten(err error) *problem {
	why := "cannot be written (see the gateway's log)"
	if errors.Is(err, core.ErrStorageFull) {
		why = "is on a full disk; free some space"
	}
	return refuse(http.StatusInsufficientStorage, api.OutcomeNotWritten,
		"The turn has ended, and its outcome follows when it can be written: the state directory "+why+".")
}

func (c *channels) messages(_ *response, r *http.Request, key core.ChannelKey) (any, error) {
	limit, err := limitParam(r)
	if err != nil {
		return nil, err
	}
	before := core.MessageID(r.URL.Query().Get("before"))
	messages, err := c.Core.History.Messages(r.Context(), key, limit, before)
	if err != nil {
		return nil, err
	}
	backgrounds, err := c.Core.History.Backgrounds(r.Context(), key, limit)
	if err == nil && len(messages)+len(backgrounds) == 0 {
		err = c.mustExist(r.Context(), key)
	}
	show := func(m *core.Message) api.Message { return *showMessage(m, core.QueuePosition{}, shortPrompt) }
	return api.History{Channel: string(key), Messages: each(messages, show), Background: each(backgrounds, showBackground)}, err
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

func (c *channels) list(_ *response, r *http.Request) (any, error) {
	all, err := c.Core.Channels.Channels(r.Context())
	return api.Channels{Channels: each(all, c.shape)}, err
}

func (c *channels) show(_ *response, r *http.Request, key core.ChannelKey) (any, error) {
	st, err := c.Core.Channels.Channel(r.Context(), key)
	if err != nil {
		return nil, err
	}
	shown := c.shape(&st)
	if r.URL.Query().Get("usage") != "true" { // it reads all messages of the channel
		return shown, nil
	}
	used, err := c.Core.Channels.Usage(r.Context(), key)
	shown.Usage = &api.Usage{
		Turns:         used.Turns,
		TurnsToday:    used.TurnsToday,
		SpentUSD:      humanize.RoundUSD(used.Spent),
		SpentTodayUSD: humanize.RoundUSD(used.SpentToday),
	}
	return shown, err
}

func (c *channels) shape(st *core.ChannelStatus) api.Channel {
	own := c.Core.Settings.Settings(st.Key)
	return api.Channel{
		Channel:        string(st.Key),
		State:          st.State,
		SessionID:      st.SessionID,
		HostPID:        st.HostPID,
		AgentPID:       st.AgentPID,
		AgentVersion:   st.Version,
		Since:          st.Since,
		Why:            st.Why,
		Until:          st.Until,
		Waiting:        st.Waiting,
		Running:        st.Running,
		TurnID:         string(st.Turn),
		Activity:       st.Activity,
		Background:     st.Background,
		Messages:       st.Messages,
		Approvals:      st.Approvals,
		LastAt:         st.LastAt,
		Model:          own.Model,
		PermissionMode: own.PermissionMode,
		Tools:          own.Tools,
		Rules:          len(own.Rules),
	}
}

// change sets the members of the request; an empty member resets the channel's setting.
func (c *channels) change(w *response, r *http.Request, key core.ChannelKey) (any, error) {
	var in api.ChannelChange
	if err := readBody(w, r, &in); err != nil {
		return nil, err
	}
	choice := settings.Choice{Model: in.Model, PermissionMode: in.PermissionMode, Tools: in.Tools}
	if choice == (settings.Choice{}) {
		return nil, badRequest(api.BadSetting, `Send "model", "permission_mode" or "tools"; an empty text takes the setting back.`)
	}
	if err := c.Core.Settings.ChangeSettings(r.Context(), key, choice); err != nil {
		return nil, err
	}
	return c.show(w, r, key)
}

func (c *channels) rules(_ *response, r *http.Request, key core.ChannelKey) (shown any, err error) {
	own := c.Core.Settings.Settings(key)
	if len(own.Rules) == 0 {
		err = c.mustExist(r.Context(), key)
	}
	return api.Rules{Channel: string(key), Rules: each(own.Rules, showRule)}, err
}

// removeRule removes a rule. The agent may remove rules too, because a removal only adds
// requests for permission.
func (c *channels) removeRule(w *response, r *http.Request, key core.ChannelKey) (any, error) {
	return remove(w, r, pathParam(r, "id"), func(ctx context.Context, id string) error { return c.Core.Settings.RemoveRule(ctx, key, id) })
}

const (
	adapterName     = "http"
	maxChannelBytes = 256
)

// parseKey checks the form of every channel's name. Names are opaque, but prompts, logs
// and terminals show names: control characters are not allowed.
func parseKey(name string) (core.ChannelKey, error) {
	if name == "" || len(name) > maxChannelBytes || !utf8.ValidString(name) ||
		strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl) {
		return "", badRequest(api.BadChannel,
			"A channel is 1 to %d bytes of UTF-8 without control characters and without spaces at its ends.", maxChannelBytes)
	}
	return core.ChannelKey(name), nil
}

// channelKey is parseKey for the name of a new channel. People must be able to
// distinguish the name from other names, and a path must be able to contain the name.
func channelKey(name string) (core.ChannelKey, error) {
	key, err := parseKey(name)
	if err != nil {
		return "", err
	}
	if key == "." || key == ".." {
		return "", badRequest(api.BadChannel, `A channel cannot be called "." or "..": clients remove these from the path of a request.`)
	}
	if c, found := firstUnseen(name); found {
		return "", badRequest(api.BadChannel,
			"The name of a channel cannot contain %U there, which shows nothing or looks like another character.", c)
	}
	return key, nil
}

// firstUnseen returns the first character of a name that is invisible or looks like
// another character.
func firstUnseen(name string) (c rune, found bool) {
	const brailleBlank = '\u2800'
	last := rune(-1)
	for _, c := range name {
		switch {
		case c == '\ufe0e' || c == '\ufe0f': // a symbol as text or in colour, as sent by keyboards
			if last < 0 || unicode.IsLetter(last) || unicode.IsSpace(last) {
				return c, true
			}
		case unicode.IsMark(c) && (last < 0 || unicode.IsSpace(last)), // of no letter
			!unicode.IsPrint(c), // IsPrint accepts only the common space, and no format characters
			unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector),
			c == brailleBlank:
			return c, true
		}
		last = c
	}
	return 0, false
}

// checkChannel refuses an invalid key for a new channel, unless a channel with the key exists.
// Channels accepted by earlier programs remain usable until deleted.
func (s *shared) checkChannel(ctx context.Context, key core.ChannelKey) error {
	_, refusal := channelKey(string(key))
	if refusal == nil {
		return nil
	}
	err := s.mustExist(ctx, key)
	if errors.Is(err, core.ErrNotFound) {
		return refusal
	}
	return err
}

func (s *shared) mustExist(ctx context.Context, key core.ChannelKey) error {
	_, err := s.Core.Channels.Channel(ctx, key)
	return err
}

// onChannel returns a handler that is called with the channel in the request's path. The
// router matches the encoded path if the decoded path differs, for example with %2F.
func (s *shared) onChannel(h func(w *response, r *http.Request, key core.ChannelKey) (any, error)) handlerFunc {
	return func(w *response, r *http.Request) (any, error) {
		name := pathParam(r, "key")
		if r.URL.RawPath != "" {
			var err error
			if name, err = url.PathUnescape(name); err != nil {
				return nil, badRequest(api.BadChannel, "The channel in the path is not properly percent-encoded.")
			}
		}
		key, err := parseKey(name)
		if err == nil {
			err = s.checkChannel(r.Context(), key)
		}
		if err != nil {
			return nil, err
		}
		return h(w, r, key)
	}
}
