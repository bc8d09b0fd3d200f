package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/feed"
	"bareclaw/internal/wait"
)

// streams serves updates as server-sent events.
type streams struct{ *shared }

// subscribe returns a stream, not open yet, that begins now or at the end of the client's
// last stream.
func (s *streams) subscribe(w *response, r *http.Request, key core.ChannelKey) *stream {
	after := r.Header.Get(api.HeaderLastEventID)
	if after != "" {
		return newStream(w, key, s.Core.Feeds.Resume(key, after), true)
	}
	return newStream(w, key, s.Core.Feeds.Subscribe(key), false)
}

// submit is POST /message as a stream: the updates of the message and of the message's
// turn, and at last the outcome.
func (s *streams) submit(w *response, r *http.Request, sub core.Submission) (any, error) {
	st := s.subscribe(w, r, sub.Channel) // before the message is accepted, to miss no update
	defer st.updates.Close()
	t, err := s.Core.Lanes.Submit(r.Context(), sub)
	if err != nil {
		return nil, err
	}
	w.body.release()
	noteReplay(w, t)
	st.open()
	if t.Existing {
		st.begin()
	}
	st.sendShape(api.EventAccepted, showAccepted(&t.Message, core.QueuePosition{}, shortPrompt))
	s.untilOutcome(r.Context(), st, t, &t.Message, t.Existing)
	return nil, nil
}

// message is GET /messages/{id}/events: the same stream for an already accepted message.
func (s *streams) message(w *response, r *http.Request, id core.MessageID) (any, error) {
	m, err := s.Core.Messages.Message(r.Context(), id)
	if err != nil {
		return nil, err
	}
	st := s.subscribe(w, r, m.Channel)
	defer st.updates.Close()
	t, err := s.Core.Messages.Ticket(r.Context(), m.ID)
	if err != nil {
		return nil, err
	}
	m = s.current(r.Context(), m) // the message may have begun before the subscription
	st.open()
	if r.Method == http.MethodHead {
		return nil, nil
	}
	st.begin()
	s.untilOutcome(r.Context(), st, t, &m, true)
	return nil, nil
}

// channel is GET /channels/{key}/events: all updates of the channel. The channel need
// not exist yet.
func (s *streams) channel(w *response, r *http.Request, key core.ChannelKey) (any, error) {
	st := s.subscribe(w, r, key)
	defer st.updates.Close()
	st.open()
	if r.Method == http.MethodHead {
		return nil, nil
	}
	st.begin()
	s.follow(r.Context(), st, nil)
	st.flush()
	return nil, nil
}

// gateway is GET /events: the updates of the gateway itself.
func (s *streams) gateway(w *response, r *http.Request) (any, error) {
	return s.channel(w, r, core.GatewayFeed)
}

// untilOutcome sends the updates of a message until its outcome. Where the message is not new,
// its position comes first, unless the client resumes without a gap and has it from the updates.
func (s *streams) untilOutcome(ctx context.Context, st *stream, t *core.Ticket, m *core.Message, known bool) {
	st.message, st.turn = m.ID, m.Turn
	if known && (st.updates.Gap() || !st.resumed) {
		st.queued(s.place(m))
	}
	if over := s.follow(ctx, st, t.Done()); over {
		m := t.Outcome()
		st.sendShape(api.EventResult, s.showOutcome(ctx, &m, core.QueuePosition{}, shortPrompt))
	}
	st.flush()
}

// follow sends updates on arrival until done is closed, the server drains, or the client
// disconnects. It reports whether done is closed, and otherwise ends the stream of a server
// that drains.
func (s *streams) follow(ctx context.Context, st *stream, done <-chan struct{}) (over bool) {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for going := true; going && st.err == nil; {
		st.sendAll()
		st.flush()
		select {
		case <-st.updates.C():
		case <-alive.C:
			st.comment("keep-alive")
		case <-done:
			going = false
		case <-s.lifecycle.Done():
			going = false
		case <-ctx.Done():
			going = false
		}
	}
	over = wait.IsClosed(done) // also when the server drains: the outcome is the better end
	st.sendAll()
	if reason := s.lifecycle.reason(); reason != "" && !over {
		st.end(reason)
	}
	return over
}

