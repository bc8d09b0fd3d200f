package lanes

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bareclaw/core"

	"github.com/google/uuid"
)

// continueFor is how long the question whether to continue an interrupted turn stays open.
// No turn waits for the answer, and an unanswered question expires.
const continueFor = 24 * time.Hour

// Resubmission returns a submission to retry a failed or cancelled message. The content
// combines all messages of the same turn, and lists the completed work if the turn had begun
// a tool. The caller submits the submission as usual, any number of times: the first is
// accepted, and repeated submissions get the first ticket. Acceptance also decides the
// pending question about continuing the turn, if any. Errors: ErrNotFound, and ErrNotFailed
// together with the message's present state.
func (m *Manager) Resubmission(ctx context.Context, id core.MessageID) (core.Submission, core.Message, error) {
	msg, err := m.Message(ctx, id)
	if err != nil {
		return core.Submission{}, core.Message{}, err
	}
	if msg.State != core.Failed && msg.State != core.Cancelled {
		return core.Submission{}, msg, fmt.Errorf("message %s is %s: %w", id, msg.State, core.ErrNotFailed)
	}
	turn, members, err := m.turnOf(ctx, msg)
	if err != nil {
		return core.Submission{}, msg, err
	}
	carrier := members[len(members)-1]
	s := core.Submission{
		Channel: carrier.Channel, Adapter: carrier.Adapter, Origin: carrier.Origin, CanAsk: carrier.CanAsk, Deliver: carrier.Deliver, Mode: core.Collect,
		RetryOf: carrier.ID, SourceKey: "retry:" + string(carrier.ID),
	}
	s.Channel = m.moves.follow(carrier.Channel, carrier.ReceivedAt)
	if s.Content, err = core.RetryContent(members, turn); err != nil {
		return core.Submission{}, msg, fmt.Errorf("message %s: %w: %w", id, core.ErrBadContent, err)
	}
	if turn != nil {
		s.Decides, err = m.undecided(ctx, turn.ID)
	}
	return s, msg, err
}

// turnOf returns the turn of a message with all messages sharing the outcome, or nil and the
// message alone if the message never had a turn.
func (m *Manager) turnOf(ctx context.Context, msg core.Message) (*core.Turn, []*core.Message, error) {
	if msg.Turn == "" {
		return nil, []*core.Message{&msg}, nil
	}
	turn, err := m.o.Ledger.Turn(ctx, msg.Turn)
	if err != nil {
		return nil, nil, fmt.Errorf("read the turn of message %s: %w", msg.ID, err)
	}
	var members []*core.Message
	for _, id := range turn.Members {
		other, err := m.Message(ctx, id)
		if err != nil {
			return nil, nil, fmt.Errorf("read the messages of turn %s: %w", turn.ID, err)
		}
		if other.Turn == turn.ID { // else the message went back to the queue, and has another turn
			members = append(members, &other)
		}
	}
	return &turn, members, nil
}

// undecided returns the pending question whether to continue the turn, or nil.
func (m *Manager) undecided(ctx context.Context, turn core.TurnID) (*core.Approval, error) {
	all, err := m.o.Ledger.TurnApprovals(ctx, turn)
	if err != nil {
		return nil, fmt.Errorf("read the approvals of turn %s: %w", turn, err)
	}
	for i := range all {
		if all[i].Kind == core.ApprovalContinue && all[i].PendingAt(m.o.Now()) {
			return &all[i], nil
		}
	}
	return nil, nil
}

// askToContinue returns the question whether to continue a turn interrupted at work, or nil
// if the turn needs no question. The question's id depends only on the turn.
func (l *lane) askToContinue(f *inflight, r core.Reply) *core.Approval {
	cut := r.State == core.Failed && (r.Code == core.CodeInterrupted || r.Code == core.CodeStalled || r.Code == core.CodeTimeout)
	if !cut || !core.MayHaveActed(&r, f.turn) {
		return nil
	}
	now := l.now()
	return &core.Approval{
		ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("continue "+f.turn.ID)).String(), Kind: core.ApprovalContinue,
		Channel: l.key, Message: f.carrier().ID, Prompt: core.ApprovalPrompt(f.carrier()), Turn: f.turn.ID,
		CreatedAt: now, ExpiresAt: now.Add(continueFor), State: core.ApprovalPending,
	}
}

// decideContinue continues or abandons an interrupted turn.
func (m *Manager) decideContinue(ctx context.Context, a core.Approval, d core.Decision) (core.Approval, error) {
	if !a.PendingAt(m.o.Now()) {
		if a.State == core.ApprovalPending {
			a.State = core.ApprovalExpired
		}
		return a, fmt.Errorf("approval %s is %s: %w", a.ID, a.State, core.ErrNotPending)
	}
	if !d.Allow {
		a.Reason, a.DecidedBy = d.Message, d.By
		return m.closeContinue(ctx, a, core.ApprovalDenied)
	}
	s, _, err := m.Resubmission(ctx, a.Message)
	if err != nil {
		return a, err
	}
	if s.Decides == nil { // decided by another caller meanwhile
		return a, fmt.Errorf("approval %s: %w", a.ID, core.ErrNotPending)
	}
	s.Decides.DecidedBy = d.By
	if _, err := m.Submit(ctx, s); err != nil {
		return a, err
	}
	return m.o.Ledger.Approval(ctx, a.ID)
}

// closeContinue records the decision not to continue a turn. The first decision wins.
func (m *Manager) closeContinue(ctx context.Context, a core.Approval, state core.ApprovalState) (core.Approval, error) {
	a.State, a.DecidedAt = state, m.o.Now()
	c := core.Change{Approvals: []*core.Approval{&a}, Deliver: m.deliveriesOf(&a)}
	if err := m.write(ctx, c); err != nil {
		return a, err
	}
	m.notifyDeliveryHandlers(c.Deliver)
	now, err := m.o.Ledger.Approval(ctx, a.ID)
	if err == nil && now.State != state {
		err = fmt.Errorf("approval %s is %s: %w", a.ID, now.State, core.ErrNotPending)
	}
	if err == nil {
		m.feeds.Publish(a.Channel, core.Update{Kind: core.UpdateApprovalClosed, At: a.DecidedAt, Approval: &now, Turn: a.Turn})
	}
	return now, err
}

// voidContinues voids the continue questions of a channel with a forgotten conversation.
func (m *Manager) voidContinues(ctx context.Context, key core.ChannelKey) error {
	pending, err := m.o.Ledger.PendingApprovals(ctx)
	if err != nil {
		return fmt.Errorf("read pending approvals: %w", err)
	}
	for _, a := range pending {
		if a.Kind != core.ApprovalContinue || a.Channel != key {
			continue
		}
		if _, err := m.closeContinue(ctx, a, core.ApprovalVoid); err != nil {
			return fmt.Errorf("void approval %s: %w", a.ID, err)
		}
	}
	return nil
}

// toolsSeen lists the tools seen in the turn's events, limited to the last five.
func (f *inflight) toolsSeen() string {
	const show = 5
	var seen []string
	for _, m := range f.turn.Marks {
		if m.What == core.MarkTool {
			seen = append(seen, m.Detail)
		}
	}
	if over := len(seen) - show; over > 0 {
		seen = append([]string{fmt.Sprintf("%d other tool calls", over)}, seen[over:]...)
	}
	return strings.Join(seen, "; ")
}
