package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
)

// Phase is what the channel does.
type Phase string

// The phases. A channel has the last one until the next message.
const (
	Idle     Phase = "idle"     // nothing is known of it
	Waiting  Phase = "waiting"  // Why says what for
	Starting Phase = "starting" // a turn is about to begin
	Running  Phase = "running"
	Ended    Phase = "ended" // the last turn
)

// A View is what a person sees of a channel at one moment.
type View struct {
	Turn    core.TurnID // the one that runs, or ran last
	Phase   Phase
	Since   time.Time // of Starting, Running
	Why     string    // of Waiting: for a person, with the time when it goes on by itself if that is known
	Waiting int       // messages that wait, for the running turn or for what Why says

	// While a turn runs:
	Tool, Target string // the newest open call, see [Line]; may be empty
	Open         int    // calls that it waits for, hidden ones left out
	Tools        int    // calls so far, hidden ones left out; also once it has ended
	Agents       int    // sub-agents that it waits for
	Tasks        int    // background tasks that are alive, also while no turn runs
	Approvals    []core.Approval
	Thinking     bool
	Compacting   bool
	Retrying     string    // why, and which attempt it is; empty when it does not
	Stalled      bool      // nothing was heard for longer than is usual
	Heard        time.Time // of the agent, for the last time

	// The text that is being written, or that is whole, while it is not known whether
	// it is said or is the answer. Stream is the same as long as it is one text, also
	// after a replay; it may be empty for one that came whole.
	Text, Stream string
	Whole        bool

	Summary string        // of Ended: one line; empty when there is nothing to say
	After   core.UpdateID // resuming after it brings the updates that made this View; zero when it is not known
}

// View returns what is to be seen now.
func (f *Fold) View() View {
	v := View{Phase: Idle, Waiting: len(f.waiting) + f.before, Tasks: f.tasks, After: f.after, Approvals: slices.Clone(f.asked)}
	if t := f.turn; t != nil {
		t.view(&v)
	}
	switch {
	case f.running():
		v.Phase = Running
	case v.Waiting > 0:
		v.Phase, v.Since = Starting, f.since
		if f.why != "" {
			v.Phase, v.Why = Waiting, f.why
		}
	case f.turn != nil:
		v.Phase = Ended
	}
	return v
}

func (t *turn) view(v *View) {
	v.Turn, v.Since, v.Tools = t.id, t.since, t.tools
	if t.end != nil {
		v.Summary = t.summary()
		return
	}
	if c := t.current(); c != nil {
		v.Tool, v.Target = c.line.Tool, c.line.Target
	}
	for _, c := range t.calls {
		if !c.line.Hidden && t.awaited(c) {
			v.Open++
		}
	}
	v.Agents, v.Thinking, v.Compacting, v.Retrying = t.agents(), t.thinking, t.compacting, t.retry
	v.Stalled, v.Heard = t.stalled, t.heard
	if t.text != nil {
		v.Text, v.Stream, v.Whole = t.text.words.String(), t.text.stream, t.text.whole()
	}
}

// maxWhy bounds the reason for waiting in a status, in characters.
const maxWhy = 200

// Status says in one line what goes on. It is the same until [View.NextChange]. It
// is empty when nothing does, and for a turn that ended without anything to say.
func (v View) Status(now time.Time) string {
	switch v.Phase {
	case Waiting:
		return joined(cut(clean(v.Why), maxWhy), v.queue())
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

// NextChange returns when Status changes by itself, if nothing happens before; zero
// when it does not. It is later than now.
func (v View) NextChange(now time.Time) time.Time {
	switch v.Phase {
	case Starting:
		return nextStep(v.Since, now)
	case Running:
		next := nextStep(v.Since, now)
		if v.silent() {
			if other := nextStep(v.Heard, now); other.Before(next) {
				return other
			}
		}
		return next
	case Idle, Waiting, Ended:
	}
	return time.Time{}
}

// silent reports whether the status says how long nothing was heard.
func (v View) silent() bool { return v.Stalled && len(v.Approvals) == 0 }

// Activity is Status without times, sub-agents and tasks: what the channel does now in a
// few words, empty if nothing.
func (v View) Activity(now time.Time) string {
	switch v.Phase {
	case Waiting:
		return "Waiting: " + cut(clean(v.Why), maxWhy)
	case Starting:
		return "Starting"
	case Running:
		return v.doing(now)
	case Idle, Ended:
	}
	return ""
}

// doing says what the agent does, the most important first.
func (v View) doing(now time.Time) string {
	tool := labelled(v.Tool, v.Target)
	switch {
	case len(v.Approvals) > 0:
		return v.asking(tool)
	case v.silent():
		return joined("Nothing heard for "+elapsed(now.Sub(v.Heard)), tool)
	case v.Retrying != "":
		return "Trying again: " + cut(clean(v.Retrying), maxLine)
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

// asking says what a person is waited for; tool is the call that is named.
func (v View) asking(tool string) string {
	first, others := v.Approvals[0].Tool, more(len(v.Approvals)-1)
	switch {
	case first == askTool:
		return "Waiting for your answer" + others
	case first == planTool:
		return "Waiting for your word on the plan" + others
	case toolName(first) == v.Tool:
		return "Waiting for permission: " + tool + others
	}
	return "Waiting for permission: " + toolName(first) + others
}

// subAgents counts them, unless there is only the one whose call is named.
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

// counted is empty for none.
func counted(n int, what string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// joined puts the parts that there are on one line.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}
