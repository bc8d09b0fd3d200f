// Package tools keeps the tools that claude and other MCP clients call. The package knows
// neither MCP nor how a tool works.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bareclaw/core"
)

// A Tool is a function that a model may call. Its JSON is that of MCP; the tool host sends its tools
// to the daemon in that form.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Source      string          `json:"-"`                      // the name of the source, which the registry sets
	Mount       string          `json:"-"`                      // the mounted server that has the tool; empty: none
	Revision    string          `json:"-"`                      // tells versions of Handle apart, such as the sum of its file; empty: there is one
	Input       json.RawMessage `json:"inputSchema"`            // JSON Schema of the arguments, whose type is "object"
	Output      json.RawMessage `json:"outputSchema,omitempty"` // JSON Schema of Result.Structured; nil: none
	Annotations Annotations     `json:"annotations,omitzero"`
	Category    Category        `json:"-"` // what the tool is for; empty: Utility
	Timeout     time.Duration   `json:"-"` // of a call; 0: DefaultTimeout
	// RequiresWorker says that a call is meant for a worker, not for whoever called.
	RequiresWorker bool `json:"-"`
	// Retries is how often a call that has failed may be made again by who carries it out; 0: never. It
	// says nothing of a call that was cut: see Annotations.
	Retries    int        `json:"-"`
	Pinned     bool       `json:"-"` // claude sees the tool from the start, and need not search
	ByName     bool       `json:"-"` // tool_call calls the tool too; else it is called by its own name only
	Keyed      bool       `json:"-"` // takes effect once for all calls with the same Call.Key
	ChecksArgs bool       `json:"-"` // Handle checks the arguments: the schema may be anybody's, and a check of it may never end
	Reach      Reach      `json:"-"` // the channel that a call acts on; nil: all channels
	Asks       func() Ask `json:"-"` // whether a person must allow each call; nil: nobody need
	Handle     Handler    `json:"-"`

	args *Schema // made by the registry
}

// DefaultTimeout bounds the call of a tool that sets no limit.
const DefaultTimeout = 30 * time.Second

// unlimited is the timeout of a tool whose calls take as long as they take.
const unlimited time.Duration = -1

// Annotations are hints for clients. Their JSON is that of MCP.
type Annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint,omitempty"`    // changes nothing: may run again, and beside others
	Idempotent  bool   `json:"idempotentHint,omitempty"`  // may run again
	Destructive Hint   `json:"destructiveHint,omitempty"` // may remove or replace something; clients assume so of a tool that does not say
	OpenWorld   Hint   `json:"openWorldHint,omitempty"`   // reaches what is outside of the gateway; likewise
}

// A Hint is an answer to a question that a tool need not answer. Its JSON is true, false or null.
type Hint int

// The values of a Hint.
const (
	Unsaid Hint = iota
	Yes
	No
)

// HintOf returns the Hint of an answer.
func HintOf(yes bool) Hint {
	if yes {
		return Yes
	}
	return No
}

// Value returns the answer; nil: there is none.
func (h Hint) Value() *bool {
	if h == Unsaid {
		return nil
	}
	yes := h == Yes
	return &yes
}

// MarshalJSON implements [json.Marshaler].
func (h Hint) MarshalJSON() ([]byte, error) { return json.Marshal(h.Value()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (h *Hint) UnmarshalJSON(b []byte) error {
	var value *bool
	if err := json.Unmarshal(b, &value); err != nil {
		return err
	}
	*h = Unsaid
	if value != nil {
		*h = HintOf(*value)
	}
	return nil
}

// A Handler carries out a call. An error is told to the model, which may try again, except for
// core.ErrClosed: then the next process of the gateway carries out the call.
type Handler func(ctx context.Context, c Call) (Result, error)

// ErrNotBegun is the core.ErrClosed of a call that has waited in vain, and has no effect.
var ErrNotBegun = fmt.Errorf("the call has not begun: %w", core.ErrClosed)

// A CutError is the error of a call that the end of the gateway has cut. It wraps core.ErrClosed.
type CutError struct {
	Tool  string
	Again bool // the call has not begun, or may run again
	Asked bool // it has waited for a person, who can decide about it no more
	cause error
}

// Error says whether to call the tool again.
func (e *CutError) Error() string {
	switch {
	case e.Asked:
		return fmt.Sprintf("the gateway is restarting or shutting down before a person has allowed %s, which was not carried out: "+
			"call it again, and a person is asked anew", e.Tool)
	case e.Again:
		return fmt.Sprintf("the gateway is restarting or shutting down: call %s again", e.Tool)
	}
	return fmt.Sprintf("the gateway is restarting or shutting down, and whether %s was carried out is not known: look before calling it again", e.Tool)
}

// Unwrap returns why the call was cut.
func (e *CutError) Unwrap() error { return e.cause }

// NotBegun returns the *CutError of a call of a tool that the gateway has not begun before it ended.
func NotBegun(tool string, cause error) error {
	return &CutError{
		Tool:  tool,
		Again: true,
		cause: cause,
	}
}

// cutOf makes an error that leaves a call to the next process of the gateway a *CutError. A tool that
// calls another one passes on what became of that call.
func cutOf(t *Tool, err error) error {
	if known := (*CutError)(nil); !errors.Is(err, core.ErrClosed) || errors.As(err, &known) {
		return err
	}
	return &CutError{
		Tool:  t.Name,
		Again: t.Annotations.ReadOnly || t.Annotations.Idempotent || errors.Is(err, ErrNotBegun),
		cause: err,
	}
}

// A Call is one call of a tool.
type Call struct {
	Caller

	// ID identifies the call for ever, also when the call is repeated; empty if the client has
	// no such id.
	ID   string
	Args json.RawMessage // an object
	At   time.Time       // when the session asked; zero if unknown
	// RequestID is the agent's id of the request that calls; empty outside of sessions.
	RequestID string
	// Repeated says that an earlier process had begun the call, of a tool that is idempotent or
	// keyed.
	Repeated bool
	// Gone is closed when the client has left; nil if that is not known.
	Gone <-chan struct{}
	// Answered is closed when the caller has the answer, or does not wait any more.
	Answered <-chan struct{}

	// Asked is called with the id of the approval once a person can decide about the call of a client outside of
	// sessions. Nil: nobody is told.
	Asked func(approval string)

	amended bool // a person has changed the arguments
}

// Key identifies the call among all calls; empty for a call that cannot be repeated.
func (c *Call) Key() string {
	if c.Session == "" || c.ID == "" {
		return ""
	}
	return c.Session + "/" + c.ID
}

// A Result is what a tool returns. Of a result with Text and Structured the agent of a session has the
// text alone, because claude shows no text beside an object; other clients have both. A tool with an Output
// returns no Text with Structured.
type Result struct {
	Text       string          // for the model and people; empty with Structured: the object as it is
	Structured json.RawMessage // an object
	// Blocks is what follows the text, such as images and links to resources: content blocks of MCP.
	Blocks  []json.RawMessage `json:",omitempty"`
	IsError bool
	// Outcome is what became of the call. [Registry.Call] sets it; what a handler says of it stays.
	Outcome Outcome `json:",omitempty"`
}
