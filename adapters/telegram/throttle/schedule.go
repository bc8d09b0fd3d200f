// Package throttle decides when each send of one bot goes out, so that Telegram's limits are
// kept. It knows jobs, keys and time, and not what is sent.
//
//	s := throttle.New(throttle.Options{Classify: verdict, Log: log})
//	go s.Run(ctx)
//	s.Submit(throttle.Job{Chat: chat, Lane: topic, Class: throttle.Durable, Do: send, Done: record})
//
// Durable jobs of one lane are done in the order submitted, one at a time in a chat, and are
// repeated until they succeed, fail for good, or are too old. Chats, and the lanes of a chat,
// take turns; Durable goes before Progress wherever a limit makes jobs wait. Progress is
// never repeated, and of the jobs that wait under one key only the newest is done: submit
// each state of a status line, and the limits decide which are shown. A Hint (typing, a
// draft) is done at once or not at all. Before a message that Progress edits is finalized,
// Cancel makes sure that no edit comes later.
//
// Options.Classify judges failures. A failure that names a pause holds the chat, or the bot,
// for exactly that time. A failure that concerns everything, such as a lost connection,
// holds all jobs, and single jobs probe whether the outage is over. An attempt that may have
// arrived is repeated like any other: each such failure may cause one duplicate, and no loss.
//
// Nothing is stored. The owner submits durable jobs again after a restart, with Job.Tried
// and Job.Since, and the pause of a chat with Hold. Waiting jobs are bounded: one for each
// key, and Options.MaxProgress for a chat; the owner bounds the durable ones.
package throttle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Class says how much a job matters.
type Class uint8

// The classes.
const (
	Durable  Class = iota // answers, questions, pushes: kept in order and repeated
	Progress              // state of a turn: only the newest counts
	Hint                  // typing, drafts: dropped unless they can go at once

	classes = int(Hint) + 1
)

// String returns the name for metrics and logs.
func (c Class) String() string {
	switch c {
	case Durable:
		return "durable"
	case Progress:
		return "progress"
	case Hint:
		return "hint"
	}
	return fmt.Sprintf("class %d", uint8(c))
}

// droppable reports whether jobs of the class may be dropped.
func (c Class) droppable() bool { return c != Durable }

// A Job is something to send. Its functions are called by the scheduler alone.
type Job struct {
	Chat  int64
	Group bool // the chat has the limits of a group
	Lane  int  // durable jobs of a lane, such as a topic, are done in order
	Class Class

	// Key, if not empty, names what a Progress or Hint shows in the chat. A newer Progress
	// replaces a waiting one with the same key; a Hint is dropped while one with the same
	// key is in flight.
	Key string

	Tried int       // attempts of earlier processes
	Since time.Time // creation, for the bound on its age; zero: when submitted

	// Do sends. It must set a time limit of its own, and return soon after its context
	// ends, which ends with Run's.
	Do func(ctx context.Context, t Try) error

	// Done, if not nil, is called once with the result: nil when sent, the last error of
	// Do, or one of the Err values. It is called on Run's goroutine, one job at a time, in
	// a lane in order. It must not block; it may call Submit, but not Cancel.
	Done func(error)
}

// A Try is one run of a job.
type Try struct {
	Number int // from 1, with those of earlier processes; a try that was told to wait does not count
	Unsure int // earlier tries since Submit that failed and may have arrived
}

// A Kind is the meaning of a failure for the job.
type Kind uint8

// The kinds. Unknown failures are Retry.
const (
	Retry     Kind = iota // it may succeed later
	Permanent             // no further try can succeed
	Wait                  // the other side names a pause
)

// A Verdict says what an error of Job.Do means.
type Verdict struct {
	Kind Kind
	// For is the pause, for the kind Wait, counted from the return of Do.
	For time.Duration
	// Global says that the failure concerns all jobs. With Wait all chats are held. With
	// Retry (no connection, a broken server) all jobs wait with growing delays, and one at
	// a time probes, until one is answered.
	Global bool
	// Ambiguous says that the request may have been carried out.
	Ambiguous bool
}

// The results of jobs that were not sent, besides errors of Do.
var (
	// ErrReplaced means that a newer Progress has the same key.
	ErrReplaced = errors.New("replaced by a newer one")
	// ErrDropped means that the limits had no room for a Hint or a Progress.
	ErrDropped = errors.New("dropped because of limits")
	// ErrCanceled means that Cancel has withdrawn the job.
	ErrCanceled = errors.New("withdrawn")
	// ErrGaveUp means that the bound on tries or age is reached. The last error of Do
	// comes with it.
	ErrGaveUp = errors.New("given up")
	// ErrClosed means that Run has ended. If an error of Do comes with it, that try was cut
	// off and may have arrived.
	ErrClosed = errors.New("not finished: the schedule has ended")
)
