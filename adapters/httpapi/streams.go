package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/feed"
)

// streams serves updates as server-sent events.
type streams struct{ *shared }

func (s *streams) routes() []route {
	return []route{
		{http.MethodGet, "/messages/{id}/events", s.message},
		{http.MethodGet, "/channels/{key}/events", s.names.onChannel(s.channel)},
	}
}

// subscribe subscribes to the channel from now on, or from the end of the client's last
// stream.
func (s *streams) subscribe(r *http.Request, key core.ChannelKey) *feed.Subscription {
	if after := r.Header.Get(api.HeaderLastEventID); after != "" {
		return s.core.Feeds.Resume(key, after)
	}
	return s.core.Feeds.Subscribe(key)
}

// submit is POST /message as a stream: the updates of the message and of the message's
// turn, and at last the outcome.
func (s *streams) submit(w *response, r *http.Request, sub core.Submission) (any, error) {
	updates := s.subscribe(r, sub.Channel) // before the message is accepted, to miss no update
	defer updates.Close()
	t, err := s.core.Submit(r.Context(), sub)
	if err != nil {
		return nil, err
	}
	noteReplay(w, t)
	st := openStream(w, updates.From())
	if t.Existing {
		begin(st, updates, sub.Channel)
	}
	st.sendShape(api.EventAccepted, showAccepted(&t.Message, core.QueuePosition{}, shortPrompt))
	v := &messageStream{stream: st, id: t.Message.ID, turn: t.Message.Turn}
	if t.Existing {
		s.sendPlace(r, v, updates, &t.Message)
	}
	s.untilOutcome(r.Context(), v, updates, t)
	return nil, nil
}

// message is GET /messages/{id}/events: the same stream for an already accepted message.
func (s *streams) message(w *response, r *http.Request) (any, error) {
	m, err := s.core.Lookup.Message(r.Context(), pathMessage(r))
	if err != nil {
		return nil, err
	}
	updates := s.subscribe(r, m.Channel)
	defer updates.Close()
	t, err := s.core.Lookup.Ticket(r.Context(), m.ID)
	if err != nil {
		return nil, err
	}
	m = s.current(r.Context(), m) // the message may have begun before the subscription
	v := &messageStream{stream: openStream(w, updates.From()), id: m.ID, turn: m.Turn}
	if r.Method == http.MethodHead {
		return nil, nil
	}
	begin(v.stream, updates, m.Channel)
	s.sendPlace(r, v, updates, &m)
	s.untilOutcome(r.Context(), v, updates, t)
	return nil, nil
}

// sendPlace sends the message's position in the queue. A client resuming without a gap
// gets the position from the updates.
func (s *streams) sendPlace(r *http.Request, v *messageStream, updates *feed.Subscription, m *core.Message) {
	if updates.Gap() || r.Header.Get(api.HeaderLastEventID) == "" {
		v.queued(s.place(m))
	}
}

// untilOutcome sends the updates of a message until its outcome.
func (s *streams) untilOutcome(ctx context.Context, v *messageStream, updates *feed.Subscription, t *core.Ticket) {
	s.follow(ctx, v.stream, updates, t.Done(), v.send)
	over := isClosed(t.Done()) // also when the server drains: the outcome is the better end
	sendAll(v.stream, updates, v.send)
	if over {
		m := t.Outcome()
		s.completeCoalesced(ctx, &m)
		v.stream.sendShape(api.EventResult, showMessage(&m, core.QueuePosition{}, shortPrompt))
		if v.stream.flush(); v.stream.err == nil {
			s.deliveries.note(&m)
		}
	} else if s.lifecycle.draining() {
		s.sendEnding(v.stream, messagePath(v.id), messagePath(v.id)+"/events")
	}
	v.stream.flush()
}

// channel is GET /channels/{key}/events: all updates of the channel. The channel need
// not exist yet.
func (s *streams) channel(w *response, r *http.Request, key core.ChannelKey) (any, error) {
	updates := s.subscribe(r, key)
	defer updates.Close()
	st := openStream(w, updates.From())
	if r.Method == http.MethodHead {
		return nil, nil
	}
	begin(st, updates, key)
	send := func(u core.Update) { sendUpdate(st, &u) }
	s.follow(r.Context(), st, updates, nil, send)
	if s.lifecycle.draining() {
		sendAll(st, updates, send)
		s.sendEnding(st, "", api.ChannelPath(string(key))+"/events")
		st.flush()
	}
	return nil, nil
}

