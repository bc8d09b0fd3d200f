package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"bareclaw/core"
)

// Show returns the content of a claude line for a person, in order; nothing for most lines
// and for other input. Show omits the text of an API error, which comes with the result.
//
// claude sends a block of text twice: streamed in pieces, and whole before the block's end.
// The whole block has no index, but the line's uuid becomes its ID, the same at each
// repetition.
func Show(raw json.RawMessage) []core.DisplayEvent {
	e, err := Decode(raw)
	if err != nil {
		return nil
	}
	switch e.Type {
	case TypeStreamEvent:
		return e.showStream()
	case TypeAssistant:
		return e.showAssistant()
	case TypeUser:
		return e.showToolEnds()
	case TypeSystem:
		return e.showSystem()
	}
	return nil
}

func (e *Event) showStream() []core.DisplayEvent {
	inner := decoded[streamed](e.stream)
	s := core.DisplayEvent{Message: text(e.apiMessageID), Index: int(inner.Index), Parent: text(e.parent)}
	switch b := inner.Block; {
	case inner.Type == "content_block_delta" && inner.Delta.Type == "text_delta":
		s.Kind, s.Text = core.DisplayTextDelta, inner.Delta.Text
	case inner.Type != "content_block_start":
		return nil
	case b.Type == "text":
		s.Kind = core.DisplayTextBegin
	case isThinking(b.Type):
		s.Kind = core.DisplayThinking
	case isToolCall(b.Type):
		s.Kind, s.ID, s.Tool = core.DisplayTool, b.ID, b.Name
	default:
		return nil
	}
	return []core.DisplayEvent{s}
}

func (e *Event) showAssistant() []core.DisplayEvent {
	if e.apiError {
		return nil
	}
	m := decoded[message](e.message)
	all := make([]core.DisplayEvent, 0, len(m.Content))
	for i, b := range m.Content {
		s := core.DisplayEvent{Message: m.ID, Parent: text(e.parent)}
		switch {
		case b.Type == "text":
			s.Kind, s.ID, s.Text = core.DisplayText, e.blockID(i), b.Text
		case isThinking(b.Type):
			s.Kind = core.DisplayThinking
		case isToolCall(b.Type):
			s.Kind, s.ID, s.Tool, s.Target, s.Input = core.DisplayTool, b.ID, b.Name, ToolTarget(b.Input), b.Input
		case isToolResult(b.Type): // of a tool run by the API itself
			s.Kind, s.ID, s.IsError = core.DisplayToolEnd, b.ToolUseID, b.IsError
		default:
			continue
		}
		all = append(all, s)
	}
	return all
}

// blockID names the i-th block of the line. Lines seen so far have one block and a uuid.
func (e *Event) blockID(i int) string {
	id := text(e.uuid)
	if id == "" {
		id = uuid.NewSHA1(uuid.NameSpaceOID, e.Raw).String()
	}
	if i > 0 {
		id = fmt.Sprintf("%s/%d", id, i)
	}
	return id
}

// showToolEnds shows the ends of tool calls: the rest of a user event is no news to a person.
func (e *Event) showToolEnds() (all []core.DisplayEvent) {
	if !bytes.Contains(e.message, []byte(`tool_result"`)) {
		return nil
	}
	for _, b := range decoded[message](e.message).Content {
		if isToolResult(b.Type) {
			all = append(all, core.DisplayEvent{Kind: core.DisplayToolEnd, ID: b.ToolUseID, IsError: b.IsError, Parent: text(e.parent)})
		}
	}
	return all
}

func (e *Event) showSystem() []core.DisplayEvent {
	s := core.DisplayEvent{Parent: text(e.parent)}
	switch {
	case e.Subtype == "status" && text(e.status) == "compacting":
		s.Kind = core.DisplayCompacting
	case e.Subtype == "status" && e.compacted != nil, e.Subtype == "compact_boundary":
		s.Kind = core.DisplayCompacted
	case e.Subtype == "api_retry":
		r := e.APIRetry()
		if r.Attempt == 0 { // an odd shape
			return nil
		}
		s.Kind, s.Text = core.DisplayRetry, fmt.Sprintf("%s, attempt %d of %d", r.Reason, r.Attempt, r.MaxRetries)
	default:
		tasks, ok := e.BackgroundTasks()
		if !ok {
			return nil
		}
		s.Kind, s.Tasks = core.DisplayTasks, len(tasks)
	}
	return []core.DisplayEvent{s}
}

// isThinking recognises thinking and redacted_thinking.
func isThinking(blockType string) bool { return strings.HasSuffix(blockType, "thinking") }

// Translate returns the event for a lane.
func (e *Event) Translate() core.Event {
	t := core.Event{Type: e.Type, Raw: e.Raw}
	switch e.Type {
	case TypeLifecycle:
		e.translateLifecycle(&t)
	case TypeResult:
		r := e.Result()
		if r.Code == core.CodeNotLoggedIn { // claude's own words are for a person at its terminal
			r.Text = r.Error
		}
		t.Kind, t.Result = core.Resulted, &r
	case TypeControlRequest:
		if t.Request = e.PermissionRequest(); t.Request != nil {
			t.Kind = core.Requested
		} else if m := e.MCPMessage(); m != nil {
			m.toolEvent(&t)
		}
	case TypeCancelRequest:
		t.Kind, t.Request = core.RequestGone, &core.Request{ID: e.CancelRequest()}
	case TypeStreamEvent:
		if e.BeginsTool() {
			t.Kind = core.ToolBegun // the call with its input follows
		}
	case TypeAssistant:
		e.translateTool(&t)
	case TypeRateLimit:
		if rejected, until := e.rateLimit(); rejected {
			t.Kind, t.Until = core.Limited, until
		}
	case TypeSystem:
		e.translateSystem(&t)
	}
	return t
}

