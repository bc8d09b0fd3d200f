package chat

import (
	"context"
	"errors"
	"net/http"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/internal/term"
	"bareclaw/internal/wait"
)

const (
	// againAfter is the pause before a request is repeated.
	againAfter = 100 * time.Millisecond
	// sendPatience bounds the attempts to send a message. A restart takes less time.
	sendPatience = 30 * time.Second
	// askPatience bounds every other request.
	askPatience = 10 * time.Second
)

// A gateway sends the chat's requests to the real gateway. Its methods block.
type gateway struct {
	*client.Client
	decider       *client.Client // may decide approvals and change settings
	channel, user string         // the user is the speaker's name, for claude; may be empty
}

func (g *gateway) path(rest string) string { return api.ChannelPath(g.channel) + rest }

// An arrival is the state of the channel when the chat begins.
type arrival struct {
	status   core.ChannelStatus
	last     []api.Message // newest first
	problems []string
}

func (a *arrival) open() (ids []core.MessageID) {
	for i := range a.last {
		if !a.last[i].Final() {
			ids = append(ids, core.MessageID(a.last[i].ID))
		}
	}
	return ids
}

func (g *gateway) arrive(ctx context.Context) (arrival, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	var health api.Health
	if err := g.Do(ctx, http.MethodGet, api.PathHealth, nil, &health); err != nil {
		return arrival{}, err
	}
	a := arrival{problems: health.Problems}
	var channel api.Channel
	var list api.History
	err := g.Do(ctx, http.MethodGet, g.path(""), nil, &channel)
	if err == nil {
		err = g.Do(ctx, http.MethodGet, g.path("/messages?limit=100"), nil, &list)
	}
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusNotFound {
		return a, nil // a new channel
	}
	a.last = list.Messages
	a.status = core.ChannelStatus{
		State:   channel.State,
		Since:   channel.Since,
		Turn:    core.TurnID(channel.TurnID),
		Waiting: channel.Waiting,
		Why:     channel.Why,
	}
	return a, err
}

// watch passes the updates of the channel to send until ctx ends, from the given turn on.
// watch reconnects by itself and misses no update over a restart.
func (g *gateway) watch(ctx context.Context, turn core.TurnID, send func(tea.Msg)) {
	updates := client.Updates{Turn: turn}
	lastID := ""
	pauses := client.NewBackoff()
	for ctx.Err() == nil {
		opened := func() {
			pauses.Reset()
			send(lost(false))
		}
		header := http.Header{api.HeaderLastEventID: {lastID}} // an empty id is none
		_ = g.Stream(ctx, http.MethodGet, g.path("/events"), header, nil, opened, func(e client.Event) error {
			if e.ID != "" {
				lastID = e.ID
			}
			switch u, ok, err := updates.Take(e); {
			case err != nil:
				send(core.Update{Kind: "unknown", Detail: "An event of the gateway could not be understood: " + term.SafeLine(e.Kind)})
			case ok:
				send(u)
			case e.Kind == api.EventRestarting || e.Kind == api.EventShutdown:
				send(lost(true))
			}
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		send(lost(true))
		_ = pauses.Sleep(ctx) // the loop notices the end of ctx
	}
}

// A lost tells whether the stream is broken, or about to be.
type lost bool

// look reads the state of the channel, the pending approvals, and the outcomes of messages.
// Failed requests leave their facts out: the stream reports that the gateway is away.
func (g *gateway) look(ctx context.Context, ids []core.MessageID) found {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	f := found{at: time.Now()}
	var channel api.Channel
	if err := g.Do(ctx, http.MethodGet, g.path(""), nil, &channel); err == nil {
		f.state = channel.State
	}
	var list api.Approvals
	f.sure = g.Do(ctx, http.MethodGet, api.PathApprovals, nil, &list) == nil
	for _, a := range list.Approvals {
		if a.Channel == g.channel && a.State == "pending" {
			f.pending = append(f.pending, *client.Approval(&a))
		}
	}
	for _, id := range ids {
		var m api.Message
		if err := g.Do(ctx, http.MethodGet, api.MessagePath(string(id)), nil, &m); err == nil && m.Final() {
			f.over = append(f.over, m)
		}
	}
	return f
}

// A found is the state of the channel, its approvals and some messages.
type found struct {
	at      time.Time
	state   string // of the channel; empty: unknown
	over    []api.Message
	pending []core.Approval
	sure    bool // pending is complete

	turn  core.TurnID // that ran before the requests
	known []string    // ids of the approvals pending before the requests
	again string      // id of the approval with a refused answer; empty without a refusal
}

// say sends a text, repeatedly while the gateway restarts. All attempts have the same key,
// to make the text a single message.
func (g *gateway) say(ctx context.Context, text string) tea.Msg {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	in := api.MessageRequest{Channel: g.channel, Text: text, CanAsk: true, Context: api.Origin{User: g.user}}
	header := http.Header{"Prefer": {"respond-async"}, api.HeaderIdempotencyKey: {uuid.NewString()}}
	said := said{text: text}
	_ = wait.Poll(ctx, againAfter, func() (bool, error) { // the last attempt has the error
		said.err = g.DoWith(ctx, http.MethodPost, api.PathMessage, header, in, &said.message)
		_, refused := errors.AsType[*client.Error](said.err)
		return said.err == nil || refused, nil
	})
	return said
}

// A said is the result of say.
type said struct {
	text    string
	message api.Accepted
	err     error
}

// interrupt ends the turn, and never a later turn.
func (g *gateway) interrupt(ctx context.Context, turn core.TurnID) tea.Msg {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	err := g.Do(ctx, http.MethodPost, g.path("/interrupt"), api.InterruptRequest{TurnID: string(turn)}, nil)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == api.NothingRuns {
		err = nil // the turn has already ended
	}
	return done{err: err}
}

func (g *gateway) decide(ctx context.Context, id string, answer any) tea.Msg {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	return done{id, g.decider.Do(ctx, http.MethodPost, api.ApprovalPath(id), answer, nil)}
}

// A done is the result of a request with only an error to show.
type done struct {
	approval string // id of the decided approval; empty if the request was no decision
	err      error
}
