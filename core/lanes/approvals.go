package lanes

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

// An approvalDesk takes the agent's permission requests, and passes people's decisions to the
// agent.
type approvalDesk struct {
	*channel
	conv    *conversation
	pending map[string]*pendingApproval // by the agent's request id
	ended   map[string]core.Approval    // those of calls that an earlier process has asked about, by the approval's id
}

type pendingApproval struct {
	approval core.Approval
	timer    *time.Timer
	deciding bool                  // a decision is being written
	restored bool                  // an earlier process has asked
	waiting  []func(core.Approval) // told of the end of an approval of a call, once
}

// request handles a tool permission request: denies at once when the policy allows no
// person to decide, and otherwise records a pending approval. f is the running turn, or nil.
func (ad *approvalDesk) request(r core.Request, f *inflight) {
	if ad.pending[r.ID] != nil {
		return // already restored from the ledger or the host's list; the event is a replay
	}
	running := f
	if len(ad.conv.session.replayed) > 0 {
		f = nil // the request belongs to a turn already finished
	}
	if !ad.mayAsk(f) {
		running.mark(ad.eventTime(), "denied", r.Tool)
		ad.send(r.ID, core.Answer{Message: ad.manager.o.Advice.denied(r.Tool, r.Tool == core.ToolAskUser)})
		return
	}
	running.mark(ad.eventTime(), "asked", r.Tool)
	ad.open(core.Approval{
		ID:         uuid.NewString(),
		RequestID:  r.ID,
		Tool:       r.Tool,
		Input:      r.Input,
		Suggestion: r.Suggestion,
	}, f)
}

// requestCall handles a call of one of the gateway's tools that a person has to allow, and tells done
// what has become of the approval. done is called at once, with an error, if no person can decide.
func (ad *approvalDesk) requestCall(r core.CallRequest, f *inflight, done func(core.Approval, error)) {
	tell := func(a core.Approval) { done(a, nil) }
	if a, ok := ad.ended[r.ID]; ok {
		tell(a)
		return
	}
	if a := ad.pending[r.RequestID]; a != nil && a.approval.ID == r.ID { // an earlier process has asked
		a.waiting = append(a.waiting, tell)
		return
	}
	if ad.pending[r.RequestID] != nil || !ad.mayAsk(f) {
		done(core.Approval{}, core.ErrCannotAsk)
		return
	}
	f.mark(ad.now(), "asked", r.Tool)
	a := ad.open(r.Approval(), f)
	a.waiting = append(a.waiting, tell)
}

// open begins to wait for a person's decision, in a turn; f is nil outside of turns.
func (ad *approvalDesk) open(approval core.Approval, f *inflight) *pendingApproval {
	now := ad.now()
	approval.Channel = ad.key
	approval.CreatedAt = now
	approval.ExpiresAt = now.Add(ad.manager.o.ApprovalTimeout)
	approval.State = core.ApprovalPending
	if f != nil {
		carrier := f.carrier()
		approval.Turn = f.turn.ID
		approval.Message = carrier.ID
		approval.Prompt = core.ApprovalPrompt(carrier)
	}
	a := &pendingApproval{approval: approval}
	ad.pending[approval.RequestID] = a
	ad.expireLater(a)
	ad.record(a, core.UpdateApproval)
	return a
}

func (ad *approvalDesk) mayAsk(f *inflight) bool {
	policy := ad.manager.o.Approvals
	return policy == ApprovalsAsk || policy == ApprovalsByAdapter && f != nil && f.turn.CanAsk
}

// answer tells the agent what was decided about its request. A call is answered by its tool.
func (ad *approvalDesk) answer(a *pendingApproval, answer core.Answer) {
	if a.approval.Kind == core.ApprovalTool {
		ad.send(a.approval.RequestID, answer)
	}
}

func (ad *approvalDesk) send(requestID string, a core.Answer) {
	if ad.conv.session == nil {
		return
	}
	if err := ad.conv.session.Answer(requestID, a); err != nil {
		ad.log.Warn("permission answer not sent", "err", err)
	}
}

func (ad *approvalDesk) expireLater(a *pendingApproval) {
	left := a.approval.ExpiresAt.Sub(ad.now())
	left = min(max(0, left), ad.manager.o.ApprovalTimeout) // clocks jump
	a.timer = ad.after(left, func() {
		if ad.pending[a.approval.RequestID] != a || a.deciding {
			return
		}
		text := fmt.Sprintf("Nobody answered the permission request for %s within %s, so it was denied.", a.approval.Tool, ad.manager.o.ApprovalTimeout)
		ad.close(a, core.ApprovalExpired, text)
		ad.answer(a, core.Answer{Message: text})
	})
}

func (ad *approvalDesk) close(a *pendingApproval, state core.ApprovalState, reason string) {
	delete(ad.pending, a.approval.RequestID)
	ad.conv.session.touch() // the agent was silent while waiting for the decision
	a.timer.Stop()
	a.approval.State, a.approval.Reason, a.approval.DecidedAt = state, reason, ad.now()
	ad.record(a, core.UpdateApprovalClosed)
	ad.tell(a, a.approval)
}

// tell tells whoever waits for the decision about a call, and keeps it for a call that has not come again
// yet.
func (ad *approvalDesk) tell(a *pendingApproval, now core.Approval) {
	if a.restored && now.Kind == core.ApprovalCall {
		ad.ended[now.ID] = now
	}
	for _, done := range a.waiting {
		done(now)
	}
	a.waiting = nil
}

