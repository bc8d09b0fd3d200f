package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"bareclaw/core"
)

// lastEventHeader is what a client sends that resumes a stream.
const lastEventHeader = "Last-Event-ID"

// subscribe sees what happens on the channel from now on, or from where the
// client's last stream ended.
func (s *Server) subscribe(r *http.Request, key core.ChannelKey) subscription {
	if after := r.Header.Get(lastEventHeader); after != "" {
		return s.core.Resume(key, after)
	}
	return s.core.Subscribe(key)
}

// streamMessage is POST /message as a stream: what becomes of the message and
// of its turn, and at last the outcome.
func (s *Server) streamMessage(w *response, r *http.Request, sub core.Submission) error {
	updates := s.subscribe(r, sub.Channel) // before the message is there: nothing is missed
	defer updates.Close()
	t, err := s.submit(w, r, sub)
	if err != nil {
		return err
	}
	st := openStream(w, updates.From())
	if t.existing {
		begin(st, updates, sub.Channel)
	}
	st.send("accepted", appendAccepted(nil, &t.message, core.Place{}))
	v := &ownView{st: st, id: t.message.ID, turn: t.message.Turn}
	if t.existing {
		s.showPlace(r, v, updates, &t.message)
	}
	s.untilOutcome(r.Context(), v, updates, t)
	return nil
}

// messageEvents is GET /messages/{id}/events: the same for a message that was
// accepted before.
func (s *Server) messageEvents(w *response, r *http.Request) error {
	m, err := s.core.Message(r.Context(), pathMessage(r))
	if err != nil {
		return err
	}
	updates := s.subscribe(r, m.Channel)
	defer updates.Close()
	t, err := s.core.Ticket(r.Context(), m.ID)
	if err != nil {
		return err
	}
	m = s.current(r.Context(), m) // it may have been begun before that
	v := &ownView{st: openStream(w, updates.From()), id: m.ID, turn: m.Turn}
	if r.Method == http.MethodHead {
		return nil
	}
	begin(v.st, updates, m.Channel)
	s.showPlace(r, v, updates, &m)
	s.untilOutcome(r.Context(), v, updates, t)
	return nil
}

// showPlace tells where the message is in the queue, unless what follows tells it
// to one who comes back.
func (s *Server) showPlace(r *http.Request, v *ownView, updates subscription, m *core.Message) {
	if updates.Gap() || r.Header.Get(lastEventHeader) == "" {
		v.queued(s.place(m))
	}
}

// untilOutcome shows what becomes of one message.
func (s *Server) untilOutcome(ctx context.Context, v *ownView, updates subscription, t ticket) {
	s.follow(ctx, v.st, updates, t.done, v.show)
	over := isClosed(t.done) // also when the server drains: the outcome is the better end
	showAll(v.st, updates, v.show)
	if over {
		m := t.outcome()
		s.carry(ctx, &m)
		v.st.send("result", appendMessage(nil, &m, core.Place{}))
		if v.st.flush(); v.st.err == nil {
			s.deliveries.note(&m)
		}
	} else if s.Draining() {
		s.sendDrained(v.st, location(v.id), location(v.id)+"/events")
	}
	v.st.flush()
}

// channelEvents is GET /channels/{key}/events: everything that happens on the
// channel. The channel need not exist yet.
func (s *Server) channelEvents(w *response, r *http.Request) error {
	key, err := s.pathKey(r)
	if err != nil {
		return err
	}
	updates := s.subscribe(r, key)
	defer updates.Close()
	st := openStream(w, updates.From())
	if r.Method == http.MethodHead {
		return nil
	}
	begin(st, updates, key)
	show := func(u core.Update) { showUpdate(st, &u) }
	s.follow(r.Context(), st, updates, nil, show)
	if s.Draining() {
		showAll(st, updates, show)
		s.sendDrained(st, "", channelPath(key)+"/events")
		st.flush()
	}
	return nil
}

func channelPath(key core.ChannelKey) string { return "/channels/" + url.PathEscape(string(key)) }

