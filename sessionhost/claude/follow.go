package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"bareclaw/core"
)

// A Follower follows claude's output, and finds the words for results that claude leaves without:
// a turn whose end a hook has blocked too often, a command of claude's that has worked, a report
// of background tasks that a session has not survived. The zero value is ready.
type Follower struct {
	begun   bool     // the begin of the present turn has been seen
	said    string   // the last text of claude itself in the turn
	blocked string   // said when a hook blocked the end of the turn for the first time
	done    string   // what a command has done
	lost    []string // tool calls that began the tasks which ended with their session, reported since the last result
}

// Follow notes an event.
func (f *Follower) Follow(e *Event) {
	switch e.Type {
	case TypeLifecycle:
		_, phase := e.Lifecycle()
		f.begun = f.begun || phase == core.PhaseStarted
	case TypeReset:
		f.done = "A new conversation has begun."
	case TypeSystem:
		f.followSystem(e)
	case TypeAssistant:
		if e.Subagent() || e.apiError || !bytes.Contains(e.message, textBlock) { // decodes no long call of a tool
			return
		}
		for _, b := range decoded[message](e.message).Content {
			if b.Type == "text" && strings.TrimSpace(b.Text) != "" {
				f.said = b.Text
			}
		}
	case TypeUser:
		if f.blocked == "" && bytes.Contains(e.message, []byte(markBlocked)) && isBlockedEnd(decoded[message](e.message)) {
			f.blocked = f.said
		}
	}
}

// textBlock is in each message that has a text.
var textBlock = []byte(`"text"`)

func (f *Follower) followSystem(e *Event) {
	switch e.Subtype {
	case "init": // begins each turn: one before it that had no result has no words any more
		f.said, f.blocked = "", ""
	case "compact_boundary":
		in := decoded[struct {
			Metadata struct {
				Trigger string `json:"trigger"`
			} `json:"compact_metadata"`
		}](e.Raw)
		if in.Metadata.Trigger == "manual" { // else claude shortens the conversation by itself, in any turn
			f.done = "Compacted."
		}
	case "task_notification":
		in := decoded[struct {
			Call   string `json:"tool_use_id"`
			Status string `json:"status"`
		}](e.Raw)
		if in.Status == "stopped" {
			f.lost = append(f.lost, in.Call)
		}
	}
}

// A Record reads what a session has recorded.
type Record interface {
	// Answer returns the recorded answer of a turn; empty if unknown.
	Answer(turn core.TurnID) string
	// Call returns the tool of a recorded call and what the call worked on; empty if unknown.
	Call(id string) (tool, target string)
}

// Complete gives a result without words the words of its turn, if there are any, and forgets the
// turn. If Follow has not seen the begin of the turn, the words come from the record.
func (f *Follower) Complete(r *core.Result, record Record) {
	turn := *f
	*f = Follower{}
	if r.IsError || strings.TrimSpace(r.Text) != "" {
		return
	}
	switch {
	case turn.blocked != "":
		r.Text = turn.blocked
	case turn.said != "":
		r.Text = turn.said
	case turn.done != "":
		r.Text = turn.done
	case r.Background:
		r.Text = lostWords(turn.lost, record)
	case !turn.begun && len(r.Turns) > 0:
		r.Text = record.Answer(r.Turns[0])
	}
}

// lostWords tells which background tasks did not finish.
func lostWords(lost []string, record Record) string {
	var lines []string
	for _, call := range lost {
		kind := "command"
		tool, target := record.Call(call)
		if tool != "" && tool != "Bash" {
			kind = "task"
		}
		target = strings.Join(strings.Fields(strings.ReplaceAll(target, "`", "'")), " ") // shown as code, on one line
		if target == "" {
			lines = append(lines, fmt.Sprintf("A background %s did not finish: its session ended.", kind))
			continue
		}
		lines = append(lines, fmt.Sprintf("The background %s `%s` did not finish: its session ended.", kind, target))
	}
	return strings.Join(lines, "\n")
}

// markBlocked begins claude's message to itself after a hook has blocked the end of a turn, and
// markBlockedForGood claude's warning that the turn ends nevertheless.
const (
	markBlocked        = "Stop hook feedback:"
	markBlockedForGood = "A hook blocked the turn from ending"
)

func isBlockedEnd(m message) bool {
	return len(m.Content) > 0 && strings.HasPrefix(m.Content[0].Text, markBlocked)
}

// ReadCall finds a tool call in a transcript, and returns the tool and what the call worked on;
// both are empty without such a call.
func ReadCall(path, id string) (tool, target string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", "", fmt.Errorf("read call %s: %w", id, err)
	}
	defer f.Close()
	quoted, err := json.Marshal(id)
	if err != nil {
		return "", "", fmt.Errorf("read call %s: %w", id, err)
	}
	for lines := NewReader(f, 0); ; {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return "", "", nil
		case err != nil:
			return "", "", fmt.Errorf("read call %s in %s: %w", id, path, err)
		case !bytes.Contains(line.Bytes, quoted):
			continue
		}
		var e entry
		decode(line.Bytes, &e)
		for _, b := range e.Message.Content {
			if isToolCall(b.Type) && b.ID == id {
				return b.Name, ToolTarget(b.Input), nil
			}
		}
	}
}
