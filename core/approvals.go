package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// An ask is a permission request that waits for a decision.
type ask struct {
	approval Approval
	timer    *time.Timer
	deciding bool // a decision is being written
}

// deniedText tells the agent, and through it the user, how to allow a tool.
func deniedText(tool string) string {
	const ask = "set BARECLAW_APPROVALS=ask and answer at /approvals, then restart the gateway."
	if tool == "AskUserQuestion" {
		return "Nobody can be asked on this channel. Go on with what is most likely meant, or end your answer with the question. To be asked, " + ask
	}
	return "Permission for " + tool + " was denied because nobody can be asked on this channel. " +
		"To allow it, add the tool to BARECLAW_ALLOWED_TOOLS, or " + ask
}

// requested takes up a tool permission request: it is denied at once when
// nobody can be asked, and waits for a decision otherwise.
func (l *lane) requested(r Request) {
	if l.asked[r.ID] != nil {
		return // taken up from the ledger or the host's list; this is the replay of its event
	}
	f := l.running()
	if len(l.past) > 0 {
		f = nil // it is of a turn that nobody waits for any more
	}
	if !l.mayAsk(f) {
		l.markRunning("denied", r.Tool)
		l.answer(r.ID, Answer{Message: deniedText(r.Tool)})
		return
	}
	now := l.now()
	a := &ask{approval: Approval{
		ID: uuid.NewString(), Channel: l.key, RequestID: r.ID, Tool: r.Tool, Input: r.Input, Suggestion: r.Suggestion,
		CreatedAt: now, ExpiresAt: now.Add(l.m.o.ApprovalTimeout), State: ApprovalPending,
	}}
	if f != nil {
		a.approval.Turn, a.approval.Message, a.approval.Prompt = f.turn.ID, f.carrier().ID, promptFor(f.carrier())
	}
	l.asked[r.ID] = a
	l.markRunning("asked", r.Tool)
	l.expireLater(a)
	approval := a.approval
	l.saveApproval(&approval)
	l.publish(Update{Kind: UpdateApproval, Approval: &approval, Turn: approval.Turn})
}

func (l *lane) mayAsk(f *flight) bool {
	switch l.m.o.Approvals {
	case ApprovalsAsk:
		return true
	case ApprovalsDeny:
		return false
	case ApprovalsByAdapter:
	}
	return f != nil && f.turn.CanAsk
}

func (l *lane) answer(requestID string, a Answer) {
	if l.session == nil {
		return
	}
	if err := l.session.Answer(requestID, a); err != nil {
		l.log.Warn("permission answer not sent", "err", err)
	}
}

func (l *lane) expireLater(a *ask) {
	left := a.approval.ExpiresAt.Sub(l.now())
	left = min(max(0, left), l.m.o.ApprovalTimeout) // clocks jump
	a.timer = time.AfterFunc(left, func() {
		l.post(func() {
			if l.asked[a.approval.RequestID] != a || a.deciding {
				return
			}
			text := fmt.Sprintf("Nobody answered the permission request for %s within %s, so it was denied.", a.approval.Tool, l.m.o.ApprovalTimeout)
			l.closeAsk(a, ApprovalExpired, text)
			l.answer(a.approval.RequestID, Answer{Message: text})
		})
	})
}

// closeAsk ends an approval that nobody decided.
func (l *lane) closeAsk(a *ask, state ApprovalState, reason string) {
	delete(l.asked, a.approval.RequestID)
	l.heardNow() // the agent was silent because it was to wait
	a.timer.Stop()
	a.approval.State, a.approval.Reason, a.approval.DecidedAt = state, reason, l.now()
	approval := a.approval
	l.saveApproval(&approval)
	l.publish(Update{Kind: UpdateApprovalClosed, Approval: &approval, Turn: approval.Turn})
}

// voidAsked ends the pending approvals that can no longer be answered.
func (l *lane) voidAsked(which func(*ask) bool) {
	for _, a := range l.asked {
		if which(a) {
			l.closeAsk(a, ApprovalVoid, "The turn ended before it was answered.")
		}
	}
}

// restoreAsked takes up approvals that were pending in an earlier process.
func (l *lane) restoreAsked(approvals []*Approval) {
	for _, p := range approvals {
		a := &ask{approval: *p}
		l.asked[p.RequestID] = a
		l.expireLater(a)
	}
}

