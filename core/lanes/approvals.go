package lanes

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

// A pendingApproval is a permission request waiting for a decision.
type pendingApproval struct {
	approval core.Approval
	timer    *time.Timer
	deciding bool // a decision is being written
}

// requested handles a tool permission request: denies at once when the policy allows no
// person to decide, and otherwise records a pending approval.
func (l *lane) requested(r core.Request) {
	if l.pendingApprovals[r.ID] != nil {
		return // already restored from the ledger or the host's list; the event is a replay
	}
	f := l.running()
	if len(l.session.replayed) > 0 {
		f = nil // the request belongs to a turn already finished
	}
	if !l.mayAsk(f) {
		l.markRunning("denied", r.Tool)
		l.answer(r.ID, core.Answer{Message: l.manager.o.Advice.denied(r.Tool, r.Tool == core.ToolAskUser)})
		return
	}
	now := l.now()
	a := &pendingApproval{approval: core.Approval{
		ID: uuid.NewString(), Channel: l.key, RequestID: r.ID, Tool: r.Tool, Input: r.Input, Suggestion: r.Suggestion,
		CreatedAt: now, ExpiresAt: now.Add(l.manager.o.ApprovalTimeout), State: core.ApprovalPending,
	}}
	if f != nil {
		a.approval.Turn, a.approval.Message, a.approval.Prompt = f.turn.ID, f.carrier().ID, core.ApprovalPrompt(f.carrier())
	}
	l.pendingApprovals[r.ID] = a
	l.markRunning("asked", r.Tool)
	l.expireLater(a)
	approval := a.approval
	l.saveApproval(&approval)
	l.publish(core.Update{Kind: core.UpdateApproval, Approval: &approval, Turn: approval.Turn})
}

func (l *lane) mayAsk(f *inflight) bool {
	switch l.manager.o.Approvals {
	case ApprovalsAsk:
		return true
	case ApprovalsDeny:
		return false
	case ApprovalsByAdapter:
	}
	return f != nil && f.turn.CanAsk
}

func (l *lane) answer(requestID string, a core.Answer) {
	if l.session == nil {
		return
	}
	if err := l.session.Answer(requestID, a); err != nil {
		l.log.Warn("permission answer not sent", "err", err)
	}
}

func (l *lane) expireLater(a *pendingApproval) {
	left := a.approval.ExpiresAt.Sub(l.now())
	left = min(max(0, left), l.manager.o.ApprovalTimeout) // clocks jump
	a.timer = l.after(left, func() {
		if l.pendingApprovals[a.approval.RequestID] != a || a.deciding {
			return
		}
		text := fmt.Sprintf("Nobody answered the permission request for %s within %s, so it was denied.", a.approval.Tool, l.manager.o.ApprovalTimeout)
		l.closeAsk(a, core.ApprovalExpired, text)
		l.answer(a.approval.RequestID, core.Answer{Message: text})
	})
}

// closeAsk ends an approval without a person's decision.
func (l *lane) closeAsk(a *pendingApproval, state core.ApprovalState, reason string) {
	delete(l.pendingApprovals, a.approval.RequestID)
	l.session.touch() // the agent was silent while waiting for the decision
	a.timer.Stop()
	a.approval.State, a.approval.Reason, a.approval.DecidedAt = state, reason, l.now()
	approval := a.approval
	l.saveApproval(&approval)
	l.publish(core.Update{Kind: core.UpdateApprovalClosed, Approval: &approval, Turn: approval.Turn})
}

// saveApproval records a new approval, or an approval closed without a decision, with the
// resulting deliveries.
func (l *lane) saveApproval(a *core.Approval) {
	c := core.Change{Approvals: []*core.Approval{a}, Deliver: l.manager.Adapters.ForApprovals(a)}
	c.Lazy = len(c.Deliver) == 0 // the host lists open requests, so a lazy write is safe; but lazy changes do not keep the order of deliveries
	l.journal.save(c, func() { l.manager.Adapters.HandOver(c.Deliver) })
}

// voidAsked voids the selected pending approvals, which can no longer be answered.
func (l *lane) voidAsked(which func(*pendingApproval) bool) {
	for _, a := range l.pendingApprovals {
		if which(a) {
			l.closeAsk(a, core.ApprovalVoid, "The turn ended before it was answered.")
		}
	}
}

