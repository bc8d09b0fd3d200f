package live

import (
	"context"
	"fmt"
	"time"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core/progress"
)

const (
	// statusDelay is the age at which a turn gets a status message: a quick answer needs
	// none.
	statusDelay = 2 * time.Second
	// statusEvery and statusEveryGroup are the shortest time between two edits. A group
	// may get 20 messages a minute, edits included, and answers come first.
	statusEvery      = 3 * time.Second
	statusEveryGroup = 10 * time.Second
)

// showStatus shows the activity in the status message, with a button to stop the turn.
// showStatus returns when to look again.
func (v *View) showStatus(state progress.View, now time.Time) time.Time {
	line, posted := state.Status(now), v.status.message() != 0
	drafted := v.text.drafts() && state.Turn == v.turn && state.Text != "" && state.Tools == 0 && !posted
	if line == "" || state.Phase == progress.Ended || drafted { // a draft shows enough
		return time.Time{}
	}
	if n := v.position(); state.Phase == progress.Running && state.Turn != v.turn && n > 0 {
		line = fmt.Sprintf("Your message is number %d in the queue · %s", n, line)
	}
	if v.statusSince.IsZero() {
		v.statusSince = now
	}
	calls, every := v.calls(), statusEvery
	if v.to.Group() {
		every = statusEveryGroup
	}
	from := v.statusChanged.Add(every)
	if !posted && len(calls) == 0 { // whoever wants each call wants the first at once
		from = later(from, v.statusSince.Add(statusDelay))
	}
	if now.Before(from) {
		return from
	}
	if v.status.set(view.Status(calls, line), view.StopButton(state)) {
		v.statusChanged = now
	}
	return later(state.NextChange(now), now.Add(every))
}

// endStatus replaces the status message of a turn with the final text, or deletes the
// message if the text is empty, after finalizeEnded. The next turn gets another message.
func (v *View) endStatus(final markdown.Document) {
	old := v.status
	v.status, v.statusSince, v.statusChanged = v.editable(""), time.Time{}, time.Time{}
	v.ended = append(v.ended, func(ctx context.Context) {
		if id := old.close(ctx); id != 0 && ctx.Err() == nil {
			v.finalize(ctx, old.to, id, final)
		}
	})
}

// finalizeEnded finalizes the status messages of ended turns: answers come first.
func (v *View) finalizeEnded() {
	for _, finalize := range v.ended {
		v.env.Work.Go(finalize)
	}
	v.ended = nil
}

func (v *View) position() int {
	first := 0
	for id := range v.open {
		if n := v.fold.Position(id); n > 0 && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}
