package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"bareclaw/core"
)

const (
	// maxAttempts bounds how often an answer is pushed in vain.
	maxAttempts = 24
	// pushTimeout bounds one attempt.
	pushTimeout = 3 * time.Minute
	// maxDigest bounds, in bytes, what is told at once of answers that could not be pushed.
	maxDigest = 8 << 10
	// maxExcerpt is what remains of an answer's text, in characters.
	maxExcerpt = 300
)

// notify pushes the answers that are pending: all of them as one text, so that people who
// could not be reached for a day do not get one message for each hour. An attempt whose
// outcome is unknown is repeated with the same id and text first. After a failure the
// next pass goes on.
func (r *runner) notify(ctx context.Context, all []Occurrence) error {
	for {
		group := pendingGroup(all)
		if len(group) == 0 {
			return nil
		}
		newest := group[len(group)-1]
		p := core.Push{ID: newest.Answer.PushID, Channel: newest.Answer.To, Text: digest(r.job.Title, group)}
		if p.ID == "" {
			p.ID = pushID(fmt.Sprintf("%s:%d:%d", SourceKey(r.job.ID, newest.Due), len(group), newest.Answer.Attempts))
			p.Channel = r.job.Notify
			if err := r.saveAll(ctx, group, func(a *Answer) { a.PushID, a.To = p.ID, p.Channel }); err != nil {
				return err
			}
		}
		err := r.push(ctx, p)
		if ctx.Err() != nil {
			return context.Cause(ctx) // the next process repeats the attempt
		}
		if err := r.saveAll(ctx, group, func(a *Answer) { a.attempted(err) }); err != nil {
			return err
		}
		if err != nil {
			r.s.o.Log.Warn("schedules: an answer was not pushed", "schedule", r.job.ID, "channel", string(p.Channel), "answers", len(group), "err", err)
			return nil //nolint:nilerr // the answers record the failure
		}
	}
}

// pendingGroup returns the occurrences of the next push, oldest first: those of an attempt
// whose outcome is unknown, or else all that are pending.
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

// attempted records how a push has ended.
func (a *Answer) attempted(err error) {
	if err == nil {
		a.Push, a.PushID, a.Problem, a.Text = Pushed, "", "", excerpt(a.Text)
		return
	}
	a.Problem = err.Error()
	a.Attempts++
	if !unknown(err) {
		a.PushID = ""
	}
	if permanent(err) || a.Attempts >= maxAttempts {
		a.Push, a.PushID, a.Text = NotPushed, "", excerpt(a.Text)
	}
}

// unknown reports whether a push that failed may still be delivered by the next process,
// or was not decided: the attempt is repeated as it was.
func unknown(err error) bool { return retryable(err) || errors.Is(err, context.DeadlineExceeded) }

// permanent reports whether trying again cannot help, or could tell people twice.
func permanent(err error) bool {
	for _, kind := range []error{core.ErrUnconfirmed, core.ErrNoPusher, core.ErrNotAllowed, core.ErrBadContent, core.ErrKeyReused} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func (r *runner) push(ctx context.Context, p core.Push) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	return r.s.o.Push(ctx, p)
}

// saveAll changes the answers of occurrences and records that.
func (r *runner) saveAll(ctx context.Context, group []*Occurrence, change func(*Answer)) error {
	changed := make([]Occurrence, len(group))
	for i, o := range group {
		change(o.Answer)
		changed[i] = *o
	}
	return r.s.o.Store.PutOccurrences(ctx, r.job.ID, changed, Kept)
}

// pushID makes the id of a push from what the push is about.
func pushID(about string) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(about)).String() }

// digest is what people are told of answers, which come oldest first: a single one as it
// is, several with when each was found. The same words are told once, and of too much the
// newest are told.
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
