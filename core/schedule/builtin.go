package schedule

import (
	"context"
	"errors"
	"time"

	"bareclaw/core"
)

// A BuiltIn is a job defined by the program. A built-in job has no due times: callers
// request each run for a slot, see [Scheduler.Trigger]. The answers go to Notify, which
// may differ from Channel.
type BuiltIn struct {
	ID       string
	Channel  core.ChannelKey
	Title    string                 // prefix of failure texts
	Text     func() (string, error) // read anew for each run
	Fresh    string                 // message sent first, which begins a fresh session; empty: none
	Precheck string                 // a command line; empty: none
	Notify   core.ChannelKey        // channel to push answers to; empty: none
	Quiet    string                 // an answer with only this text is not pushed
}

// An Answer is the result of the message of a built-in job's run.
type Answer struct {
	State    core.State    `json:"state"`
	Code     string        `json:"code,omitempty"` // code of a failure
	Text     string        `json:"text,omitempty"` // for people; shortened once no longer pending
	CostUSD  float64       `json:"cost_usd,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`

	Push     PushState       `json:"push,omitempty"`
	To       core.ChannelKey `json:"to,omitempty"`      // target of the last attempt
	PushID   string          `json:"push_id,omitempty"` // id of an attempt of unknown outcome
	Attempts int             `json:"attempts,omitempty"`
	Problem  string          `json:"problem,omitempty"` // reason why the answer was not pushed
}

// A PushState says whether an answer reached people.
type PushState string

// The states of a push. The zero value means no text to push.
const (
	Quiet     PushState = "quiet"   // the answer was the job's Quiet
	Pending   PushState = "pending" // the next run tries again
	Pushed    PushState = "pushed"
	NotPushed PushState = "not_pushed" // permanently: see Problem
)

const (
	// maxAhead bounds the distance of a slot's beginning in the future: clocks differ.
	maxAhead = time.Minute
	// requestTimeout bounds the time to record a request.
	requestTimeout = 5*time.Minute + time.Minute
)

// ErrSlot reports that the requested slot begins in the future.
var ErrSlot = errors.New("the slot has not begun")

// trigger is [Scheduler.Trigger] for the runner's job.
func (r *runner) trigger(ctx context.Context, due time.Time) (Occurrence, error) {
	due = due.UTC().Truncate(time.Second)
	if due.After(r.s.now().Add(maxAhead)) {
		return Occurrence{}, ErrSlot
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout) // ctx bounds only the caller's wait
	defer cancel()
	pass, err := r.request(lasting, due)
	if err != nil {
		return Occurrence{}, err
	}
	r.await(ctx, pass)
	return r.occurrence(lasting, due)
}

// asJob presents a built-in job as a Job.
func (r *runner) asJob() Job {
	b := r.job
	text, err := b.Text()
	if err != nil {
		text = err.Error()
	}
	return Job{ID: b.ID, Channel: b.Channel, Text: text, When: "on request", Missed: MissedRule{}.String(), Precheck: b.Precheck, CreatedAt: r.since}
}

// open reports whether a run is yet to be carried out or waits for an answer.
func (o *Occurrence) open() bool {
	return o.Outcome == Due || o.Outcome == Sent && o.Answer == nil
}

// pending reports whether the answer is yet to be pushed.
func (o *Occurrence) pending() bool { return o.Answer != nil && o.Answer.Push == Pending }
