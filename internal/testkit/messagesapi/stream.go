package messagesapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// errCut asks for the connection to be dropped.
var errCut = errors.New("scripted break of the connection")

// A stream writes a reply as server-sent events:
// platform.claude.com/docs/en/build-with-claude/streaming.
type stream struct {
	w     http.ResponseWriter
	flush func() error
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	return &stream{w: w, flush: http.NewResponseController(w).Flush}
}

// event sends one event of the given type; fields may be nil.
func (s *stream) event(kind string, fields map[string]any) error {
	object := map[string]any{"type": kind}
	for k, v := range fields {
		object[k] = v
	}
	data, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode %s: %w", kind, err)
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, data); err != nil {
		return fmt.Errorf("send %s: %w", kind, err)
	}
	return s.flush()
}

// play sends the whole reply. An error means that the connection is to be
// dropped.
func (s *stream) play(ctx context.Context, r reply) error {
	if err := s.event("message_start", map[string]any{"message": r.head()}); err != nil {
		return err
	}
	if err := s.event("ping", nil); err != nil {
		return err
	}
	for i, b := range r.blocks {
		if err := s.open(ctx, i, b); err != nil {
			return err
		}
		if r.ending != endComplete && i == len(r.blocks)-1 {
			break // it stays open
		}
		if err := s.event("content_block_stop", map[string]any{"index": i}); err != nil {
			return err
		}
	}
	switch r.ending {
	case endHang:
		return s.hang(ctx)
	case endCut:
		return errCut
	case endComplete:
	}
	delta := map[string]any{"stop_reason": r.stop, "stop_sequence": nil}
	if err := s.event("message_delta", map[string]any{"delta": delta, "usage": r.usage(r.out)}); err != nil {
		return err
	}
	return s.event("message_stop", nil)
}

// open sends the start of block i and all its deltas.
func (s *stream) open(ctx context.Context, i int, b outBlock) error {
	start := map[string]any{"index": i, "content_block": b.start()}
	if err := s.event("content_block_start", start); err != nil {
		return err
	}
	for _, p := range b.pieces {
		if p.wait != nil {
			if err := p.wait(ctx); err != nil {
				return err
			}
		}
		if err := s.delta(i, b.delta(p.text)); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) delta(i int, delta map[string]any) error {
	return s.event("content_block_delta", map[string]any{"index": i, "delta": delta})
}

// delta is one piece of the block on the wire.
func (b outBlock) delta(text string) map[string]any {
	if b.kind == "tool_use" {
		return map[string]any{"type": "input_json_delta", "partial_json": text}
	}
	return map[string]any{"type": "text_delta", "text": text}
}

// hang sends pings until the client leaves.
func (s *stream) hang(ctx context.Context) error {
	for {
		if err := pause(5 * time.Second)(ctx); err != nil {
			return err
		}
		if err := s.event("ping", nil); err != nil {
			return err
		}
	}
}