// begin tells where the stream begins, so that it can be resumed before its first
// event. Where it is not known what the client has missed, a notice says so, with
// that id: who has the one has the other.
func begin(st *stream, updates subscription, key core.ChannelKey) {
	if !updates.Gap() {
		st.comment("connected")
		return
	}
	text := "Some events may be missing here, or come a second time: it is not known what followed the last one. " +
		"The messages and their outcomes are at GET " + channelPath(key) + "/messages."
	st.send("notice", appendNotice(nil, core.Notice{Code: "gap", Text: text}))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// follow shows updates as they come until done is closed, the server drains, or
// the client has gone.
func (s *Server) follow(ctx context.Context, st *stream, updates subscription, done <-chan struct{}, show func(core.Update)) {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for st.err == nil {
		showAll(st, updates, show)
		st.flush()
		select {
		case <-updates.C():
		case <-alive.C:
			st.comment("keep-alive")
		case <-done:
			return
		case <-s.drain.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

func showAll(st *stream, updates subscription, show func(core.Update)) {
	for st.err == nil {
		u, ok := updates.Next()
		if !ok {
			return
		}
		if !u.ID.IsZero() { // else it is about this stream
			st.at = u.ID
		}
		show(u)
	}
}

// sendDrained ends a stream: with where its message is, if it has one, and where
// its events go on.
func (s *Server) sendDrained(st *stream, where, events string) {
	text := "The gateway shuts down; turns in progress go on."
	if s.drain.reason == Restarting {
		text = "The gateway restarts; turns in progress go on. Connect again in a moment: with Last-Event-ID nothing is missed."
	}
	st.shape(string(s.drain.reason), struct {
		Text     string `json:"text"`
		Location string `json:"location,omitempty"`
		Events   string `json:"events"`
	}{text, where, events})
}

// An ownView shows what concerns one message: of a channel's updates only those
// of its own turn.
type ownView struct {
	st       *stream
	id       core.MessageID
	turn     core.TurnID
	position int
}

func (v *ownView) show(u core.Update) {
	if !v.mine(&u) {
		return
	}
	switch u.Kind {
	case core.UpdateAccepted, core.UpdateResult: // told by the ticket
	case core.UpdateQueued:
		v.queued(core.Place{Position: u.Position, Why: u.Detail})
	default:
		showUpdate(v.st, &u)
	}
}

func (v *ownView) queued(at core.Place) {
	if at.Position > 0 && at.Position != v.position {
		v.position = at.Position
		v.st.send("queued", appendQueued(nil, v.id, at))
	}
}

func (v *ownView) mine(u *core.Update) bool {
	switch u.Kind {
	case core.UpdateDropped: // it is this stream that was too slow
		return true
	case core.UpdateBackground: // it belongs to no message
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

// showUpdate adds the event of an update.
func showUpdate(st *stream, u *core.Update) {
	switch u.Kind {
	case core.UpdateAccepted:
		st.send("accepted", appendAccepted(nil, u.Message, core.Place{}))
	case core.UpdateQueued:
		st.send("queued", appendQueued(nil, u.Message.ID, core.Place{Position: u.Position, Why: u.Detail}))
	case core.UpdateStarted:
		st.shape("started", struct {
			TurnID   core.TurnID      `json:"turn_id"`
			Messages []core.MessageID `json:"messages"`
		}{u.Turn, u.Messages})
	case core.UpdateEvent:
		st.send("event", u.Raw)
	case core.UpdateResult:
		st.send("result", appendMessage(nil, u.Message, core.Place{}))
	case core.UpdateApproval:
		st.shape("approval", showApproval(u.Approval))
	case core.UpdateApprovalClosed:
		st.shape("approval_closed", showApproval(u.Approval))
	case core.UpdateBackground:
		st.shape("background", showBackground(u.Background))
	case core.UpdateRetrying, core.UpdateSession, core.UpdateStalled, core.UpdateParked:
		st.send("notice", appendNotice(nil, core.Notice{Code: string(u.Kind), Text: u.Detail}))
	case core.UpdateDropped:
		text := strconv.Itoa(u.Dropped) + " events were left out because they were not read fast enough."
		st.send("notice", appendNotice(nil, core.Notice{Code: string(u.Kind), Text: text}))
	}
}

func appendQueued(b []byte, id core.MessageID, at core.Place) []byte {
	b = quote(append(b, `{"message_id":`...), id)
	b = strconv.AppendInt(append(b, `,"position":`...), int64(at.Position), 10)
	b = member(b, `,"why":`, at.Why)
	return append(b, '}')
}
