package core

import "time"

// NewsGrace bounds the time between the end of a background task and the turn that the agent
// begins about the task. The turn's first word comes from the API.
const NewsGrace = 30 * time.Second

// An Activity follows the work of an agent outside the turns of messages: background tasks,
// and turns that the agent begins by itself. Lanes and session hosts decide by an Activity
// whether a session is idle. The zero value describes an idle agent.
type Activity struct {
	Tasks     int       // background tasks that are alive
	OwnTurn   bool      // the agent speaks while no turn is open
	NewsUntil time.Time // until then the agent may begin a turn about an ended task
}

// SetTasks records the number of live background tasks.
func (a *Activity) SetTasks(n int, now time.Time) {
	if a.Tasks > 0 && n == 0 {
		a.NewsUntil = now.Add(NewsGrace)
	}
	a.Tasks = n
}

// Speaks records a word of the agent itself. Words of subagents do not count: a background
// task is alive as long as a subagent works without a turn.
func (a *Activity) Speaks(turnOpen bool) { a.OwnTurn = !turnOpen }

// TurnEnds records the end of a turn, begun by a message or by the agent.
func (a *Activity) TurnEnds() { a.OwnTurn, a.NewsUntil = false, time.Time{} }

// Busy reports whether the agent or a background task is working.
func (a Activity) Busy() bool { return a.OwnTurn || a.Tasks > 0 }
