// Package throttle decides when each send of one bot goes out. It knows jobs,
// keys and time, and nothing of what is sent.
//
//	s := schedule.New(schedule.Options{Classify: verdict, Log: log})
//	go s.Run(ctx)
//	s.Submit(schedule.Job{Chat: chat, Lane: topic, Class: schedule.Final, Do: send, Done: record})
//
// Of the jobs of one lane those that must arrive (Final, Approval) are done in
// the order submitted, one at a time in a chat, and are tried until they succeed,
// fail for good, or are too old. Between chats, and between the lanes of a chat,
// turns are taken; a Final goes before an Approval, and both before Progress,
// wherever a limit makes them wait. Progress is never tried twice, and of what
// waits under one key only the newest is done: submit each state of a status
// line, and it is shown as often as the limits allow. A Hint (typing, a draft) is
// done at once or not at all. Control (the answer to a tap) has no limit but that
// of the bot. Before a message that Progress edits is given its final form,
// Cancel makes sure that no edit comes later.
//
// A failure is judged by Options.Classify. One that names a wait holds the chat,
// or the bot, for exactly that time. One that concerns everything, such as a lost
// connection, holds all jobs, and single ones probe whether it is over. A try
// that may have arrived is repeated like any other: one duplicate for each such
// failure is possible, a loss is not.
//
// Nothing here is durable. The owner keeps what must arrive, and submits it again
// after a restart with Job.Tried and Job.Since; what a chat was told to wait for is
// kept with Hold; a few jobs of a lane at a time,
// the next when one is Done, are enough (see Pending). All else is bounded: by
// one job for each key and Options.MaxProgress for a chat.
package throttle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Class says how much a job matters.
type Class uint8

// The classes. Final and Approval are durable: they are kept in order and tried
// again.
const (
	Final    Class = iota // an answer, a push: what somebody waits for
	Approval              // a question that the agent waits for
	Progress              // the state of a turn; only the newest is of interest
	Control               // an answer that is of use only now, and to no chat: to a tap, for instance
	Hint                  // typing, drafts: dropped wherever they cannot go at once

	classes = int(Hint) + 1
)

// String is the name for metrics and logs.
func (c Class) String() string {
	switch c {
	case Final:
		return "final"
	case Approval:
		return "approval"
	case Progress:
		return "progress"
	case Control:
		return "control"
	case Hint:
		return "hint"
	}
	return fmt.Sprintf("class %d", uint8(c))
}

func (c Class) durable() bool { return c == Final || c == Approval }

// light reports whether the class may be dropped.
func (c Class) light() bool { return c == Progress || c == Hint }

// A Job is something to send. Its functions are called by the scheduler alone.
type Job struct {
	Chat  int64
	Group bool // the chat has the limits of a group
	Lane  int  // order is kept within a lane of a chat, a topic for instance
	Class Class

	// Key, if not empty, names within the chat what a Progress or Hint shows. A
	// newer Progress takes the place of one with its key that is not begun; a Hint
	// is dropped while one with its key is in flight. Other classes have none.
	Key string

	Tried int       // how often it was tried before it was submitted, in an earlier process
	Since time.Time // when it came to be, for the bound on its age; zero: when submitted

	// Do sends. It must return soon after its context ends, which it does with
	// Run's, and has to bring a time limit of its own.
	Do func(ctx context.Context, t Try) error

	// Done, if not nil, is told exactly once what became of the job: nil when it
	// was sent, the last error of Do, or one of the Err values. It is called on
	// Run's goroutine, one job at a time, in a lane in order. It must not block;
	// it may call Submit, but not Cancel.
	Done func(error)
}

// A Try is one run of a job.
type Try struct {
	Number int // counts from 1, those of earlier processes included; a try that was told to wait does not count
	Unsure int // how many earlier tries since Submit may have arrived all the same
}

// A Kind is what a failure means for the job.
type Kind uint8

// The kinds. What is unknown is Retry: it is temporary, and bounded.
const (
	Retry     Kind = iota // it may succeed later
	Permanent             // trying again cannot help
	Wait                  // the other side names the time when it may be tried again
)

// A Verdict says what an error of Job.Do means.
type Verdict struct {
	Kind Kind
	// For is how long to wait, for the kind Wait. It is counted from the moment at
	// which Do returned.
	For time.Duration
	// Global says that the failure is none of this job or chat alone. With Wait
	// all chats are held. With Retry (no connection, a server out of order) all
	// jobs wait with growing delays, and one at a time probes, until any of them
	// is answered.
	Global bool
	// Ambiguous says that the request may have been carried out.
	Ambiguous bool
}

// What Done is told of jobs that were not sent, besides errors of Do.
var (
	// ErrReplaced: a newer Progress with the same key has taken its place.
	ErrReplaced = errors.New("replaced by a newer one")
	// ErrDropped: there was no room for a Hint or a Progress.
	ErrDropped = errors.New("dropped because of limits")
	// ErrCanceled: Cancel has withdrawn it.
	ErrCanceled = errors.New("withdrawn")
	// ErrGaveUp comes with the last error of Do: the bound on tries or age is
	// reached.
	ErrGaveUp = errors.New("given up")
	// ErrClosed: Run has ended first. If it comes with an error of Do, that try
	// was cut off and may have arrived.
	ErrClosed = errors.New("not finished: the schedule has ended")
)
