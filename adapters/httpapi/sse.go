package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"bareclaw/core"
)

const (
	keepAlive = 15 * time.Second
	// streamWriteTimeout is how long a client may leave what was written unread.
	streamWriteTimeout = 30 * time.Second
	// streamChunkBytes is gathered at most before it is written.
	streamChunkBytes = 32 << 10
	// streamRetry tells a browser how soon to connect again; of itself it waits for
	// several seconds, and more is said meanwhile than is kept.
	streamRetry = "retry: 1000\n" // milliseconds
)

// A stream writes server-sent events (html.spec.whatwg.org, section 9.2). Events
// are gathered until flush. It is for one goroutine.
type stream struct {
	w   *response
	rc  *http.ResponseController
	buf []byte
	at  core.UpdateID // the last update that was dealt with
	id  core.UpdateID // the last one that the client was told
	err error         // the first failure to write; nothing is written after it
}

// openStream sends the header, so that the client knows that it is heard. What is
// sent first also says where the stream begins.
func openStream(w *response, from core.UpdateID) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	// The connection ends with the stream: its write deadline must not outlast it.
	h.Set("Connection", "close")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, rc: http.NewResponseController(w), at: from, buf: []byte(streamRetry)}
}

// place begins an event or a comment with the id of the last update, unless the client has it.
// What the stream says of itself has no id of its own, so that a client which
// resumes there gets what follows that update.
func (st *stream) place() {
	if st.at != st.id {
		st.id = st.at
		st.buf = append(st.at.Append(append(st.buf, "id: "...)), '\n')
	}
}

// send adds one event. Data that has line breaks becomes several data lines.
func (st *stream) send(event string, data []byte) {
	st.place()
	b := append(append(st.buf, "event: "...), event...)
	data = bytes.TrimRight(data, "\r\n")
	if bytes.IndexByte(data, '\r') >= 0 { // it would end a line too
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

// shape adds an event whose data is a shape of the API.
func (st *stream) shape(event string, shape any) {
	data, err := json.Marshal(shape)
	if err != nil {
		st.fail(fmt.Errorf("encode event %s: %w", event, err))
		return
	}
	st.send(event, data)
}

// comment adds what is no event to the client. It may bring an id all the same: the
// client need not go back as far then when it comes again.
func (st *stream) comment(text string) {
	st.place()
	st.buf = append(append(append(st.buf, ": "...), text...), "\n\n"...)
}

// flush writes what was gathered. It blocks for at most streamWriteTimeout.
func (st *stream) flush() {
	if st.err == nil && len(st.buf) > 0 {
		_ = st.rc.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // without one a dead client is noticed later
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