const (
	keepAlive = 15 * time.Second
	// streamWriteTimeout bounds how long a client may leave written data unread.
	streamWriteTimeout = 30 * time.Second
	// streamChunkBytes is the size of gathered events that causes a write.
	streamChunkBytes = 32 << 10
	// streamRetry sets how soon a browser connects again. The default of browsers is
	// several seconds, longer than the lifetime of some updates.
	streamRetry = "retry: 1000\n" // milliseconds
)

// A stream sends the updates of a channel, of the gateway itself, or of a message and its turn, as server-sent events
// (html.spec.whatwg.org, section 9.2), which it gathers until flush. A stream is not safe for
// concurrent use.
type stream struct {
	w       *response
	rc      *http.ResponseController
	channel core.ChannelKey
	updates *feed.Subscription
	resumed bool // the client has named its last event

	// Of the stream of a message.
	message  core.MessageID // empty for the stream of a channel
	turn     core.TurnID
	position int

	buf []byte
	at  core.UpdateID // the last handled update
	id  core.UpdateID // the last sent id
	err error         // the first failure to write; nothing is written after a failure
}

func newStream(w *response, key core.ChannelKey, updates *feed.Subscription, resumed bool) *stream {
	return &stream{
		w:       w,
		rc:      http.NewResponseController(w),
		channel: key,
		updates: updates,
		resumed: resumed,
		at:      updates.From(),
		buf:     []byte(streamRetry),
	}
}

// open sends the header, to show the client that the stream is open. The first event
// contains the id at which the stream begins.
func (st *stream) open() {
	h := st.w.Header()
	h.Set("Content-Type", "text/event-stream")
	// The connection ends with the stream: the write deadline must not outlast the
	// stream.
	h.Set("Connection", "close")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	st.w.WriteHeader(http.StatusOK)
}

// begin sends the id at which the stream begins, to let the client resume before the
// first event. If updates may be missing, begin sends a notice.
func (st *stream) begin() {
	if !st.updates.Gap() {
		st.comment("connected")
		return
	}
	missing := "The messages and their outcomes are at GET " + api.ChannelPath(string(st.channel)) + "/messages."
	if st.channel == core.GatewayFeed {
		missing = "The present tools are the answer to tools/list at POST " + api.PathMCP + "."
	}
	st.sendShape(api.EventNotice, api.Notice{
		Code: api.NoticeGap,
		Text: "Some events may be missing here, or come a second time, because it is not known which events followed the last one. " + missing,
	})
}

// path returns where the events of the stream's channel, or of the gateway itself, continue.
func (st *stream) path() string {
	if st.channel == core.GatewayFeed {
		return api.PathEvents
	}
	return api.ChannelPath(string(st.channel)) + "/events"
}

// end names the path of the message, if any, and the path where the events continue.
func (st *stream) end(reason Reason) {
	ending := api.Ending{
		Text:   "The gateway shuts down; turns in progress continue.",
		Events: st.path(),
	}
	if reason == Restarting {
		ending.Text = "The gateway restarts; turns in progress continue. Connect again in a moment: with Last-Event-ID nothing is missed."
	}
	if st.channel == core.GatewayFeed {
		ending.Text = gatewayEnding(reason)
	}
	if st.message != "" {
		ending.Location = messagePath(st.message)
		ending.Events = ending.Location + "/events"
	}
	st.sendShape(string(reason), ending)
}

// gatewayEnding says how the events of the gateway itself continue. The next process does not know which tools were
// offered before it.
func gatewayEnding(reason Reason) string {
	const next = "with Last-Event-ID, then ask for tools/list: which tools changed meanwhile is not told."
	if reason == Restarting {
		return "The gateway restarts. Connect again in a moment " + next
	}
	return "The gateway shuts down. When it runs again, connect " + next
}

func (st *stream) sendAll() {
	for st.err == nil {
		u, ok := st.updates.Next()
		if !ok {
			return
		}
		if !u.ID.IsZero() { // else the update is about this stream
			st.at = u.ID
		}
		if st.message == "" || st.concerns(&u) {
			st.sendUpdate(&u)
		}
	}
}