// begin sends the id at which the stream begins, to let the client resume before the
// first event. If updates may be missing, begin sends a notice.
func begin(st *stream, updates *feed.Subscription, key core.ChannelKey) {
	if !updates.Gap() {
		st.comment("connected")
		return
	}
	st.sendShape(api.EventNotice, api.Notice{Code: api.NoticeGap, Text: "Some events may be missing here, or come a second time, because it is not known which events " +
		"followed the last one. The messages and their outcomes are at GET " + api.ChannelPath(string(key)) + "/messages."})
}

// follow sends updates on arrival until done is closed, the server drains, or the client
// disconnects.
func (s *streams) follow(ctx context.Context, st *stream, updates *feed.Subscription, done <-chan struct{}, send func(core.Update)) {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for st.err == nil {
		sendAll(st, updates, send)
		st.flush()
		select {
		case <-updates.C():
		case <-alive.C:
			st.comment("keep-alive")
		case <-done:
			return
		case <-s.lifecycle.done():
			return
		case <-ctx.Done():
			return
		}
	}
}

func sendAll(st *stream, updates *feed.Subscription, send func(core.Update)) {
	for st.err == nil {
		u, ok := updates.Next()
		if !ok {
			return
		}
		if !u.ID.IsZero() { // else the update is about this stream
			st.at = u.ID
		}
		send(u)
	}
}

// sendEnding ends a stream: with the path of the message, if any, and the path where the
// events continue.
func (s *streams) sendEnding(st *stream, message, events string) {
	text := "The gateway shuts down; turns in progress continue."
	if s.lifecycle.reason == Restarting {
		text = "The gateway restarts; turns in progress continue. Connect again in a moment: with Last-Event-ID nothing is missed."
	}
	st.sendShape(string(s.lifecycle.reason), api.Ending{Text: text, Location: message, Events: events})
}

// A messageStream sends the updates of a message and of the message's turn.
type messageStream struct {
	stream   *stream
	id       core.MessageID
	turn     core.TurnID
	position int
}

func (v *messageStream) send(u core.Update) {
	if !v.concerns(&u) {
		return
	}
	switch u.Kind {
	case core.UpdateAccepted, core.UpdateResult: // sent from the ticket
	case core.UpdateQueued:
		v.queued(core.QueuePosition{Position: u.Position, Why: u.Detail})
	default:
		sendUpdate(v.stream, &u)
	}
}

func (v *messageStream) queued(at core.QueuePosition) {
	if at.Position > 0 && at.Position != v.position {
		v.position = at.Position
		v.stream.sendShape(api.EventQueued, api.Queued{ID: string(v.id), Position: at.Position, Why: at.Why})
	}
}

// concerns reports whether an update is about the message or the message's turn, and
// learns the turn.
func (v *messageStream) concerns(u *core.Update) bool {
	switch u.Kind {
	case core.UpdateDropped: // by this stream
		return true
	case core.UpdateBackground: // of no message
		return false
	}
	if slices.Contains(u.Messages, v.id) || u.Message != nil && u.Message.ID == v.id || u.Approval != nil && u.Approval.Message == v.id {
		if u.Turn != "" {
			v.turn = u.Turn
		}
		return true
	}
	turn := u.Turn
	if u.Approval != nil && turn == "" {
		turn = u.Approval.Turn
	}
	return turn != "" && turn == v.turn
}

// sendUpdate adds the event of an update.
func sendUpdate(st *stream, u *core.Update) {
	switch u.Kind {
	case core.UpdateAccepted:
		st.sendShape(api.EventAccepted, showAccepted(u.Message, core.QueuePosition{}, shortPrompt))
	case core.UpdateQueued:
		st.sendShape(api.EventQueued, api.Queued{ID: string(u.Message.ID), Position: u.Position, Why: u.Detail})
	case core.UpdateStarted:
		st.sendShape(api.EventStarted, api.Started{TurnID: string(u.Turn), Messages: idStrings(u.Messages)})
	case core.UpdateEvent:
		st.send(api.EventAgent, u.Raw)
	case core.UpdateResult:
		st.sendShape(api.EventResult, showMessage(u.Message, core.QueuePosition{}, shortPrompt))
	case core.UpdateApproval:
		st.sendShape(api.EventApproval, showApproval(u.Approval))
	case core.UpdateApprovalClosed:
		st.sendShape(api.EventApprovalClosed, showApproval(u.Approval))
	case core.UpdateBackground:
		st.sendShape(api.EventBackground, showBackground(u.Background))
	case core.UpdateRetrying, core.UpdateSession, core.UpdateStalled, core.UpdateParked:
		st.sendShape(api.EventNotice, api.Notice{Code: string(u.Kind), Text: u.Detail})
	case core.UpdateDropped:
		text := strconv.Itoa(u.Dropped) + " events were left out because they were not read fast enough."
		st.sendShape(api.EventNotice, api.Notice{Code: string(u.Kind), Text: text})
	}
}
