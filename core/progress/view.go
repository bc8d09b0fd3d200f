package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
	"bareclaw/internal/visible"
)

// Phase is the present activity of the channel.
type Phase string

// The phases. A channel stays in Ended until the next message.
const (
	Idle     Phase = "idle"     // no activity known
	Waiting  Phase = "waiting"  // messages wait; see Why
	Starting Phase = "starting" // a turn is about to begin
	Running  Phase = "running"
	Ended    Phase = "ended" // the last turn has ended
)

// A View is the state of a channel as shown to a person.
type View struct {
	Turn    core.TurnID // the running or last turn
	Phase   Phase
	Since   time.Time // begin of Starting or Running
	Why     string    // reason for Waiting, for a person, with the time of an automatic restart if known
	Waiting int       // number of messages waiting for the running turn, or for the reason in Why

	// While a turn runs:
	Tool, Target string // the newest open call, see [Line]; may be empty
	Open         int    // calls that the agent waits for, without hidden calls
	Tools        int    // calls of the turn, without hidden calls; kept after the end
	Agents       int    // sub-agents that the agent waits for
	Tasks        int    // live background tasks, counted even without a running turn
	Approvals    []core.Approval
	Thinking     bool
	Compacting   bool
	Retrying     string    // reason and number of the retry; empty without a retry
	Stalled      bool      // the agent has been silent for unusually long
	Heard        time.Time // time of the agent's last event

	// The text being streamed, or whole but not yet known to be said or to be the answer.
	// Stream stays the same for a text, even after a replay; Stream may be empty for a text
	// received whole.
	Text, Stream string
	Whole        bool

	Summary string        // one line about the ended turn; empty without anything to say
	After   core.UpdateID // resuming after this update repeats the updates that make up the View; zero if unknown
}

// View returns the present View.
func (f *Fold) View() View {
	v := View{Phase: Idle}
	if f.turn != nil {
		v = f.turn.view()
	}
	v.Waiting, v.Tasks, v.After, v.Approvals = len(f.waiting)+f.before, f.tasks, f.after, slices.Clone(f.asked)
	if v.Phase != Running && v.Waiting > 0 {
		v.Phase, v.Since = Starting, f.since
		if f.why != "" {
			v.Phase, v.Why = Waiting, f.why
		}
	}
	return v
}

// Lines returns the newest calls of the running or last turn: at most 20, oldest first.
func (f *Fold) Lines() (lines []Line) {
	if f.turn != nil {
		for _, c := range f.turn.lines {
			lines = append(lines, c.Line)
		}
	}
	return lines
}

// view adds the newest shown call, the counts of open calls and the text.
func (t *turn) view() View {
	v := t.View
	for _, c := range t.calls {
		if t.shows(c) {
			v.Tool, v.Target = c.Tool, c.Target
			v.Open++
		}
		if c.name == "Task" || c.name == "Agent" {
			v.Agents++
		}
	}
	if t.text != nil {
		v.Text, v.Stream, v.Whole = t.text.words.String(), t.text.stream, t.text.whole()
	}
	return v
}

// maxWhy bounds the reason for waiting in a status, in characters.
const maxWhy = 200

// Status describes the present activity in a line, constant until [View.NextChange]. Status
// is empty without any activity, and for a turn with an empty summary.
func (v View) Status(now time.Time) string {
	switch v.Phase {
	case Waiting:
		return joined(humanize.Shorten(visible.Words(v.Why), maxWhy), v.queue())
	case Starting:
		return joined("Starting", elapsed(now.Sub(v.Since)), v.background())
	case Running:
		return joined(v.doing(now), elapsed(now.Sub(v.Since)), v.subAgents(), v.background(), v.queue())
	case Ended:
		return v.Summary
	case Idle:
	}
	return ""
}

// NextChange returns the time at which Status changes without an update; zero if Status
// stays. The time is later than now.
func (v View) NextChange(now time.Time) time.Time {
	if v.Phase != Starting && v.Phase != Running {
		return time.Time{}
	}
	next := nextStep(v.Since, now)
	if other := nextStep(v.Heard, now); v.Phase == Running && v.silent() && other.Before(next) {
		return other
	}
	return next
}

// silent reports whether the status shows the duration of the agent's silence.
func (v View) silent() bool { return v.Stalled && len(v.Approvals) == 0 }

// Activity is Status without times, sub-agents and tasks: the present activity of the
// channel in a few words, empty without any.
func (v View) Activity(now time.Time) string {
	switch v.Phase {
	case Waiting:
		return "Waiting: " + humanize.Shorten(visible.Words(v.Why), maxWhy)
	case Starting:
		return "Starting"
	case Running:
		return v.doing(now)
	case Idle, Ended:
	}
	return ""
}

func (v View) doing(now time.Time) string {
	tool := labelled(v.Tool, v.Target)
	switch {
	case len(v.Approvals) > 0:
		return v.asking(tool)
	case v.silent():
		return joined("Nothing heard for "+elapsed(now.Sub(v.Heard)), tool)
	case v.Retrying != "":
		return "Trying again: " + humanize.Shorten(visible.Words(v.Retrying), maxLine)
	case v.Compacting:
		return "Shortening the conversation"
	case tool != "":
		return tool + more(v.Open-1)
	case v.Thinking:
		return "Thinking"
	case v.Text != "" && !v.Whole:
		return "Writing"
	}
	return "Working"
}

// asking names the decision awaited from a person; tool is the labelled current call.
func (v View) asking(tool string) string {
	first, others := v.Approvals[0].Tool, more(len(v.Approvals)-1)
	switch {
	case first == core.ToolAskUser:
		return "Waiting for your answer" + others
	case first == core.ToolExitPlan:
		return "Waiting for your word on the plan" + others
	case toolName(first) == v.Tool:
		return "Waiting for permission: " + tool + others
	}
	return "Waiting for permission: " + toolName(first) + others
}

// subAgents counts sub-agents, except a single sub-agent whose call is already named.
func (v View) subAgents() string {
	if v.Agents == 0 || v.Agents == 1 && (v.Tool == "Task" || v.Tool == "Agent") {
		return ""
	}
	return counted(v.Agents, "sub-agent")
}

func (v View) background() string { return counted(v.Tasks, "background task") }

func (v View) queue() string {
	if v.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf("%d waiting", v.Waiting)
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (+%d)", n)
}

// counted formats a number with its noun; empty for 0.
func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return humanize.Count(n, what)
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}
