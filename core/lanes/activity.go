package lanes

import (
	"cmp"
	"time"

	"bareclaw/core"
)

// An activity follows the work of a session: when the agent was last heard of, and the tools
// in use.
type activity struct {
	lastHeard time.Time            // last event of the session, or last work given to the session
	reported  bool                 // the silence since lastHeard has been reported as a stall
	tool      string               // name of the tool in use; empty without a tool
	call      string               // the agent's id of the call of tool
	last      string               // tool and target of the last tool call in the turn
	deadlines map[string]time.Time // announced by tool calls, by call id
}

// touch records an event of the agent, or new work given to the agent.
func (a *activity) touch() { a.lastHeard, a.reported = time.Now(), false }

// silence returns the time since the agent was last heard of.
func (a *activity) silence() time.Duration { return time.Since(a.lastHeard).Round(time.Second) }

// begin records the beginning of a tool call, and the timeout announced by the call.
func (a *activity) begin(ev core.Event) {
	a.tool, a.last, a.call = ev.Tool, ev.Tool+": "+ev.Target, ev.ToolID
	if ev.Timeout <= 0 {
		return
	}
	if a.deadlines == nil {
		a.deadlines = map[string]time.Time{}
	}
	a.deadlines[ev.ToolID] = time.Now().Add(ev.Timeout)
}

// end records the result of a tool call.
func (a *activity) end(call string) {
	delete(a.deadlines, call)
	if call == a.call && a.tool != "" {
		a.tool, a.last = "", "after "+a.last
	}
}

// endTurn forgets the tools of a turn.
func (a *activity) endTurn() {
	a.tool, a.last = "", ""
	clear(a.deadlines)
}

// describe returns the last known activity, for a person.
func (a *activity) describe() string { return cmp.Or(a.last, "no tool was used yet") }

// stallDue returns when a silent turn counts as stuck: after the given silence, or later if a
// tool call has announced a timeout. stallDue returns zero if the silence is already
// reported.
func (a *activity) stallDue(after time.Duration) time.Time {
	if a.reported {
		return time.Time{}
	}
	silent := a.lastHeard
	for _, until := range a.deadlines {
		if until.After(silent) {
			silent = until
		}
	}
	return silent.Add(after)
}

// newsGrace is how long the agent may take to begin reporting ended background tasks: the
// first output needs an API call.
const newsGrace = 30 * time.Second

// background is the agent's work without a request of a user: background tasks, and reports
// of ended tasks.
type background struct {
	tasks       int       // live background tasks
	reporting   bool      // the agent works without a request
	newsUntil   time.Time // deadline for the agent to begin reporting ended tasks
	newsGuessed bool      // newsUntil is a guess made while attaching, not caused by an event
}

// setTasks records the number of live tasks. After the last task's end the agent may report.
func (b *background) setTasks(n int) {
	if b.tasks > 0 && n == 0 {
		b.expectNews(false)
	}
	b.tasks = n
}

// expectNews gives the agent the time to begin a report.
func (b *background) expectNews(guessed bool) {
	b.newsUntil, b.newsGuessed = time.Now().Add(newsGrace), guessed
}

// mayReport reports whether the agent works without a request, or may begin a report.
func (b *background) mayReport() bool { return b.reporting || time.Now().Before(b.newsUntil) }

// keepsSettings reports whether tasks, or a report of ended tasks, keep a process with
// outdated settings.
func (b *background) keepsSettings() bool {
	return b.tasks > 0 || b.reporting || time.Now().Before(b.newsUntil) && !b.newsGuessed
}