// record writes and publishes a new approval, or an approval closed without a decision. The
// host lists open requests, so the write can be lazy.
func (ad *approvalDesk) record(a *pendingApproval, kind core.UpdateKind) {
	approval := a.approval
	ad.journal.save(core.Change{Approvals: []*core.Approval{&approval}, Lazy: true}, func() {}, nil)
	ad.publish(core.Update{Kind: kind, Approval: &approval, Turn: approval.Turn})
}

// void voids the selected pending approvals, which can no longer be answered.
func (ad *approvalDesk) void(which func(*pendingApproval) bool) {
	for _, a := range ad.pending {
		if which(a) {
			ad.close(a, core.ApprovalVoid, "The turn ended before it was answered.")
		}
	}
}

func (ad *approvalDesk) restore(approvals []*core.Approval) {
	for _, p := range approvals {
		a := &pendingApproval{approval: *p, restored: true}
		ad.pending[p.RequestID] = a
		ad.expireLater(a)
	}
}

// sync voids approvals without an unanswered request of the host, and adds missing approvals. Calls find
// theirs by themselves.
func (ad *approvalDesk) sync(running *inflight) {
	info := &ad.conv.session.info
	ad.void(func(a *pendingApproval) bool {
		if a.approval.Kind == core.ApprovalCall {
			return !slices.ContainsFunc(info.Calls, func(r core.ToolRequest) bool { return r.ID == a.approval.RequestID })
		}
		return !slices.ContainsFunc(info.Requests, func(r core.Request) bool { return r.ID == a.approval.RequestID })
	})
	for _, r := range ad.conv.session.info.Requests {
		if ad.pending[r.ID] == nil {
			ad.request(r, running)
		}
	}
}

func (ad *approvalDesk) decide(id string, d core.Decision, done func(core.Approval, error)) {
	var a *pendingApproval
	unsettled := ad.conv.attaching // attached may still restore the approval
	for _, pending := range ad.pending {
		if pending.approval.ID == id {
			a, unsettled = pending, pending.deciding
		}
	}
	if unsettled {
		ad.retryLater(func() { ad.decide(id, d, done) })
		return
	}
	if a == nil {
		done(core.Approval{}, fmt.Errorf("approval %s: %w", id, core.ErrNotPending))
		return
	}
	decided := a.approval.Decided(d, ad.now())
	answer := core.Answer{Allow: d.Allow, UpdatedInput: d.UpdatedInput}
	change := core.Change{Approvals: []*core.Approval{&decided}}
	if d.Allow && d.Remember {
		answer.Rules = decided.Suggestion
	}
	known := ""
	if d.Allow && d.Always {
		answer.Rules, change.Settings, known = ad.always(&decided, d.By)
	}
	if !d.Allow {
		if answer.Message = d.Message; answer.Message == "" {
			answer.Message = "The user denied permission for " + decided.Tool + "."
		}
	}
	a.deciding = true
	ad.journal.try(change, func(err error) { ad.decided(a, decided, answer, known, err, done) })
}

// decided sends the answer to the agent once durable. A non-empty known is the
// fingerprint of the settings valid in the agent's process after the answer.
func (ad *approvalDesk) decided(a *pendingApproval, decided core.Approval, answer core.Answer, known string, err error, done func(core.Approval, error)) {
	a.deciding = false
	if err != nil {
		a.timer.Stop()
		ad.expireLater(a) // the approval may have expired during the write
		done(a.approval, err)
		return
	}
	if ad.pending[decided.RequestID] != a { // the turn ended during the write
		done(decided, fmt.Errorf("approval %s: %w", decided.ID, core.ErrNotPending))
		return
	}
	delete(ad.pending, decided.RequestID)
	ad.conv.session.touch()
	a.timer.Stop()
	ad.answer(a, answer)
	if known != "" {
		ad.conv.session.info.Settings = known
	}
	ad.publish(core.Update{Kind: core.UpdateApprovalClosed, Approval: &decided, Turn: decided.Turn})
	ad.tell(a, decided)
	done(decided, nil)
}

// always returns the effects of allowing a tool for ever: rules for the agent's process, the
// changes to write, and the fingerprint of the process's settings afterwards. The
// fingerprint is empty if the process's settings already differed from the channel's.
func (ad *approvalDesk) always(a *core.Approval, by string) (rules json.RawMessage, cs []core.SettingsChange, known string) {
	always := core.AlwaysRules(*a)
	if len(always) == 0 {
		return nil, nil, ""
	}
	now := ad.manager.ChannelSettings.Settings(ad.key)
	c := core.SettingsChange{Channel: ad.key}
	for _, rule := range always {
		if r, err := core.NewRule(ad.key, rule, by, a.DecidedAt); err == nil && len(now.Rules)+len(c.Add) < core.MaxRules {
			c.Add = append(c.Add, r)
		}
	}
	if !ad.conv.settingsStale() {
		known = now.Apply(&c).Fingerprint()
	}
	return core.SessionRules(*a), []core.SettingsChange{c}, known
}

// isDeciding reports whether a decision is being written. Without the decision the next
// process would request the approval again.
func (ad *approvalDesk) isDeciding() bool {
	for _, a := range ad.pending {
		if a.deciding {
			return true
		}
	}
	return false
}
