package messagesapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// A reply is what the model says to one request: blocks made of pieces, each of
// which may have to wait for something.
type reply struct {
	id, model string
	wait      waiter // before the first byte of the answer
	blocks    []outBlock
	stop      string
	in, out   int    // token usage; in 0 means not scripted
	ending    ending // how the answer ends
	errorType string // of the error event, for endError
}

// A waiter blocks until something has happened, or returns why ctx ended.
type waiter func(ctx context.Context) error

type ending int

const (
	endComplete ending = iota
	endHang            // never: pings until the client leaves
	endCut             // the connection breaks inside the last block
	endError           // an error event inside the last block
)

// An outBlock is one content block of a reply.
type outBlock struct {
	kind     string // "text", "thinking" or "tool_use"
	id, name string // of a tool_use
	pieces   []piece
}

// A piece is one delta of a block: text, thinking, or part of the input's JSON.
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

// head is the message object; a stream starts with it empty.
func (r reply) head(content []any, stop any, out int) map[string]any {
	return map[string]any{
		"id": r.id, "type": "message", "role": "assistant", "model": r.model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": r.usage(out),
	}
}

func (r reply) usage(out int) map[string]any {
	return map[string]any{
		"input_tokens": r.in, "output_tokens": out, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": 0, "service_tier": "standard",
	}
}

// whole waits for all pieces and returns the reply as one message. An *apiError
// is to be answered instead; any other error breaks the connection.
func (r reply) whole(ctx context.Context) (map[string]any, error) {
	content := []any{}
	for _, b := range r.blocks {
		var all strings.Builder
		for _, p := range b.pieces {
			if p.wait != nil {
				if err := p.wait(ctx); err != nil {
					return nil, err
				}
			}
			all.WriteString(p.text)
		}
		content = append(content, b.object(all.String(), json.RawMessage(all.String())))
	}
	switch r.ending {
	case endHang:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case endCut:
		return nil, errCut
	case endError:
		return nil, &apiError{status: http.StatusInternalServerError, kind: r.errorType, message: "scripted error, not streamed"}
	case endComplete:
	}
	return r.head(content, r.stop, r.out), nil
}

// object is the block on the wire with the given text, or the given tool input.
func (b outBlock) object(text string, input any) map[string]any {
	switch b.kind {
	case "thinking":
		signature := ""
		if text != "" {
			signature = thinkingSignature
		}
		return map[string]any{"type": "thinking", "thinking": text, "signature": signature}
	case "tool_use":
		return map[string]any{"type": "tool_use", "id": b.id, "name": b.name, "input": input}
	}
	return map[string]any{"type": "text", "text": text}
}

// thinkingSignature is any base64: clients send it back unread.
const thinkingSignature = "c3RhbmQtaW4="
