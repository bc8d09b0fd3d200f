package lanes

import (
	"cmp"
	"log/slog"
	"slices"

	"bareclaw/core"
	"bareclaw/internal/humanize"

	"github.com/google/uuid"
)

// An ownTurns handles the turns that the agent begins by itself: on the report of a background
// task, by a schedule of its own, on a message of another session. Their results answer no
// message, and are told as background results.
type ownTurns struct {
	*channel
	conv  *conversation
	turns *turns
}

// begin notes that the agent begins a turn, unless the turn is one of the lane's. Once the daily
// budget is spent, begin ends the agent's turn, unless a message that was handed over waits behind
// it: the interrupt could hit the turn of the message.
func (o *ownTurns) begin(ev *core.Event) {
	s := o.conv.session
	if o.turns.current() != nil || len(s.replayed) > 0 {
		return
	}
	if s.background.beginOwnTurn(ev.Detail) {
		s.background.Speaks(len(o.turns.list) > 0)
		o.log.Info("claude begins a turn by itself", "woken_by", s.background.wokenBy)
	}
	waits := o.turns.first(func(f *inflight) bool { return f.handed && !f.answered })
	if isNews := ev.Seq > s.info.Said; !isNews || waits != nil || s.background.own != ownTurnRuns || !o.manager.budget.Used(o.now()) {
		return
	}
	s.background.own = ownTurnRefused
	o.log.Warn("claude's own turn is ended, because the daily budget is used up")
	if err := s.Interrupt(); err != nil {
		o.log.Warn("interrupt not sent", "err", err)
	}
}

// owns reports whether a result that is not marked as a background result belongs to a turn of
// the agent's own: it names no turn, and none of the lane's turns is under way. A result before
// the agent is ready, or of a turn with an earlier outcome, is about no turn at all. With a turn
// handed over and not begun, an error may also say why the agent ends.
func (o *ownTurns) owns(r *core.Result) bool {
	s := o.conv.session
	if len(r.Turns) > 0 || !s.ready || len(s.replayed) > 0 {
		return false
	}
	open := false
	for _, f := range o.turns.list {
		if !f.handed || f.answered {
			continue
		}
		if !f.started.IsZero() || f.agentDone {
			return false
		}
		open = true
	}
	return !open || !r.IsError || s.background.own != noOwnTurn
}

// end counts the result of a turn of the agent's own, and tells the channel what the agent said.
func (o *ownTurns) end(ev *core.Event) {
	r, s := ev.Result, o.conv.session
	wokenBy, refused := cmp.Or(s.background.wokenBy, r.WokenBy), s.background.own == ownTurnRefused
	s.background.TurnEnds()
	o.conv.cost.Note(r)
	// The line contains a uuid, so a replayed line yields the same id.
	id := uuid.NewSHA1(uuid.NameSpaceOID, ev.Raw).String()
	if slices.ContainsFunc(o.conv.counted, func(b core.Background) bool { return b.ID == id }) {
		return // the total may contain later results
	}
	cost := o.conv.cost.Add(r, s.isKnown())
	b := &core.Background{
		ID:        id,
		Channel:   o.key,
		Text:      cmp.Or(r.Text, r.Error),
		WokenBy:   wokenBy,
		IsError:   r.IsError,
		CreatedAt: o.now(),
		SessionID: o.conv.id,
		CostUSD:   cost,
		TotalCost: r.TotalCost,
	}
	o.manager.budget.Add(b.CreatedAt, cost)
	if refused && r.Interrupted {
		b.Text = o.refusal(wokenBy)
	}
	o.log.Info("claude's own turn ended", "background", b.ID, "woken_by", wokenBy, "is_error", b.IsError, "cost_usd", humanize.RoundUSD(cost))
	if o.log.Enabled(o.manager.ctx, slog.LevelDebug) {
		text, _ := core.TruncateText(b.Text, core.MaxPromptBytes)
		o.log.Debug("background result", "id", b.ID, "text", text)
	}
	o.journal.save(core.Change{Background: []*core.Background{b}, Lazy: true}, s.acks.hold(), nil)
	if b.Text != "" {
		o.publish(core.Update{Kind: core.UpdateBackground, Background: b})
	}
}

// refusal tells why the agent's own turn was ended, once a day.
func (o *ownTurns) refusal(wokenBy string) string {
	b, day := &o.conv.session.background, core.Day(o.now())
	if b.toldRefusal == day {
		return ""
	}
	b.toldRefusal = day
	return "Claude began a turn by itself" + parenthesized(wokenBy) + ", which was ended: " +
		o.conv.queue.budgetUsed(o.now()) + " The conversation goes on with your next message."
}
