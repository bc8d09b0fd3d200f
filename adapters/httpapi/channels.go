package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/core"
)

const (
	defaultHistory = 50 // messages
	maxHistory     = 500
)

func (s *Server) getChannels(w *response, r *http.Request) error {
	all, err := s.core.Channels(r.Context())
	if err != nil {
		return err
	}
	shown := make([]channelShape, len(all))
	for i := range all {
		own, err := s.core.Settings(r.Context(), all[i].Key)
		if err != nil {
			return err
		}
		shown[i] = showChannel(&all[i], &own)
	}
	return show(w, struct {
		Channels []channelShape `json:"channels"`
	}{shown})
}

func (s *Server) getChannel(w *response, r *http.Request) error {
	key, err := s.pathKey(r)
	if err != nil {
		return err
	}
	st, err := s.core.Channel(r.Context(), key)
	if err != nil {
		return err
	}
	return s.showChannel(w, r, &st)
}

func (s *Server) showChannel(w *response, r *http.Request, st *core.ChannelStatus) error {
	own, err := s.core.Settings(r.Context(), st.Key)
	if err != nil {
		return err
	}
	return show(w, showChannel(st, &own))
}

func (s *Server) resetChannel(w *response, r *http.Request) error {
	key, err := s.pathKey(r)
	if err != nil {
		return err
	}
	if err := s.core.Reset(r.Context(), key); err != nil {
		return err
	}
	return show(w, struct {
		Status  string          `json:"status"`
		Channel core.ChannelKey `json:"channel"`
	}{"reset", key})
}

func (s *Server) interruptChannel(w *response, r *http.Request) error {
	key, err := s.pathKey(r)
	if err != nil {
		return err
	}
	asked, err := s.readInterrupt(w, r)
	if err != nil {
		return err
	}
	began := time.Now()
	done, err := s.core.Interrupt(r.Context(), key, asked.TurnID)
	switch {
	case errors.Is(err, core.ErrClosed):
		if done.Turn != "" { // the next process must not choose again: by then another turn may run
			asked = interruption{done.Turn, done.Messages, asked.TookMS + time.Since(began).Milliseconds()}
		}
		body, marshalErr := json.Marshal(asked)
		if marshalErr != nil {
			return marshalErr
		}
		w.again = func() []byte { return body }
		r.Header.Set("Content-Type", "application/json")
		return err
	case errors.Is(err, core.ErrNothingRuns) && w.repeated && len(asked.Messages) > 0:
		return show(w, asked) // the turn that the process before this one had chosen has ended
	case errors.Is(err, core.ErrNothingRuns):
		return refuse(http.StatusConflict, "nothing_runs", "No such turn is running on this channel, so there is nothing to interrupt.")
	case errors.Is(err, core.ErrUnwritten):
		return unwritten(err)
	case err != nil:
		return err
	}
	return show(w, interruption{done.Turn, done.Messages, asked.TookMS + done.Took.Milliseconds()})
}

// An interruption is the answer to an interrupt. As a request it names the turn, and, sent
// on by the process that chose the turn, has the rest too.
type interruption struct {
	TurnID   core.TurnID      `json:"turn_id"`
	Messages []core.MessageID `json:"messages"`
	TookMS   int64            `json:"took_ms"`
}

// unwritten says that a turn has ended whose outcome is not told yet.
func unwritten(err error) *problem {
	why := "cannot be written (see the gateway's log)"
	if errors.Is(err, core.ErrStorageFull) {
		why = "is on a full disk; free some space"
	}
	return refuse(http.StatusInsufficientStorage, "outcome_not_written",
		"The turn has ended, and its outcome is told when it can be written down: the state directory "+why+".")
}

// readInterrupt reads which turn is to be interrupted; an empty one means whichever runs.
// Only another process of the gateway says more than that.
func (s *Server) readInterrupt(w *response, r *http.Request) (in interruption, err error) {
	err = s.withOptionalBody(w, r, func(dec *jsontext.Decoder) error {
		if w.repeated {
			value, err := dec.ReadValue()
			if err == nil {
				err = json.Unmarshal(value, &in)
			}
			return err
		}
		return object(dec, func(name string) error {
			if name == "turn_id" {
				turn, err := str(dec, "invalid_body", `"turn_id"`)
				in.TurnID = core.TurnID(turn)
				return err
			}
			return skip(dec)
		})
	})
	return in, err
}

func (s *Server) channelMessages(w *response, r *http.Request) error {
	key, err := s.pathKey(r)
	if err != nil {
		return err
	}
	limit, err := limitParam(r)
	if err != nil {
		return err
	}
	before := core.MessageID(r.URL.Query().Get("before"))
	messages, err := s.core.Messages(r.Context(), key, limit, before)
	if err != nil {
		return err
	}
	backgrounds, err := s.core.Backgrounds(r.Context(), key, limit)
	if err != nil {
		return err
	}
	if len(messages)+len(backgrounds) == 0 {
		if err := s.mustKnow(r.Context(), key); err != nil {
			return err
		}
	}
	return s.showHistory(w, key, messages, backgrounds)
}

func (s *Server) mustKnow(ctx context.Context, key core.ChannelKey) error {
	_, err := s.core.Channel(ctx, key)
	return err
}

func (s *Server) showHistory(w *response, key core.ChannelKey, messages []core.Message, backgrounds []core.Background) error {
	history := struct {
		Channel    core.ChannelKey   `json:"channel"`
		Messages   []jsontext.Value  `json:"messages"`
		Background []backgroundShape `json:"background"`
	}{Channel: key}
	for i := range messages {
		history.Messages = append(history.Messages, appendMessage(nil, &messages[i], core.Place{}))
	}
	for i := range backgrounds {
		history.Background = append(history.Background, showBackground(&backgrounds[i]))
	}
	return show(w, history)
}

func limitParam(r *http.Request) (int, error) {
	q := r.URL.Query()
	if !q.Has("limit") {
		return defaultHistory, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > maxHistory {
		return 0, badRequest("bad_limit", "The parameter limit must be a number from 1 to %d.", maxHistory)
	}
	return n, nil
}
