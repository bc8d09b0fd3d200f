package schedule

import (
	"context"
	"errors"
	"time"

	"bareclaw/core"
)

// A BuiltIn is a job that the program defines. It has no due times of its own: each run
// is requested for a slot, see [Scheduler.Trigger]. Its answers go to people who may be
// elsewhere than on its channel.
type BuiltIn struct {
	ID       string
	Channel  core.ChannelKey
	Title    string                 // begins what people are told of a failure
	Text     func() (string, error) // read anew for each run
	Fresh    string                 // message that is sent first and begins a fresh session; empty: none
	Precheck string                 // a command line; empty: none
	Notify   core.ChannelKey        // where an answer is pushed; empty: nowhere
	Quiet    string                 // an answer that says only this is not pushed
}

// An Answer is what became of the message of a built-in job's run.
type Answer struct {
	State    core.State    `json:"state"`
	Code     string        `json:"code,omitempty"` // of a failure
	Text     string        `json:"text,omitempty"` // for people; shortened once it is not pending
	CostUSD  float64       `json:"cost_usd,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`

	Push     PushState       `json:"push,omitempty"`
	To       core.ChannelKey `json:"to,omitempty"`      // of the last attempt
	PushID   string          `json:"push_id,omitempty"` // of an attempt whose outcome is unknown
	Attempts int             `json:"attempts,omitempty"`
	Problem  string          `json:"problem,omitempty"` // why the answer was not pushed
}

// A PushState says whether people were told of an answer.
type PushState string

// The states of a push. The zero value: there is nothing to tell.
const (
	Quiet     PushState = "quiet"   // the answer was the job's Quiet
	Pending   PushState = "pending" // the next run tries again
	Pushed    PushState = "pushed"
	NotPushed PushState = "not_pushed" // for good: see Problem
)

const (
	// maxAhead is how far in the future a slot may begin: clocks differ.
	maxAhead = time.Minute
	// requestTimeout bounds how long recording a request may take.
	requestTimeout = 5*time.Minute + time.Minute
)

// ErrSlot says that a run was requested for a time that has not come.
var ErrSlot = errors.New("the slot has not begun")

// Trigger runs a built-in job for the slot that begins at due, unless the slot was run
// already, and tries again to push what people were not told yet. It returns the
// occurrence once both are over, the message waits on a parked channel, or ctx ends.
// While another slot's message has no outcome the occurrence is skipped; a slot that was
// skipped may be triggered again. Errors: core.ErrNotFound, ErrSlot, those of the ledger.
func (s *Scheduler) Trigger(ctx context.Context, id string, due time.Time) (Occurrence, error) {
	r, ok := s.runners[id]
	if !ok {
		return Occurrence{}, core.ErrNotFound
	}
	due = due.UTC().Truncate(time.Second)
	if due.After(s.now().Add(maxAhead)) {
		return Occurrence{}, ErrSlot
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout) // ctx is the caller's patience
	defer cancel()
	pass, err := r.request(lasting, due)
	if err != nil {
		return Occurrence{}, err
	}
	r.await(ctx, pass)
	return r.occurrence(lasting, due)
}

// asJob shows a built-in job as one of the others.
func (r *runner) asJob() Job {
	b := r.job
	text, err := b.Text()
	if err != nil {
		text = err.Error()
	}
	return Job{ID: b.ID, Channel: b.Channel, Text: text, When: "on request", Missed: MissedRule{}.String(), Precheck: b.Precheck, CreatedAt: r.since}
}

// open reports whether a run is still to be carried out, or waits for its answer.
func (o *Occurrence) open() bool {
	return o.Outcome == Due || o.Outcome == Sent && o.Answer == nil
}

// pending reports whether people are still to be told of the answer.
func (o *Occurrence) pending() bool { return o.Answer != nil && o.Answer.Push == Pending }
