package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"bareclaw/core"
)

const (
	// maxContentReads bounds how many contents are in memory at once because somebody
	// reads them: each may be as large as a body.
	maxContentReads = 2
	// smallContent is the size up to which a content does not count any more once it
	// has been read from the ledger, in bytes.
	smallContent = 1 << 20
)

// A promptShape is what was asked, without media.
type promptShape struct {
	Text      string       `json:"text"`
	Truncated bool         `json:"truncated,omitzero"`
	User      string       `json:"user,omitempty"`
	Blocks    []blockShape `json:"blocks,omitempty"`
}

type blockShape struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Bytes     int64  `json:"bytes,omitzero"`
}

// showPrompt returns the prompt of an approval; nil where it is not known.
func showPrompt(p *core.Prompt) *promptShape {
	if p.IsZero() {
		return nil
	}
	shape := promptShape{Text: p.Text, Truncated: p.Truncated, User: p.User}
	for _, b := range p.Blocks {
		shape.Blocks = append(shape.Blocks, blockShape(b))
	}
	return &shape
}

// appendPrompt appends a message's prompt. Like appendMessage it is written by hand.
func appendPrompt(b []byte, p *core.Prompt, user string) []byte {
	b = quote(append(b, `,"prompt":{"text":`...), p.Text)
	if p.Truncated {
		b = append(b, `,"truncated":true`...)
	}
	b = member(b, `,"user":`, user)
	for i, block := range p.Blocks {
		if i == 0 {
			b = append(b, `,"blocks":[`...)
		} else {
			b = append(b, ',')
		}
		b = quote(append(b, `{"type":`...), block.Type)
		b = member(b, `,"media_type":`, block.MediaType)
		if block.Bytes > 0 {
			b = strconv.AppendInt(append(b, `,"bytes":`...), block.Bytes, 10)
		}
		b = append(b, '}')
	}
	if len(p.Blocks) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

// getContent shows a message's content as it was submitted, media included.
func (s *Server) getContent(w *response, r *http.Request) error {
	release, err := s.reserveContent(r.Context())
	if err != nil {
		return err
	}
	defer release()
	m, err := s.core.Message(r.Context(), pathMessage(r))
	if err != nil {
		return err
	}
	if m.Content.Size() <= smallContent {
		release()
	}
	return writeContent(w, &m)
}

// reserveContent waits until a content may be read into memory. The function that it
// returns says that it is not there any more; calling it again does nothing.
func (s *Server) reserveContent(ctx context.Context) (release func(), err error) {
	select {
	case s.contents <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	held := true
	return func() {
		if held {
			held = false
			<-s.contents
		}
	}, nil
}

// writeContent writes the content in pieces, since one document would be another copy
// of it. Its members are those of a POST /message.
func writeContent(w *response, m *core.Message) error {
	b := quote([]byte(`{"message_id":`), m.ID)
	b = quote(append(b, `,"channel":`...), m.Channel)
	b = append(appendContext(append(b, `,"context":`...), &m.Origin), ',')
	pieces := make([]json.RawMessage, 0, 2*len(m.Content.Blocks)+3)
	if len(m.Content.Blocks) == 0 {
		pieces = append(pieces, quote(append(b, `"text":`...), m.Content.Text), json.RawMessage("}\n"))
	} else {
		separator := json.RawMessage(",")
		pieces = append(pieces, append(b, `"content":[`...))
		for i, block := range m.Content.Blocks {
			if i > 0 {
				pieces = append(pieces, separator)
			}
			pieces = append(pieces, block)
		}
		pieces = append(pieces, json.RawMessage("]}\n"))
	}
	size := 0
	for _, piece := range pieces {
		size += len(piece)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(size))
	// A client that stops reading must not keep the content in memory for ever. Where
	// deadlines are not supported it may.
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }()
	w.WriteHeader(http.StatusOK)
	for _, piece := range pieces {
		if _, err := w.Write(piece); err != nil {
			return nil // the client has gone; an answer that has begun cannot become an error
		}
	}
	return nil
}
