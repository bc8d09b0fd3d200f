// Package schedule computes when jobs are due, decides about each occurrence, and sends
// the messages.
//
// A job is a text for a channel with due times: a single moment, the times of a cron
// expression, or a fixed interval. An occurrence is one due time of one job. Each
// occurrence has exactly one recorded outcome: sent, skipped by the job's precheck,
// missed, or refused. The message of an occurrence is submitted under a source key made
// of the job and the due time ([SourceKey]), so that a crash between submitting and
// recording cannot cause a second message.
//
// The rules are pure functions ([ParseWhen], classify, times); the [Scheduler]
// carries out the rules with one goroutine and one timer. The package contains no
// process and no SQL code, and declares its dependencies as [Store] and [Options].
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
	MaxJobs          = 500 // bound on the jobs that are not done
	MaxPrecheckBytes = 4096
	// MaxTextBytes bounds a job's text, since each poll reads all jobs.
	MaxTextBytes = 32 << 10
	// Kept bounds the recorded occurrences of a job.
	Kept = 100
)

const (
	occurrenceRetention = 30 * 24 * time.Hour // age up to which an occurrence is kept
	doneRetention       = 7 * 24 * time.Hour  // time for which a done job stays listed
)

// A Job is a text sent to a channel at due times.
type Job struct {
	ID       string          `json:"id,omitempty"`
	Channel  core.ChannelKey `json:"channel,omitempty"`
	Text     string          `json:"text"`
	When     string          `json:"when"`               // in the form of When.String
	TZ       string          `json:"tz,omitempty"`       // IANA name of the zone of When; empty: the gateway's zone
	Missed   string          `json:"missed"`             // what becomes of missed occurrences, see parseMissed
	Precheck string          `json:"precheck,omitempty"` // a command line; empty: none
	Budget   float64         `json:"budget,omitempty"`   // bound on the USD per day of the job's messages; 0: no bound
	Paused   bool            `json:"paused,omitempty"`   // nothing is sent or decided until the job is resumed

	SourceKey  string `json:"source_key,omitempty"` // source key of the creating request; empty: none
	SourceHash string `json:"source_hash,omitempty"`

	CreatedAt time.Time `json:"created_at,omitzero"`
	DecidedTo time.Time `json:"decided_to,omitzero"` // occurrences up to DecidedTo have outcomes
	DoneAt    time.Time `json:"done_at,omitzero"`    // zero while occurrences are to come
}

// An Outcome is the result of an occurrence.
type Outcome string

// The outcomes of an occurrence.
const (
	Due     Outcome = "due"     // built-in jobs only: the run has begun and nothing is sent yet
	Sent    Outcome = "sent"    // Message is the sent message, with an outcome of its own
	Skipped Outcome = "skipped" // the precheck found nothing to do; Status is its exit status
	Missed  Outcome = "missed"  // the due time passed while sending was impossible
	Refused Outcome = "refused" // the occurrence was due and could not be sent; Why has the reason
)

// An Occurrence is one due time of a job with its outcome.
type Occurrence struct {
	Job       string         `json:"job,omitempty"`
	Due       time.Time      `json:"due,omitzero"`
	DecidedAt time.Time      `json:"decided_at,omitzero"`
	Outcome   Outcome        `json:"outcome,omitempty"`
	Message   core.MessageID `json:"message,omitempty"` // the sent message
	Status    int            `json:"status,omitempty"`  // exit status of the precheck, if any
	Late      bool           `json:"late,omitempty"`    // sent after the due time
	ByHand    bool           `json:"by_hand,omitempty"` // an extra due time, made by RunNow
	Why       string         `json:"why,omitempty"`     // reason, for a person; may be empty
	Answer    *Answer        `json:"answer,omitempty"`  // answer to a built-in job's message; nil before the answer
}

// SourceKey returns the source key of an occurrence's message.
func SourceKey(job string, due time.Time) string {
	return SourcePrefix(job) + strconv.FormatInt(due.Unix(), 10)
}

// SourcePrefix returns the common prefix of the source keys of a job's messages.
func SourcePrefix(job string) string { return "schedule:" + job + ":" }

// A Store keeps jobs and occurrences. Writes are durable when the methods return. The
// errors are those of core.Ledger. A Store is safe for concurrent use.
type Store interface {
	Jobs
	Occurrences
	Recorder
	Messages
}

// Jobs stores jobs.
type Jobs interface {
	// AddJob stores a new job.
	AddJob(ctx context.Context, j Job) error
	// Jobs returns all jobs, done ones included, oldest first.
	Jobs(ctx context.Context) ([]Job, error)
	// ReplaceJob replaces the document of a job and the time up to which the job is decided.
	// ReplaceJob replaces nothing of a removed job.
	ReplaceJob(ctx context.Context, j Job) error
	// RemoveJob deletes a job and its occurrences; the error is ErrNotFound for an
	// unknown id.
	RemoveJob(ctx context.Context, id string) error
}

// Occurrences reads jobs and their occurrences, and deletes old ones.
type Occurrences interface {
	// Job returns a job, or ErrNotFound.
	Job(ctx context.Context, id string) (Job, error)
	// Occurrences returns at most limit occurrences of a job, due at since or later,
	// newest first.
	Occurrences(ctx context.Context, job string, since time.Time, limit int) ([]Occurrence, error)
	// Prune deletes the occurrences decided before the time occurrences, and the jobs
	// done before the time done.
	Prune(ctx context.Context, occurrences, done time.Time) error
}

// A Recorder records the outcomes of occurrences.
type Recorder interface {
	// Decide records outcomes of a job's occurrences and the time up to which the job is
	// decided. A recorded outcome does not change. Decide records nothing for a removed
	// job and deletes the oldest occurrences beyond keep.
	Decide(ctx context.Context, d Decision, keep int) error
	// SetBack records that the clock was set back. SetBack lowers the time up to which
	// the job is decided and deletes later missed occurrences, since they are still to
	// come. SetBack records nothing for a removed job.
	SetBack(ctx context.Context, job string, to time.Time) error
	// PutOccurrences replaces occurrences of a job, which may be a built-in one, in one
	// transaction and deletes the oldest occurrences beyond keep.
	PutOccurrences(ctx context.Context, job string, all []Occurrence, keep int) error
}

// Messages finds the messages of jobs by their source keys.
type Messages interface {
	// SourceMessage returns the message accepted under a source key, or ErrNotFound.
	SourceMessage(ctx context.Context, key string) (core.MessageID, error)
	// SourceCost returns the total cost in USD of messages that were accepted under
	// source keys with the prefix and ended at since or later.
	SourceCost(ctx context.Context, prefix string, since time.Time) (float64, error)
}

// A Decision holds the outcomes of occurrences of one job.
type Decision struct {
	Job         string
	Occurrences []Occurrence
	DecidedTo   time.Time
	DoneAt      time.Time // zero: occurrences are to come
}

// An InvalidError reports an invalid field of a requested job. Field names the field;
// Text explains the accepted values to a person.
type InvalidError struct {
	Field, Text string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Text }

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// ErrTooMany reports that MaxJobs jobs exist already.
var ErrTooMany = errors.New("too many schedules")