// concerns reports whether a message's stream shows an update, and learns the message's turn.
func (st *stream) concerns(u *core.Update) bool {
	switch u.Kind {
	case core.UpdateDropped: // by this stream
		return true
	case core.UpdateBackground: // of no message
		return false
	}
	if slices.Contains(u.Messages, st.message) || u.Message != nil && u.Message.ID == st.message || u.Approval != nil && u.Approval.Message == st.message {
		if u.Turn != "" {
			st.turn = u.Turn
		}
	} else {
		turn := u.Turn
		if u.Approval != nil && turn == "" {
			turn = u.Approval.Turn
		}
		if turn == "" || turn != st.turn {
			return false
		}
	}
	return u.Kind != core.UpdateAccepted && u.Kind != core.UpdateResult // sent from the ticket
}

// queued sends a changed position of the stream's message.
func (st *stream) queued(at core.QueuePosition) {
	if at.Position > 0 && at.Position != st.position {
		st.position = at.Position
		st.sendShape(api.EventQueued, api.Queued{ID: string(st.message), Position: at.Position, Why: at.Why})
	}
}

func (st *stream) sendUpdate(u *core.Update) {
	switch u.Kind {
	case core.UpdateAccepted:
		st.sendShape(api.EventAccepted, showAccepted(u.Message, core.QueuePosition{}, shortPrompt))
	case core.UpdateQueued:
		if st.message != "" {
			st.queued(core.QueuePosition{Position: u.Position, Why: u.Detail})
			return
		}
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
	case core.UpdateToolRegistered, core.UpdateToolReloaded, core.UpdateToolRemoved:
		st.sendShape(string(u.Kind), showToolChange(u.Tool))
	case core.UpdateRetrying, core.UpdateSession, core.UpdateStalled, core.UpdateParked, core.UpdateHeld:
		st.sendShape(api.EventNotice, api.Notice{Code: string(u.Kind), Text: u.Detail})
	case core.UpdateDropped:
		text := strconv.Itoa(u.Dropped) + " events were left out because they were not read fast enough."
		st.sendShape(api.EventNotice, api.Notice{Code: string(u.Kind), Text: text})
	}
}

// writeID begins an event or a comment with the id of the last update, unless the client
// has the id. Events about the stream itself have no separate id: a client that resumes
// after such an event gets the updates after the last update.
func (st *stream) writeID() {
	if st.at != st.id {
		st.id = st.at
		st.buf = append(st.at.Append(append(st.buf, "id: "...)), '\n')
	}
}

// send adds an event. Data with line breaks becomes several data lines.
func (st *stream) send(event string, data []byte) {
	st.writeID()
	b := append(append(st.buf, "event: "...), event...)
	data = bytes.TrimRight(data, "\r\n")
	if bytes.IndexByte(data, '\r') >= 0 { // a carriage return would end a line too
		data = bytes.ReplaceAll(data, []byte{'\r'}, []byte{'\n'})
	}
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		b = append(append(b, "\ndata: "...), line...)
	}
	b = append(b, "\n\n"...)
	st.buf = b
	if len(st.buf) >= streamChunkBytes {
		st.flush()
	}
}

func (st *stream) sendShape(event string, shape any) {
	data, err := marshal(shape)
	if err != nil {
		st.fail(fmt.Errorf("encode event %s: %w", event, err))
		return
	}
	st.send(event, data)
}

// comment adds text ignored by clients. The id of the comment still advances the
// position from which the client resumes.
func (st *stream) comment(text string) {
	st.writeID()
	st.buf = append(append(append(st.buf, ": "...), text...), "\n\n"...)
}

// flush writes the gathered events. It blocks for at most streamWriteTimeout.
func (st *stream) flush() {
	if st.err == nil && len(st.buf) > 0 {
		_ = st.rc.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // without deadlines a dead client is noticed later
		_, err := st.w.Write(st.buf)
		if err == nil {
			err = st.rc.Flush()
		}
		st.fail(err)
	}
	if st.buf = st.buf[:0]; cap(st.buf) > 2*streamChunkBytes {
		st.buf = nil
	}
}

func (st *stream) fail(err error) {
	if st.err == nil {
		st.err = err
	}
}
