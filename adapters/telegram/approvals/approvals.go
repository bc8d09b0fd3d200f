// Package approvals requests from people the permissions, answers and decisions needed
// by Claude, and receives decisions by taps and replies.
package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"bareclaw/adapters/telegram/base"
	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/internal/mdtext"
)

// KindInput is the delivery of a request again, since the message of an earlier version may not show
// all of it. Body is a core.ApprovalBody.
const KindInput core.DeliveryKind = "input"

// A Decider has what waits for a decision.
type Decider interface {
	Approval(ctx context.Context, id string) (core.Approval, error)
	Approvals(ctx context.Context) ([]core.Approval, error)
	Decide(ctx context.Context, id string, d core.Decision) (core.Approval, error)
}

// Messages finds messages.
type Messages interface {
	Message(ctx context.Context, id core.MessageID) (core.Message, error)
}

// Deliveries finds deliveries.
type Deliveries interface {
	Delivery(ctx context.Context, id string) (core.Delivery, error)
}

// Options hold what a Handler uses. All are required.
type Options struct {
	Base       *base.Base
	Decider    Decider
	Messages   Messages
	Deliveries Deliveries
	Out        *outbox.Outbox
}

// A Handler shows approvals and accepts decisions. Its methods are safe for concurrent
// use.
type Handler struct {
	env        *base.Base
	decider    Decider
	messages   Messages
	deliveries Deliveries
	out        *outbox.Outbox
	answers    sync.Mutex // serialises changes of answers
}

// New returns a handler, which composes the deliveries about approvals.
func New(o Options) *Handler {
	h := &Handler{env: o.Base, decider: o.Decider, messages: o.Messages, deliveries: o.Deliveries, out: o.Out}
	out := o.Out
	outbox.Compose(out, core.DeliverApproval, h.composeRequest)
	outbox.Compose(out, KindInput, h.composeRequest)
	outbox.Compose(out, core.DeliverApprovalClosed, func(ctx context.Context, _ core.Delivery, b core.ApprovalBody) ([]outbox.Part, error) {
		return h.composeEdit(ctx, b.ID, 0)
	})
	outbox.Compose(out, outbox.KindEdit, func(ctx context.Context, _ core.Delivery, e outbox.Edit) ([]outbox.Part, error) {
		if e.Approval != "" {
			return h.composeEdit(ctx, e.Approval, e.Message)
		}
		return out.EditParts(ctx, e)
	})
	return h
}

// look reads and renders the current state of an approval.
func (h *Handler) look(ctx context.Context, id string) (view.Request, error) {
	p, err := h.decider.Approval(ctx, id)
	switch {
	case err != nil:
		return view.Request{}, fmt.Errorf("read approval %s: %w", id, err)
	case p.Kind == core.ApprovalContinue:
		m, err := h.messages.Message(ctx, p.Message)
		if err != nil {
			return view.Request{}, fmt.Errorf("show the message that was cut off: %w", err)
		}
		return view.Continue(&p, &m), nil
	case p.Tool == core.ToolExitPlan:
		return view.Plan(&p), nil
	}
	if questions, ok := core.Questions(p); ok {
		s, err := h.answersTo(ctx, p.ID)
		return view.Questions(&p, questions, s), err
	}
	return view.Tool(&p), nil
}

