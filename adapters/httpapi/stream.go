package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"bareclaw/core"
)

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

// A stream gathers server-sent events (html.spec.whatwg.org, section 9.2) until flush. A
// stream is not safe for concurrent use.
type stream struct {
	w   *response
	rc  *http.ResponseController
	buf []byte
	at  core.UpdateID // the last handled update
	id  core.UpdateID // the last sent id
	err error         // the first failure to write; nothing is written after a failure
}

// openStream sends the header, to show the client that the stream is open. The first
// event contains the id at which the stream begins.
func openStream(w *response, from core.UpdateID) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	// The connection ends with the stream: the write deadline must not outlast the
	// stream.
	h.Set("Connection", "close")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, rc: http.NewResponseController(w), at: from, buf: []byte(streamRetry)}
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

// sendShape adds an event with a shape of the API as data.
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