// syncAsked compares the approvals with what the host says is unanswered.
func (l *lane) syncAsked() {
	l.voidAsked(func(a *ask) bool {
		return !slices.ContainsFunc(l.info.Requests, func(r Request) bool { return r.ID == a.approval.RequestID })
	})
	for _, r := range l.info.Requests {
		if l.asked[r.ID] == nil {
			l.requested(r)
		}
	}
}

// Decide answers a pending approval: the decision is durable before the agent
// hears of it. Errors: ErrNotFound, and ErrNotPending together with the approval
// as it is.
func (m *ProcessManager) Decide(ctx context.Context, id string, d Decision) (Approval, error) {
	a, err := m.o.Ledger.Approval(ctx, id)
	if err != nil {
		return Approval{}, err
	}
	if a.Kind == ApprovalContinue {
		return m.decideContinue(ctx, a, d)
	}
	l, ok := m.known(a.Channel)
	if !ok || a.State != ApprovalPending {
		return a, fmt.Errorf("approval %s is %s: %w", id, a.State, ErrNotPending)
	}
	type outcome struct {
		approval Approval
		err      error
	}
	done := make(chan outcome, 1)
	tell := func(a Approval, err error) { done <- outcome{a, err} }
	if !l.post(func() { l.decideAsk(id, d, tell) }) {
		tell(a, fmt.Errorf("approval %s: %w", id, ErrNotPending)) // nor is its turn
	}
	o, err := toldBy(ctx, l, done)
	switch {
	case errors.Is(err, errRetired): // and its turn has ended
		o = outcome{a, fmt.Errorf("approval %s: %w", id, ErrNotPending)}
	case err != nil:
		return a, err
	}
	if errors.Is(o.err, ErrNotPending) {
		if now, err := m.o.Ledger.Approval(ctx, id); err == nil {
			o.approval = now
		}
	}
	return o.approval, o.err
}

func (l *lane) decideAsk(id string, d Decision, done func(Approval, error)) {
	var a *ask
	unsettled := l.attaching // it may be taken up yet
	for _, pending := range l.asked {
		if pending.approval.ID == id {
			a, unsettled = pending, pending.deciding
		}
	}
	if unsettled {
		time.AfterFunc(settlePause, func() { l.post(func() { l.decideAsk(id, d, done) }) })
		return
	}
	if a == nil {
		done(Approval{}, fmt.Errorf("approval %s: %w", id, ErrNotPending))
		return
	}
	decided := a.approval
	decided.State, decided.Reason, decided.DecidedAt = ApprovalAllowed, "", l.now()
	decided.DecidedBy = d.By
	answer := Answer{Allow: d.Allow, UpdatedInput: d.UpdatedInput}
	change := Change{Approvals: []*Approval{&decided}}
	if d.Allow && d.Remember {
		answer.Rules = decided.Suggestion
	}
	known := ""
	if d.Allow && d.Always {
		answer.Rules, change.Settings, known = l.always(&decided, d.By)
	}
	if !d.Allow {
		decided.State, decided.Reason = ApprovalDenied, d.Message
		if answer.Message = d.Message; answer.Message == "" {
			answer.Message = "The user denied permission for " + decided.Tool + "."
		}
	}
	a.deciding = true
	change.Deliver = l.m.deliveriesOf(&decided)
	l.m.o.Ledger.Write(change, func(err error) {
		if err == nil {
			for i := range change.Settings {
				l.m.settings.change(&change.Settings[i])
			}
			l.m.handOver(change.Deliver)
		}
		l.post(func() { l.decidedAsk(a, decided, answer, known, err, done) })
	})
}

// decidedAsk gives the answer to the agent once it is durable. Its process then has
// the settings that the fingerprint known stands for, unless that is empty.
func (l *lane) decidedAsk(a *ask, decided Approval, answer Answer, known string, err error, done func(Approval, error)) {
	a.deciding = false
	if err != nil {
		a.timer.Stop()
		l.expireLater(a) // its time may have come meanwhile
		done(a.approval, err)
		return
	}
	if l.asked[decided.RequestID] != a { // the turn ended meanwhile
		done(decided, fmt.Errorf("approval %s: %w", decided.ID, ErrNotPending))
		return
	}
	delete(l.asked, decided.RequestID)
	l.heardNow()
	a.timer.Stop()
	l.answer(decided.RequestID, answer)
	if known != "" {
		l.info.Settings = known
	}
	l.publish(Update{Kind: UpdateApprovalClosed, Approval: &decided, Turn: decided.Turn})
	done(decided, nil)
}
