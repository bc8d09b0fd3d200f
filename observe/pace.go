package observe

import (
	"time"

	"bareclaw/internal/wait"
)

// How often people are told: messages in a row at most gatherTime apart, and after them one for each interval, which are
// eleven an hour at most. A scan of an app's paths shows problems at hundreds of endpoints in minutes, and must not have a phone
// buzz all the time, while who mends an app, and looks at it, is told at once. Ten minutes are the longest that a
// critical problem waits.
const (
	messagesInRow   = 5
	messageInterval = 10 * time.Minute
)

// A messagePace counts the messages of late. The zero value has counted none.
type messagePace struct {
	free time.Time // when as many messages may come in a row as at first
}

// count counts a message, and returns how long to gather what the next one tells.
func (p *messagePace) count(now time.Time) time.Duration {
	p.free = wait.Latest(p.free, now).Add(messageInterval)
	return max(gatherTime, p.free.Sub(now)-(messagesInRow-1)*messageInterval)
}