func (e *Event) translateLifecycle(t *core.Event) {
	if wokenBy, ok := e.BeginsOwnTurn(); ok {
		t.Kind, t.Detail = core.OwnTurn, wokenBy
		return
	}
	message, phase := e.Lifecycle()
	t.Kind, t.Turn, t.Phase = core.TurnState, core.TurnID(message), phase
}

func (e *Event) translateTool(t *core.Event) {
	if !bytes.Contains(e.message, toolUseSuffix) { // most messages are text
		return
	}
	for _, b := range decoded[message](e.message).Content {
		if b.Type == "tool_use" {
			t.Kind, t.Tool, t.Target = core.ToolBegun, b.Name, ToolTarget(b.Input)
			t.ToolID, t.Timeout = b.ID, toolTimeout(b.Name, b.Input)
		}
	}
}

func (e *Event) translateSystem(t *core.Event) {
	switch e.Subtype {
	case "api_retry":
		r := e.APIRetry()
		t.Kind, t.Status = core.Retrying, int(r.Status)
		t.Detail = fmt.Sprintf("%s (status %d), attempt %d of %d in %s", r.Reason, r.Status, r.Attempt, r.MaxRetries, r.delay())
	case "init":
		t.Model, t.Version = text(e.model), e.Version()
		if _, ok := e.BeginsOwnTurn(); ok {
			t.Kind = core.OwnTurn
		}
	case "informational":
		if warning := e.warning(); warning != "" {
			t.Kind, t.Detail = core.Warned, warning
		}
	}
	if tasks, ok := e.BackgroundTasks(); ok {
		t.Kind, t.Tasks = core.TasksChanged, tasks
	}
}

// warning returns the text of a system/informational event that warns the user, and which is
// part of no answer; empty for a mere hint.
func (e *Event) warning() string {
	w := decoded[struct {
		Content string `json:"content"`
		Level   string `json:"level"`
	}](e.Raw)
	if w.Level != "warning" && w.Level != "error" {
		return ""
	}
	return strings.TrimSpace(w.Content)
}

// Result decodes a result event, the end of a turn. A result answers the messages whose
// uuids it names. A result with an origin (a finished background task) answers only
// messages folded into its turn. Results of slash commands, interrupts, exceeded limits,
// API errors and refused logins name their messages too.
func (e *Event) Result() core.Result {
	r := rawResult{Subtype: e.Subtype}
	decode(e.Raw, &r)
	r.IsError = r.IsError || r.compactionFailed()
	res := core.Result{
		Text:        r.Text,
		IsError:     r.IsError,
		Interrupted: r.interrupted(),
		SessionID:   e.SessionID(),
		TotalCost:   r.TotalCostUSD,
		NumTurns:    int(r.NumTurns),
	}
	for _, usage := range r.Usage {
		res.Cost += usage.CostUSD
	}
	for _, id := range r.UserMessageUUIDs {
		if id != "" { // an odd shape
			res.Turns = append(res.Turns, core.TurnID(id))
		}
	}
	if res.Background = r.Origin.Kind != "" && len(res.Turns) == 0; res.Background { // else messages were folded into the turn
		res.WokenBy = wakeups[r.Origin.Kind]
	}
	if r.IsError {
		res.Code, res.Error = r.failure()
		res.Refused = r.refused()
		res.Until = r.limitEnds(time.Now())
	}
	return res
}

// rateLimit reads the API's report about the limits of a subscription (documented for CLI
// 2.1, not seen): whether calls are refused, and not paid for otherwise, and until when; a
// zero time if unknown.
func (e *Event) rateLimit() (rejected bool, until time.Time) {
	var r struct {
		Info struct {
			Status   string `json:"status"`
			Paid     bool   `json:"isUsingOverage"`
			ResetsAt count  `json:"resetsAt"`
		} `json:"rate_limit_info"`
	}
	decode(e.Raw, &r)
	return r.Info.Status == "rejected" && !r.Info.Paid, unixTime(int64(r.Info.ResetsAt))
}

// An Init begins every turn and names the current model and version.
type Init struct {
	Model   string `json:"model"`
	Version string `json:"claude_code_version"` // of the CLI
}

// Init decodes a system/init event.
func (e *Event) Init() Init { return decoded[Init](e.Raw) }

// Version returns claude's version from a system/init event or from the answer to initialize,
// "" from any other event, and for a version of an odd form.
func (e *Event) Version() string {
	var version string
	switch {
	case e.Type == TypeSystem && e.Subtype == "init":
		version = text(e.version)
	case e.Type == TypeControlResponse:
		version = decoded[struct {
			Response Init `json:"response"`
		}](e.response).Response.Version
	}
	const longest = 40
	odd := func(r rune) bool {
		return r != '.' && r != '-' && r != '+' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	if len(version) > longest || strings.ContainsFunc(version, odd) {
		return ""
	}
	return version
}

// An APIRetry is a repeated API call. claude repeats even a 401 for minutes, although no
// repetition cures a wrong key.
type APIRetry struct {
	Attempt    count   `json:"attempt"`
	MaxRetries count   `json:"max_retries"`
	DelayMS    float64 `json:"retry_delay_ms"`
	Status     count   `json:"error_status"` // HTTP status, 0 without a response
	Reason     string  `json:"error"`        // authentication failed, rate limit, overloaded, server error, unknown
}

func (r APIRetry) delay() time.Duration { return time.Duration(r.DelayMS * float64(time.Millisecond)) }

// APIRetry decodes a system/api_retry event.
func (e *Event) APIRetry() (r APIRetry) {
	decode(e.Raw, &r)
	r.Reason = strings.ReplaceAll(r.Reason, "_", " ")
	return r
}
