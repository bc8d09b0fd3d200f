package throttle

import (
	"container/heap"
	"slices"
	"time"
)

// turns are the chats ready to begin a job, by class. Each chat waits in the list of the
// chat's best class, and goes to the end of the list after a turn.
type turns [Progress + 1][]*chat

// first returns the next chat in a class; nil: none.
func (t *turns) first(class Class) *chat {
	if len(t[class]) == 0 {
		return nil
	}
	return t[class][0]
}

// join adds a chat at the end of a list, unless the chat is already in the list.
func (t *turns) join(c *chat, class Class) {
	if c.waiting && c.turn == class {
		return
	}
	t.leave(c)
	c.waiting, c.turn = true, class
	t[class] = append(t[class], c)
}

func (t *turns) leave(c *chat) {
	if !c.waiting {
		return
	}
	c.waiting = false
	list := t[c.turn]
	if list[0] == c { // nearly always
		list[0] = nil
		t[c.turn] = list[1:]
		return
	}
	i := slices.Index(list, c)
	t[c.turn] = slices.Delete(list, i, i+1)
}

// alarms is a heap of chats by the time of the next call of place.
type alarms []*chat

// set replaces a chat's alarm. A zero moment is none.
func (a *alarms) set(c *chat, at time.Time) {
	c.alarm = at
	switch {
	case at.IsZero() && c.index >= 0:
		heap.Remove(a, c.index)
	case at.IsZero():
	case c.index >= 0:
		heap.Fix(a, c.index)
	default:
		heap.Push(a, c)
	}
}

// next returns the first alarm; zero: none.
func (a alarms) next() time.Time {
	if len(a) == 0 {
		return time.Time{}
	}
	return a[0].alarm
}

// due removes and returns a chat with a due alarm; nil: none.
func (a *alarms) due(now time.Time) *chat {
	if len(*a) == 0 || (*a)[0].alarm.After(now) {
		return nil
	}
	c := (*a)[0]
	a.set(c, time.Time{})
	return c
}

// Len, Less, Swap, Push and Pop are for container/heap.
func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].alarm.Before(a[j].alarm) }
func (a alarms) Swap(i, j int)      { a[i], a[j] = a[j], a[i]; a[i].index = i; a[j].index = j }

// Push is for container/heap.
func (a *alarms) Push(x any) {
	c := x.(*chat) //nolint:forcetypeassert // only chats are put in
	c.index = len(*a)
	*a = append(*a, c)
}

// Pop is for container/heap.
func (a *alarms) Pop() any {
	last := len(*a) - 1
	c := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	c.index = -1
	return c
}
