package core

import "time"

// NewsGrace is how long an agent may take to begin a turn about a background task that has
// ended: its first word comes from the API.
const NewsGrace = 30 * time.Second

// An Activity follows the work of an agent that no message asked for: background tasks, and
// turns that the agent begins by itself. Lanes and session hosts decide by it whether a
// session is idle. The zero value is an agent that does nothing.
type Activity struct {
	Tasks     int       // background tasks that are alive
	OwnTurn   bool      // the agent speaks although no turn is open
	NewsUntil time.Time // until then the agent may begin to tell the news of a task
}

// SetTasks notes how many background tasks are alive.
func (a *Activity) SetTasks(n int, now time.Time) {
	if a.Tasks > 0 && n == 0 {
		a.NewsUntil = now.Add(NewsGrace)
	}
	a.Tasks = n
}

// Speaks notes a word of the agent itself. A subagent's word does not count: a background
// task is alive as long as a subagent works without a turn.
func (a *Activity) Speaks(turnOpen bool) { a.OwnTurn = !turnOpen }

// TurnEnds notes the end of a turn, whoever began it.
func (a *Activity) TurnEnds() { a.OwnTurn, a.NewsUntil = false, time.Time{} }

// Busy reports whether the agent works, or a background task does.
func (a Activity) Busy() bool { return a.OwnTurn || a.Tasks > 0 }
