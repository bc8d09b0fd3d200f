package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"bareclaw/core"
)

// JSON documents hold the remaining fields of the rows. Fields may be added; a missing
// field has the zero value.

type messageDoc struct {
	Adapter    string         `json:"adapter,omitempty"`
	Origin     core.Origin    `json:"origin,omitzero"`
	Mode       core.Mode      `json:"mode,omitempty"`
	SourceHash string         `json:"source_hash,omitempty"`
	RetryOf    core.MessageID `json:"retry_of,omitempty"`
	CanAsk     bool           `json:"can_ask,omitempty"`
	Deliver    bool           `json:"deliver,omitempty"`
	Interrupts core.TurnID    `json:"interrupts,omitempty"`
	Blocks     bool           `json:"blocks,omitempty"` // the content is JSON, not bare text
	Prompt     *core.Prompt   `json:"prompt,omitempty"` // short; nil for text stored in the row
}

type outcomeDoc struct {
	IsError   bool           `json:"is_error,omitempty"`
	Code      string         `json:"code,omitempty"`
	Error     string         `json:"error,omitempty"`
	Coalesced bool           `json:"coalesced,omitempty"`
	Into      core.MessageID `json:"into,omitempty"`
	Via       string         `json:"via,omitempty"`
	Duration  time.Duration  `json:"duration_ns,omitempty"`
	CostUSD   float64        `json:"cost_usd,omitempty"`
	SessionID string         `json:"session_id,omitempty"`
	Done      string         `json:"done,omitempty"`
	Notices   []core.Notice  `json:"notices,omitempty"`
}

type turnDoc struct {
	Channel core.ChannelKey  `json:"channel"`
	Members []core.MessageID `json:"members,omitempty"`
	Opens   bool             `json:"opens,omitempty"`
	Steered bool             `json:"steered,omitempty"`
	CanAsk  bool             `json:"can_ask,omitempty"`
	Notices []core.Notice    `json:"notices,omitempty"`
}

type endingDoc struct {
	Code   string      `json:"code,omitempty"`
	Result *resultDoc  `json:"result,omitempty"`
	Marks  []core.Mark `json:"marks,omitempty"`
}

type resultDoc struct {
	Turns       []core.TurnID `json:"turns,omitempty"`
	Background  bool          `json:"background,omitempty"`
	IsError     bool          `json:"is_error,omitempty"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Code        string        `json:"code,omitempty"`
	Error       string        `json:"error,omitempty"`
	SessionID   string        `json:"session_id,omitempty"`
	TotalCost   float64       `json:"total_cost,omitempty"`
	NumTurns    int           `json:"num_turns,omitempty"`
}

type approvalDoc struct {
	Kind      core.ApprovalKind `json:"kind,omitempty"`
	Channel   core.ChannelKey   `json:"channel"`
	Message   core.MessageID    `json:"message,omitempty"`
	Prompt    core.Prompt       `json:"prompt,omitzero"`
	RequestID string            `json:"request_id,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Retry     core.MessageID    `json:"retry,omitempty"`
	By        string            `json:"by,omitempty"`
}

type deliveryDoc struct {
	Kind     core.DeliveryKind `json:"kind"`
	Attempts int               `json:"attempts,omitempty"`
	Error    string            `json:"error,omitempty"`
}

func endingOf(t *core.Turn) endingDoc {
	d := endingDoc{Code: t.Code, Marks: t.Marks}
	if r := t.Result; r != nil {
		d.Result = &resultDoc{
			Turns: r.Turns, Background: r.Background, IsError: r.IsError, Interrupted: r.Interrupted, Code: r.Code,
			Error: r.Error, SessionID: r.SessionID, TotalCost: r.TotalCost, NumTurns: r.NumTurns,
		}
	}
	return d
}

func (d endingDoc) apply(t *core.Turn, text string) {
	t.Code, t.Marks = d.Code, d.Marks
	if r := d.Result; r != nil {
		t.Result = &core.Result{
			Turns: r.Turns, Background: r.Background, Text: text, IsError: r.IsError, Interrupted: r.Interrupted,
			Code: r.Code, Error: r.Error, SessionID: r.SessionID, TotalCost: r.TotalCost, NumTurns: r.NumTurns,
		}
	}
}

// encodeContent returns the column value of a content: bare text unchanged, or, with
// blocks, the JSON of the whole content. Blocks are valid JSON and may be large, hence
// encodeContent neither parses nor reformats blocks.
func encodeContent(c core.Content) (value string, blocks bool, err error) {
	if len(c.Blocks) == 0 {
		return c.Text, false, nil
	}
	size := len(c.Text) + 32
	for _, b := range c.Blocks {
		size += len(b) + 1
	}
	buf := make([]byte, 0, size)
	buf = append(buf, '{')
	if c.Text != "" {
		text, err := json.Marshal(c.Text)
		if err != nil {
			return "", false, err
		}
		buf = append(append(append(buf, `"text":`...), text...), ',')
	}
	buf = append(buf, `"blocks":[`...)
	for i, b := range c.Blocks {
		if i > 0 {
			buf = append(buf, ',')
		}
		if len(b) == 0 {
			b = json.RawMessage("null")
		}
		buf = append(buf, b...)
	}
	return string(append(buf, "]}"...)), true, nil
}

func decodeContent(value string, blocks bool) (core.Content, error) {
	if !blocks {
		return core.Content{Text: value}, nil
	}
	var c core.Content
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		return core.Content{}, fmt.Errorf("content: %w", err)
	}
	return c, nil
}

// The stored codes of the message states.
const (
	codeWaiting int64 = iota
	codeRunning
	codeAnswered
	codeFailed
	codeCancelled
)

// stateCode returns the stored code of a final state; ok is false for other states.
func stateCode(s core.State) (code int64, ok bool) {
	switch s {
	case core.Answered:
		return codeAnswered, true
	case core.Failed:
		return codeFailed, true
	case core.Cancelled:
		return codeCancelled, true
	default:
		return codeWaiting, false
	}
}

func codeState(code int64) core.State {
	switch code {
	case codeRunning:
		return core.Running
	case codeAnswered:
		return core.Answered
	case codeFailed:
		return core.Failed
	case codeCancelled:
		return core.Cancelled
	default:
		return core.Waiting
	}
}

// nanos returns the stored form of a time, 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