// restoreAsked adds the approvals pending in an earlier process.
func (l *lane) restoreAsked(approvals []*core.Approval) {
	for _, p := range approvals {
		a := &pendingApproval{approval: *p}
		l.pendingApprovals[p.RequestID] = a
		l.expireLater(a)
	}
}

// syncAsked compares the pending approvals with the host's unanswered requests.
func (l *lane) syncAsked() {
	l.voidAsked(func(a *pendingApproval) bool {
		return !slices.ContainsFunc(l.session.info.Requests, func(r core.Request) bool { return r.ID == a.approval.RequestID })
	})
	for _, r := range l.session.info.Requests {
		if l.pendingApprovals[r.ID] == nil {
			l.requested(r)
		}
	}
}

func (l *lane) decideAsk(id string, d core.Decision, done func(core.Approval, error)) {
	var a *pendingApproval
	unsettled := l.attaching // attached may still restore the approval
	for _, pending := range l.pendingApprovals {
		if pending.approval.ID == id {
			a, unsettled = pending, pending.deciding
		}
	}
	if unsettled {
		l.retryLater(func() { l.decideAsk(id, d, done) })
		return
	}
	if a == nil {
		done(core.Approval{}, fmt.Errorf("approval %s: %w", id, core.ErrNotPending))
		return
	}
	decided := a.approval
	decided.State, decided.Reason, decided.DecidedAt = core.ApprovalAllowed, "", l.now()
	decided.DecidedBy = d.By
	answer := core.Answer{Allow: d.Allow, UpdatedInput: d.UpdatedInput}
	change := core.Change{Approvals: []*core.Approval{&decided}}
	if d.Allow && d.Remember {
		answer.Rules = decided.Suggestion
	}
	known := ""
	if d.Allow && d.Always {
		answer.Rules, change.Settings, known = l.always(&decided, d.By)
	}
	if !d.Allow {
		decided.State, decided.Reason = core.ApprovalDenied, d.Message
		if answer.Message = d.Message; answer.Message == "" {
			answer.Message = "The user denied permission for " + decided.Tool + "."
		}
	}
	a.deciding = true
	change.Deliver = l.manager.Adapters.ForApprovals(&decided)
	l.manager.o.Ledger.Write(change, func(err error) {
		if err == nil {
			for i := range change.Settings {
				l.manager.ChannelSettings.Apply(&change.Settings[i])
			}
			l.manager.Adapters.HandOver(change.Deliver)
		}
		l.post(func() { l.decidedAsk(a, decided, answer, known, err, done) })
	})
}

// decidedAsk sends the answer to the agent once durable. A non-empty known is the
// fingerprint of the settings valid in the agent's process after the answer.
func (l *lane) decidedAsk(a *pendingApproval, decided core.Approval, answer core.Answer, known string, err error, done func(core.Approval, error)) {
	a.deciding = false
	if err != nil {
		a.timer.Stop()
		l.expireLater(a) // the approval may have expired during the write
		done(a.approval, err)
		return
	}
	if l.pendingApprovals[decided.RequestID] != a { // the turn ended during the write
		done(decided, fmt.Errorf("approval %s: %w", decided.ID, core.ErrNotPending))
		return
	}
	delete(l.pendingApprovals, decided.RequestID)
	l.session.touch()
	a.timer.Stop()
	l.answer(decided.RequestID, answer)
	if known != "" {
		l.session.info.Settings = known
	}
	l.publish(core.Update{Kind: core.UpdateApprovalClosed, Approval: &decided, Turn: decided.Turn})
	done(decided, nil)
}

// always returns the effects of allowing a tool for ever: rules for the agent's process, the
// changes to write, and the fingerprint of the process's settings afterwards. The
// fingerprint is empty if the process's settings already differed from the channel's.
func (l *lane) always(a *core.Approval, by string) (rules json.RawMessage, cs []core.SettingsChange, known string) {
	always := core.AlwaysRules(*a)
	if len(always) == 0 {
		return nil, nil, ""
	}
	now := l.manager.ChannelSettings.Settings(l.key)
	c := core.SettingsChange{Channel: l.key}
	for _, rule := range always {
		if r, err := core.NewRule(l.key, rule, by, a.DecidedAt); err == nil && len(now.Rules)+len(c.Add) < core.MaxRules {
			c.Add = append(c.Add, r)
		}
	}
	if !l.settingsStale() {
		known = now.Apply(&c).Fingerprint()
	}
	return core.SessionRules(*a), []core.SettingsChange{c}, known
}
