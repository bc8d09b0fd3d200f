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
	"bareclaw/internal/humanize"
)

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
			p.ID = pushID(fmt.Sprintf("%s:%d:%d", SourceKey(r.job.ID, newest.Due), len(group), newest.Answer.Attempts))
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