// composeRequest composes all that the request is about, and last the message with the buttons:
// nobody must allow what has not been sent.
func (h *Handler) composeRequest(ctx context.Context, _ core.Delivery, b core.ApprovalBody) ([]outbox.Part, error) {
	look, err := h.look(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	var before []outbox.Part
	for _, d := range look.Before.Documents {
		before = append(before, outbox.Parts(d)...)
	}
	before = h.out.OrFile(before, &outbox.File{Name: look.Before.FileName, Content: look.Before.FileText, Caption: "All of it."})
	ask := &outbox.Text{Document: look.Text.Split(markdown.MaxUnits)[0], Buttons: look.Buttons} // a single message, to be edited later
	return append(before, ask), nil
}

// composeEdit composes the delivery that shows the current state of an approval in a
// message, or, for message 0, in the message of the request.
func (h *Handler) composeEdit(ctx context.Context, id string, message int) ([]outbox.Part, error) {
	look, err := h.look(ctx, id)
	if err == nil && message == 0 {
		message, err = h.out.LastSent(ctx, core.ApprovalDelivery(id))
		if errors.Is(err, core.ErrNotFound) { // requested before a bot was configured
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	return []outbox.Part{&outbox.Change{Message: message, Text: outbox.Text{Document: look.Text, Buttons: look.Buttons}}}, nil
}

// AskPending delivers the pending approvals that have no delivery, for example approvals
// requested while the gateway had no bot.
func (h *Handler) AskPending(ctx context.Context) {
	for _, p := range h.pending(ctx) {
		if _, ok := chats.ParseAddress(p.Channel); ok {
			h.deliver(ctx, core.DeliverApproval, string(core.DeliverApproval)+":"+p.ID, &p)
		}
	}
}

func (h *Handler) pending(ctx context.Context) []core.Approval {
	pending, err := h.decider.Approvals(ctx)
	h.env.Records.Error(ctx, "pending approvals are not readable", err)
	return pending
}

func (h *Handler) deliver(ctx context.Context, kind core.DeliveryKind, id string, p *core.Approval) {
	err := h.out.Deliver(ctx, core.Delivery{ID: id, Kind: kind, Channel: p.Channel, Message: p.Message}, core.ApprovalBody{ID: p.ID})
	h.env.Records.Error(ctx, "an approval is not delivered", err, "approval", p.ID)
}

const requestGone = "This request is no longer known."

// decide decides an approval, and returns a text about the resulting state. The bool
// reports whether this decision took effect.
func (h *Handler) decide(ctx context.Context, id string, decision core.Decision) (text string, won bool) {
	p, err := h.decider.Decide(ctx, id, decision)
	switch {
	case err == nil:
		return commands.Outcome(&p) + ".", true
	case errors.Is(err, core.ErrNotFound):
		return requestGone, false
	case errors.Is(err, core.ErrNotPending):
		if p.State == core.ApprovalPending { // the core is about to close the approval
			return "Too late: this request is no longer open.", false
		}
		// The chat may not show yet that an approval has expired.
		h.deliver(ctx, core.DeliverApprovalClosed, string(core.DeliverApprovalClosed)+":"+p.ID, &p)
		return view.TooLate(&p), false
	}
	return h.failed(ctx, "decide the request", err), false
}

func (h *Handler) failed(ctx context.Context, doing string, err error) string {
	h.env.Records.Error(ctx, "an approval is not handled", err, "doing", doing)
	return mdtext.Brief("That did not work, please try again: "+err.Error(), view.ToastShown)
}

func (h *Handler) decideTapped(decision core.Decision) chats.Action {
	return func(ctx context.Context, t chats.Tap) string {
		decision := decision
		decision.By = chats.FullName(&t.User)
		text, won := h.decide(ctx, t.Arg, decision)
		h.editTapped(ctx, t, t.Arg)
		if p, err := h.decider.Approval(ctx, t.Arg); won && decision.Always && err == nil && len(core.AlwaysRules(p)) > 0 {
			text += " From now on this is always allowed in this chat; /rules removes the rule."
		}
		return text
	}
}

// editTapped shows the current state of an approval in the tapped message, unless the
// tapped message is the recorded request: a killed gateway may have sent the request
// twice.
func (h *Handler) editTapped(ctx context.Context, t chats.Tap, approval string) {
	sent, err := h.out.SentAs(ctx, core.ApprovalDelivery(approval))
	if err != nil || slices.Contains(sent, t.Message) {
		return
	}
	h.out.Edit(ctx, "edit:"+t.Key+":tapped", t.Address.Key(), outbox.Edit{Message: t.Message, Approval: approval})
}

// askAgain sends a request again. The button is of an earlier version, which may not have shown all
// of the request.
func (h *Handler) askAgain(ctx context.Context, t chats.Tap) string {
	id, _, _ := strings.Cut(t.Arg, ":")
	p, err := h.decider.Approval(ctx, id)
	switch {
	case err != nil:
		return requestGone
	case p.State != core.ApprovalPending:
		return view.TooLate(&p)
	}
	h.deliver(ctx, KindInput, "input:"+t.Key, &p)
	return "This button is of an earlier version. The request is sent again, whole: please decide there."
}

// revise sends a plan back with the next text of whoever tapped.
func (h *Handler) revise(ctx context.Context, t chats.Tap) string {
	p, err := h.decider.Approval(ctx, t.Arg)
	switch {
	case err != nil:
		return requestGone
	case p.State != core.ApprovalPending:
		return view.TooLate(&p)
	}
	h.answers.Lock()
	defer h.answers.Unlock()
	if err := h.env.Records.Put(ctx, records.RecordAnswers+p.ID, view.Answers{Writer: t.User.ID, Name: chats.FullName(&t.User)}); err != nil {
		return h.failed(ctx, "record who revises the plan", err)
	}
	return "Write what to change: your next message here goes to Claude with the plan."
}

// Actions returns the actions of the buttons below requests, by verb.
func (h *Handler) Actions() map[string]chats.Action {
	actions := map[string]chats.Action{
		"allow": h.ownChat(h.decideTapped(core.Decision{Allow: true})), "deny": h.ownChat(h.decideTapped(core.Decision{})),
		"rule":   h.ownChat(h.decideTapped(core.Decision{Allow: true, Always: true})),
		"change": h.ownChat(h.revise), "answer": h.ownChat(h.option),
	}
	for _, verb := range []string{"ok", "always", "all", "revise", "q"} { // of earlier versions
		actions[verb] = h.ownChat(h.askAgain)
	}
	actions["no"] = actions["deny"] // likewise: to deny, nobody needs to see all
	return actions
}

// ownChat restricts a button to the approvals of the button's chat: the data of a tap
// can be forged.
func (h *Handler) ownChat(do chats.Action) chats.Action {
	return func(ctx context.Context, t chats.Tap) string {
		id, _, _ := strings.Cut(t.Arg, ":")
		if p, err := h.decider.Approval(ctx, id); err == nil && !h.env.Moves.InChat(t.Address, p.Channel) {
			return chats.ButtonGone
		}
		return do(ctx, t)
	}
}
