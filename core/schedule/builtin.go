package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"

	"github.com/google/uuid"
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

// asJob presents a built-in job as a Job.
func (r *runner) asJob() Job {
	b := r.job
	text, err := b.Text()
	if err != nil {
		text = err.Error()
	}
	return Job{ID: b.ID, Channel: b.Channel, Text: text, When: "on request", Missed: "skip", Precheck: b.Precheck, CreatedAt: r.since}
}

// open reports whether a run is yet to be carried out or waits for an answer.
func (o *Occurrence) open() bool {
	return o.Outcome == Due || o.Outcome == Sent && o.Answer == nil
}

// pending reports whether the answer is yet to be pushed.
func (o *Occurrence) pending() bool { return o.Answer != nil && o.Answer.Push == Pending }

const (
	// maxAttempts bounds the failed attempts to push an answer.
	maxAttempts = 24
	// pushTimeout bounds one attempt.
	pushTimeout = 3 * time.Minute
	// maxDigest bounds, in bytes, the combined text of answers that earlier attempts did
	// not push.
	maxDigest = 8 << 10
	// maxExcerpt bounds, in characters, the text kept of an answer after the push.
	maxExcerpt = 300
)

// notify pushes all pending answers as one text, so that people who were unreachable for
// a day do not receive a message for each hour. notify first repeats an attempt of
// unknown outcome with the same id and text. After a failed push, notify returns nil and
// the next pass tries again.
func (r *runner) notify(ctx context.Context, all []Occurrence) error {
	for {
		group := pendingGroup(all)
		if len(group) == 0 {
			return nil
		}
		newest := group[len(group)-1]
		p := core.Push{ID: newest.Answer.PushID, Channel: newest.Answer.To, Text: digest(r.job.Title, group)}
		if p.ID == "" {
			p.ID = pushID(fmt.Sprintf("%s:%d", SourceKey(r.job.ID, newest.Due), len(group)))
			p.Channel = r.job.Notify
			for _, o := range group {
				o.Answer.PushID, o.Answer.To = p.ID, p.Channel
			}
			if err := r.save(ctx, group...); err != nil {
				return err
			}
		}
		err := r.push(ctx, p)
		if ctx.Err() != nil {
			return context.Cause(ctx) // the next process repeats the attempt
		}
		for _, o := range group {
			o.Answer.attempted(err)
		}
		if err := r.save(ctx, group...); err != nil {
			return err
		}
		if err != nil {
			r.s.o.Log.Warn("schedules: an answer was not pushed", "schedule", r.job.ID, "channel", string(p.Channel), "answers", len(group), "err", err)
			return nil // the answers record the failure
		}
	}
}

// pendingGroup returns the occurrences of the next push, oldest first: the group of an
// attempt of unknown outcome, or else all pending occurrences.
func pendingGroup(newestFirst []Occurrence) (group []*Occurrence) {
	id := ""
	for i := range slices.Backward(newestFirst) {
		if o := &newestFirst[i]; o.pending() {
			if id == "" && o.Answer.PushID != "" {
				id, group = o.Answer.PushID, nil
			}
			if o.Answer.PushID == id {
				group = append(group, o)
			}
		}
	}
	return group
}

// attempted records the result of a push.
func (a *Answer) attempted(err error) {
	if err == nil {
		a.Push, a.PushID, a.Problem, a.Text = Pushed, "", "", humanize.Shorten(a.Text, maxExcerpt)
		return
	}
	a.Problem = err.Error()
	a.Attempts++
	if !unknown(err) {
		a.PushID = ""
	}
	if permanent(err) || a.Attempts >= maxAttempts {
		a.Push, a.PushID, a.Text = NotPushed, "", humanize.Shorten(a.Text, maxExcerpt)
	}
}

// unknown reports whether the outcome of a failed push is undecided, because the next
// process may still deliver the push. The next attempt then keeps the id and the text.
func unknown(err error) bool { return retryable(err) || errors.Is(err, context.DeadlineExceeded) }

// permanent reports whether another attempt cannot help or could deliver the text twice.
func permanent(err error) bool {
	kinds := []error{core.ErrUnconfirmed, core.ErrNoPusher, core.ErrNotAllowed, core.ErrBadContent, core.ErrKeyReused}
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

func (r *runner) push(ctx context.Context, p core.Push) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	return r.s.o.Push(ctx, p)
}

// pushID derives the id of a push from the subject of the push.
func pushID(about string) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(about)).String() }

// digest returns the text to push for answers, given oldest first: a single answer
// unchanged, several answers with their due times. digest includes equal texts once and,
// beyond maxDigest, only the newest.
func digest(title string, group []*Occurrence) string {
	var kept []*Occurrence
	size, seen := 0, map[string]bool{}
	for _, o := range slices.Backward(group) {
		text := o.Answer.Text
		if seen[text] {
			continue
		}
		seen[text] = true
		if size += len(text); len(kept) == 0 || size <= maxDigest {
			kept = append(kept, o)
		}
	}
	if len(seen) == 1 {
		return kept[0].Answer.Text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: these answers could not be sent before.", title)
	if more := len(seen) - len(kept); more > 0 {
		fmt.Fprintf(&b, " %d older ones are left out.", more)
	}
	for _, o := range slices.Backward(kept) {
		fmt.Fprintf(&b, "\n\n%s: %s", o.Due.Local().Format("Mon 2 Jan 15:04"), o.Answer.Text)
	}
	return b.String()
}
