package messagesapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"
)

// A Stream writes one reply of the model as server-sent events:
// platform.claude.com/docs/en/build-with-claude/streaming. The first failure ends it: what
// follows is not written. A Stream is not safe for concurrent use.
type Stream struct {
	w       http.ResponseWriter
	ctx     context.Context // of the request that is answered
	id      string
	model   string
	in, out int  // token usage; out 0: by the length
	written int  // bytes of all blocks
	blocks  int  // begun so far
	open    bool // the last block has no end yet
	err     error
}

// Reply begins a reply that a test writes by itself.
func Reply(w http.ResponseWriter, r *http.Request) *Stream {
	return &Stream{w: w, ctx: r.Context(), id: "msg_call", model: "claude-test", in: 1}
}

// event sends one event of the given type; fields may be nil.
func (s *Stream) event(kind string, fields map[string]any) {
	object := map[string]any{"type": kind}
	maps.Copy(object, fields)
	data, err := json.Marshal(object)
	if err == nil && s.err == nil {
		_, err = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, data)
	}
	if err == nil && s.err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	if s.err == nil {
		s.err = err
	}
}

// begin sends the message object, before the first block.
func (s *Stream) begin() {
	if s.w.Header().Get("Content-Type") != "" {
		return
	}
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("Cache-Control", "no-cache")
	s.event("message_start", map[string]any{"message": map[string]any{
		"id": s.id, "type": "message", "role": "assistant", "model": s.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": s.usage(1),
	}})
	s.event("ping", nil)
}

func (s *Stream) usage(out int) map[string]any {
	return map[string]any{
		"input_tokens": s.in, "output_tokens": out, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": 0, "service_tier": "standard",
	}
}

// Text writes pieces of a text, which the next call of another method ends.
func (s *Stream) Text(pieces ...string) {
	if !s.open {
		s.start(map[string]any{"type": "text", "text": ""})
	}
	for _, p := range pieces {
		s.delta(len(p), map[string]any{"type": "text_delta", "text": p})
	}
}

// Tool writes a call of a tool, its input in two pieces as a real stream has it.
func (s *Stream) Tool(id, name, input string) {
	s.stop()
	s.start(map[string]any{"type": "tool_use", "id": id, "name": name, "input": struct{}{}})
	half := first(input, len(input)/2)
	for _, p := range []string{half, input[len(half):]} {
		s.delta(len(p), map[string]any{"type": "input_json_delta", "partial_json": p})
	}
	s.stop()
}

// End completes the reply.
func (s *Stream) End(reason string) {
	s.stop()
	if s.out == 0 {
		s.out = s.written/4 + 1
	}
	delta := map[string]any{"stop_reason": reason, "stop_sequence": nil}
	s.event("message_delta", map[string]any{"delta": delta, "usage": s.usage(s.out)})
	s.event("message_stop", nil)
}

func (s *Stream) start(block map[string]any) {
	s.begin()
	s.event("content_block_start", map[string]any{"index": s.blocks, "content_block": block})
	s.blocks, s.open = s.blocks+1, true
}

func (s *Stream) delta(bytes int, delta map[string]any) {
	s.written += bytes
	s.event("content_block_delta", map[string]any{"index": s.blocks - 1, "delta": delta})
}

func (s *Stream) stop() {
	if s.open {
		s.event("content_block_stop", map[string]any{"index": s.blocks - 1})
	}
	s.open = false
}

// await waits for something to happen, unless the client leaves.
func (s *Stream) await(happened <-chan struct{}) {
	select {
	case <-happened:
	case <-s.ctx.Done():
		if s.err == nil {
			s.err = context.Cause(s.ctx)
		}
	}
}

// pause waits for a span of time, unless the client leaves.
func (s *Stream) pause(d time.Duration) {
	over := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(over) })
	defer timer.Stop()
	s.await(over)
}
