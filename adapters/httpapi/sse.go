package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	keepAlive = 15 * time.Second
	// streamWriteTimeout is how long a client may leave what was written unread.
	streamWriteTimeout = 30 * time.Second
	// streamChunkBytes is gathered at most before it is written.
	streamChunkBytes = 32 << 10
)

// A stream writes server-sent events (html.spec.whatwg.org, section 9.2). Events
// are gathered until flush. It is for one goroutine.
type stream struct {
	w   *response
	rc  *http.ResponseController
	buf []byte
	id  uint64
	err error // the first failure to write; nothing is written after it
}

// openStream sends the header, so that the client knows that it is heard.
func openStream(w *response) *stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	// The connection ends with the stream: its write deadline must not outlast it.
	h.Set("Connection", "close")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, rc: http.NewResponseController(w)}
}

// send adds one event. Data that has line breaks becomes several data lines.
func (st *stream) send(event string, data []byte) {
	st.id++
	b := strconv.AppendUint(append(st.buf, "id: "...), st.id, 10)
	b = append(append(b, "\nevent: "...), event...)
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

func (st *stream) comment(text string) {
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
