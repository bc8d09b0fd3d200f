package messagesapi

import (
	"context"
	"time"
)

// A reply is what the model says to one request: blocks made of pieces, each of
// which may have to wait for something.
type reply struct {
	id, model string
	blocks    []outBlock
	stop      string
	in, out   int    // token usage; in 0 means not scripted
	ending    ending // how the answer ends
}

// A waiter blocks until something has happened, or returns why ctx ended.
type waiter func(ctx context.Context) error

type ending int

const (
	endComplete ending = iota
	endHang            // never: pings until the client leaves
	endCut             // the connection breaks inside the last block
)

// An outBlock is one content block of a reply.
type outBlock struct {
	kind     string // "text" or "tool_use"
	id, name string // of a tool_use
	pieces   []piece
}

// A piece is one delta of a block: text, or part of the input's JSON.
type piece struct {
	wait waiter // before the piece; may be nil
	text string
}

// say is a complete reply of one text block.
func say(text string) reply {
	return reply{stop: "end_turn", blocks: []outBlock{textBlock(piece{text: text})}}
}

func textBlock(pieces ...piece) outBlock { return outBlock{kind: "text", pieces: pieces} }

// pause is a waiter for a span of time.
func pause(d time.Duration) waiter {
	return func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// length is the number of bytes in all pieces.
func (r reply) length() int {
	n := 0
	for _, b := range r.blocks {
		for _, p := range b.pieces {
			n += len(p.text)
		}
	}
	return n
}

// head is the message object, with which a stream starts.
func (r reply) head() map[string]any {
	return map[string]any{
		"id": r.id, "type": "message", "role": "assistant", "model": r.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": r.usage(1),
	}
}

func (r reply) usage(out int) map[string]any {
	return map[string]any{
		"input_tokens": r.in, "output_tokens": out, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": 0, "service_tier": "standard",
	}
}

// start is the block on the wire before its pieces.
func (b outBlock) start() map[string]any {
	if b.kind == "tool_use" {
		return map[string]any{"type": "tool_use", "id": b.id, "name": b.name, "input": struct{}{}}
	}
	return map[string]any{"type": "text", "text": ""}
}
