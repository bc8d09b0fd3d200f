// Package throttle schedules the sends of one bot within Telegram's limits. Package
// throttle knows jobs, keys and time, and nothing about the contents.
//
//	s := throttle.New(throttle.Options{Classify: verdict, Log: log})
//	go s.Run(ctx)
//	s.Submit(throttle.Job{Chat: chat, Lane: topic, Class: throttle.Durable, Do: send, Done: record})
//
// Durable jobs of one lane are done in the order submitted, one at a time in a chat, and
// are repeated until each job succeeds, fails for good, or is too old. Chats, and the
// lanes of a chat, take turns; Durable goes before Progress wherever a limit makes jobs
// wait. Progress is never repeated, and of the jobs waiting under one key only the
// newest is done: submit each state of a status line, and the limits decide which states
// are shown. A Hint (typing, a draft) is done at once or not at all. Before finalizing a
// message edited by Progress, call Cancel to prevent a later edit.
//
// Options.Classify judges failures. A failure with a pause holds the chat, or the bot,
// for exactly the named time. A failure beyond a single chat, for example a lost
// connection, holds all jobs, and single jobs probe whether the outage is over. An
// attempt that may have arrived is repeated like any other attempt: each such failure
// may cause one duplicate, and no loss.
//
// Nothing is stored. The owner submits durable jobs again after a restart, with
// Job.Tried and Job.Since, and the pause of a chat with Hold. Waiting Progress is
// bounded: one job for each key, and Options.MaxProgress jobs for a chat; the owner
// bounds the durable jobs.
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
	Hint                  // typing, drafts: dropped unless possible at once

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

// A Job is a message or request to send. The scheduler alone calls the functions of a
// Job.
type Job struct {
	Chat  int64
	Group bool // the chat has the limits of a group
	Lane  int  // durable jobs of a lane, for example of a topic, are done in order
	Class Class

	// Key, if not empty, names the content shown in the chat by a Progress or Hint. A
	// newer Progress replaces a waiting Progress with the same key; a Hint is dropped
	// while a Hint with the same key is in flight.
	Key string

	Tried int       // attempts of earlier processes
	Since time.Time // creation, for the bound on the age; zero: when submitted

	// Do sends. Do must set a time limit, and return soon after ctx ends. ctx ends with
	// Run's context.
	Do func(ctx context.Context, t Try) error

	// Done, if not nil, is called once with the result: nil when sent, the last error of
	// Do, or one of the Err values. Done runs on Run's goroutine, one job at a time, in
	// a lane in order. Done must not block, and may call Submit, but not Cancel.
	Done func(error)
}

// A Try is one run of a job.
type Try struct {
	Number int // from 1, with tries of earlier processes; a try with the verdict Wait does not count
	Unsure int // failed tries since Submit that may have arrived
}

// A Kind is the meaning of a failure for the job.
type Kind uint8

// The kinds. Unknown failures are Retry.
const (
	Retry     Kind = iota // a later try may succeed
	Permanent             // no further try can succeed
	Wait                  // Telegram requested a pause
)

// A Verdict is the meaning of an error of Job.Do.
type Verdict struct {
	Kind Kind
	// For is the pause, for the kind Wait, counted from the return of Do.
	For time.Duration
	// Global reports that the failure affects all jobs. With Wait all chats are held. With Retry
	// (no connection, a broken server) all jobs wait with growing delays, and a single
	// job at a time probes, until a probe is answered.
	Global bool
	// Ambiguous reports that the request may have been carried out.
	Ambiguous bool
}

// The results of unsent jobs, besides errors of Do.
var (
	// ErrReplaced means that a newer Progress has the same key.
	ErrReplaced = errors.New("replaced by a newer one")
	// ErrDropped means that the limits had no room for a Hint or a Progress.
	ErrDropped = errors.New("dropped because of limits")
	// ErrCanceled means that Cancel has withdrawn the job.
	ErrCanceled = errors.New("withdrawn")
	// ErrGaveUp means that the bound on tries or age is reached. ErrGaveUp wraps the
	// last error of Do.
	ErrGaveUp = errors.New("given up")
	// ErrClosed means that Run has ended. With an error of Do, the last try was
	// interrupted and may have arrived.
	ErrClosed = errors.New("not finished: the schedule has ended")
)
