package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxTurnBytes bounds the messages coalesced into a turn. A larger single message becomes a
// turn of its own.
const maxTurnBytes = 4 << 20

// IsCommand reports whether the message is a slash command of the agent. The agent
// recognizes commands only at the very beginning of a text.
func IsCommand(m *Message) bool {
	return len(m.Content.Blocks) == 0 && strings.HasPrefix(m.Content.Text, "/")
}

// BatchSize returns the number of leading messages that become the next turn: all of ms,
// except that a command is always alone and a turn stays below maxTurnBytes.
func BatchSize(ms []*Message) int {
	size := 0
	for i, m := range ms {
		size += m.Content.Size()
		if i > 0 && (IsCommand(m) || IsCommand(ms[0]) || size > maxTurnBytes) {
			return i
		}
	}
	return len(ms)
}

// Coalesce turns messages into the content of a turn: a JSON string, or an array of content
// blocks if any message has blocks. Texts are joined by a blank line. The context prefix
// appears once, or before each message if the senders differ; no other line begins like a
// prefix.
func Coalesce(ms []*Message) (json.RawMessage, error) {
	if len(ms) == 1 && IsCommand(ms[0]) {
		return encodeJSON(unforged(ms[0].Content.Text))
	}
	own := sendersDiffer(ms)
	c, err := joinContents(ms, func(i int) string {
		if i == 0 || own {
			return originPrefix(ms[i])
		}
		return ""
	})
	switch {
	case err != nil:
		return nil, err
	case len(c.Blocks) > 0:
		return encodeJSON(c.Blocks)
	}
	return encodeJSON(c.Text)
}

// joinContents joins the contents of messages, each after its head. Texts are joined by a
// blank line; if any message has blocks, the result has blocks.
func joinContents(ms []*Message, head func(i int) string) (joined Content, err error) {
	contents := make([]Content, len(ms))
	blocks := false
	for i, m := range ms {
		if contents[i], err = ownWords(m); err != nil {
			return Content{}, err
		}
		blocks = blocks || len(m.Content.Blocks) > 0
	}
	if !blocks {
		texts := make([]string, len(ms))
		for i, c := range contents {
			texts[i] = head(i) + c.Text
		}
		return Content{Text: strings.Join(texts, "\n\n")}, nil
	}
	for i, c := range contents {
		text := head(i)
		if len(c.Blocks) == 0 {
			text += c.Text
		} else {
			text = strings.TrimRight(text, "\n")
		}
		if text != "" {
			b, err := encodeJSON(struct {
				Type string `json:"type"`
				Text string `json:"text"`
			}{"text", text})
			if err != nil {
				return Content{}, err
			}
			joined.Blocks = append(joined.Blocks, b)
		}
		joined.Blocks = append(joined.Blocks, c.Blocks...)
	}
	return joined, nil
}

// encodeJSON encodes v as internal/plainjson does, which core does not import: without HTML escapes,
// which would only make the text longer.
func encodeJSON(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode content: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func sendersDiffer(ms []*Message) bool {
	return slices.ContainsFunc(ms[1:], func(m *Message) bool { return m.Adapter != ms[0].Adapter || m.Origin != ms[0].Origin })
}

// RetryContent returns the contents of a turn's messages, after a note to the agent if the
// agent may have begun to work on the turn. turn is nil without an earlier turn; members has
// at least one message; calls are the turn's calls of the gateway's tools.
func RetryContent(members []*Message, turn *Turn, calls []ToolCall) (Content, error) {
	last := members[len(members)-1]
	note := ""
	if turn != nil && (MayHaveActed(&last.Reply, turn) || len(calls) > 0) && !IsCommand(last) {
		note = continueNote(last.Reply.Done, calls)
	}
	own := sendersDiffer(members)
	return joinContents(members, func(i int) (head string) {
		if own {
			head = originPrefix(members[i])
		}
		if i == 0 {
			head = note + head
		}
		return head
	})
}

// MayHaveActed reports whether the agent may have done work in the turn that a second run
// would repeat.
func MayHaveActed(r *Reply, t *Turn) bool {
	begun := func(m Mark) bool { return m.What == MarkTool || m.What == MarkTakenOver }
	return r.Done != "" || r.Code == CodeInterrupted && r.State == Failed || slices.ContainsFunc(t.Marks, begun)
}

func continueNote(done string, calls []ToolCall) string {
	note := "Your work on the message below was cut short before you had answered it."
	if done != "" {
		note += " You had begun: " + strings.Map(inert, done) + "."
	}
	if len(calls) > 0 {
		note += " Of the gateway's tools you had called: " + describeCalls(calls) + "."
	}
	return note + " Check what has taken effect, and continue from there without repeating finished work. The message was:\n\n"
}

// maxNoted bounds the calls that a note describes.
const maxNoted = 20

// describeCalls names the calls with their outcomes, the last ones if they are many.
func describeCalls(calls []ToolCall) string {
	var parts []string
	if over := len(calls) - maxNoted; over > 0 {
		parts, calls = append(parts, fmt.Sprintf("%d earlier ones", over)), calls[over:]
	}
	for _, c := range calls {
		parts = append(parts, fmt.Sprintf("%s (%s)", c.Tool, c.Outcome))
	}
	return strings.Join(parts, ", ")
}
