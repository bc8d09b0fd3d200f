// Package schedule knows when the jobs that somebody has asked for are due, what
// becomes of each of their occurrences, and sends the messages of those that run.
//
// A job is a text for a channel and when it is to be sent: at one moment, at those
// of a cron expression, or again and again after some time. An occurrence is one
// such moment of one job. Each has exactly one outcome, which is on record: sent,
// skipped by the job's precheck, missed, or refused. The message of an occurrence is
// submitted under a source key made of the job and the moment ([SourceKey]), so that
// it is one message whatever is killed between submitting it and recording that.
//
// The rules are pure functions ([ParseWhen], [Missed], times); the [Scheduler]
// carries them out with one goroutine and one timer. It knows no process and no SQL:
// what it needs it declares here as [Store] and [Options].
package schedule

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"bareclaw/core"
)

// Bounds of a job.
const (
	MaxJobs          = 500 // that are not done
	MaxPrecheckBytes = 4096
	// MaxTextBytes bounds a job's text, since all jobs are read whenever it is looked what is due.
	MaxTextBytes = 32 << 10
	// Kept is how many occurrences of a job are on record at most.
	Kept = 100
)

const (
	occurrenceRetention = 30 * 24 * time.Hour // how long an occurrence is on record
	doneRetention       = 7 * 24 * time.Hour  // how long a job is listed that is done
)

// A Job is a text that is sent to a channel at its times.
type Job struct {
	ID       string
	Channel  core.ChannelKey
	Text     string
	When     string  // as When.String has it
	TZ       string  // IANA name of the zone that When is read in; empty: the machine's
	Missed   string  // as Missed.String has it
	Precheck string  // a command line; empty: none
	Budget   float64 // USD that its messages may cost a day; 0: any amount

	SourceKey  string // of the request that made it; empty: none
	SourceHash string

	CreatedAt time.Time
	DecidedTo time.Time // its occurrences until then have their outcomes
	DoneAt    time.Time // zero while there are occurrences to come
}

// An Outcome says what became of an occurrence.
type Outcome string

// The outcomes of an occurrence.
const (
	Due     Outcome = "due"     // of a built-in job: the run has begun and nothing is sent yet
	Sent    Outcome = "sent"    // Message is the message, which has an outcome of its own
	Skipped Outcome = "skipped" // the precheck found nothing to do; Status is its exit status
	Missed  Outcome = "missed"  // its time passed while nobody could send it
	Refused Outcome = "refused" // it was due, and could not be sent; Why says why
)

// An Occurrence is one due time of a job, and what became of it.
type Occurrence struct {
	Job       string
	Due       time.Time
	DecidedAt time.Time
	Outcome   Outcome
	Message   core.MessageID // of a sent one
	Status    int            // of the precheck, where that had one
	Late      bool           // it was sent later than it was due
	Why       string         // for a person; empty where there is nothing to say
	Answer    *Answer        // to the message of a built-in job; nil before there is one
}

// SourceKey is the key under which the message of an occurrence is submitted.
func SourceKey(job string, due time.Time) string {
	return SourcePrefix(job) + strconv.FormatInt(due.Unix(), 10)
}

// SourcePrefix is what the source keys of a job's messages begin with.
func SourcePrefix(job string) string { return "schedule:" + job + ":" }

// A Store keeps jobs and their occurrences. What it was given is durable once it
// returns. Its errors are those of core.Ledger; it is safe for concurrent use.
type Store interface {
	Jobs
	Occurrences
	Recorder
	Messages
}

// Jobs keeps jobs.
type Jobs interface {
	// AddJob keeps a new job.
	AddJob(ctx context.Context, j Job) error
	// Jobs returns all jobs, oldest first, those that are done too.
	Jobs(ctx context.Context) ([]Job, error)
	// RemoveJob forgets a job and its occurrences; ErrNotFound if there is none.
	RemoveJob(ctx context.Context, id string) error
}

// Occurrences finds jobs and their occurrences, and forgets old ones.
type Occurrences interface {
	// Job returns one job, or ErrNotFound.
	Job(ctx context.Context, id string) (Job, error)
	// Occurrences returns the newest occurrences of a job that are not older than since,
	// newest first, at most limit.
	Occurrences(ctx context.Context, job string, since time.Time, limit int) ([]Occurrence, error)
	// Prune forgets the occurrences that were decided, and the jobs that were done,
	// before these times.
	Prune(ctx context.Context, occurrences, done time.Time) error
}

// A Recorder records what becomes of occurrences.
type Recorder interface {
	// Decide records outcomes of a job's occurrences, and how far the job is decided. An
	// occurrence that has an outcome keeps it. Nothing is recorded of a job that was
	// removed; the oldest occurrences beyond keep are forgotten.
	Decide(ctx context.Context, d Decision, keep int) error
	// SetBack records that the clock was set back: a job is decided to that time, and the
	// later occurrences that it was said to have missed are forgotten, since they are
	// still to come. Nothing is recorded of a job that was removed.
	SetBack(ctx context.Context, job string, to time.Time) error
	// PutOccurrences records occurrences of a built-in job together, in place of what was
	// recorded of them; the oldest occurrences beyond keep are forgotten.
	PutOccurrences(ctx context.Context, job string, all []Occurrence, keep int) error
}

// Messages finds the messages of jobs by their source keys.
type Messages interface {
	// SourceMessage returns the message that was accepted under a source key, or
	// ErrNotFound.
	SourceMessage(ctx context.Context, key string) (core.MessageID, error)
	// SourceCost returns the USD that messages have cost which were accepted under source
	// keys with that prefix and ended at since or later.
	SourceCost(ctx context.Context, prefix string, since time.Time) (float64, error)
}

// A Decision is what becomes of occurrences of one job.
type Decision struct {
	Job         string
	Occurrences []Occurrence
	DecidedTo   time.Time
	DoneAt      time.Time // zero: it goes on
}

// An InvalidError says what is wrong with a job that was asked for. Field names the member
// it is about, Text is for a person and says what is accepted.
type InvalidError struct {
	Field, Text string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Text }

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// ErrTooMany says that there are as many jobs as there may be.
var ErrTooMany = errors.New("too many schedules")
