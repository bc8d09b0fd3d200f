package approvals

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/records"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"
	"bareclaw/internal/mdtext"

	"github.com/go-telegram/bot/models"
)

func (h *Handler) answersTo(ctx context.Context, approval string) (view.Answers, error) {
	var a view.Answers
	_, err := h.env.Records.Get(ctx, records.RecordAnswers+approval, &a)
	return a, err
}

func (h *Handler) option(ctx context.Context, t chats.Tap) string {
	id, rest, _ := strings.Cut(t.Arg, ":")
	digits, option, _ := strings.Cut(rest, ":")
	number, err := strconv.Atoi(digits)
	if err != nil {
		return chats.ButtonGone
	}
	text := h.answer(ctx, id, &t.User, t.Key, func(questions []core.Question, a *view.Answers) string {
		if number != a.Open() {
			return "This question has already been answered."
		}
		if option == optionOther {
			a.Writer, a.Name = t.User.ID, chats.FullName(&t.User)
			return ""
		}
		return choose(questions[number], a, option)
	})
	h.editTapped(ctx, t, id)
	if option == optionOther && text == "" {
		return "Write your own words: your next message here is the answer."
	}
	return text
}

// optionOther is the button for an answer in the person's own words.
const optionOther = "other"

// choose applies a button to the open question, and returns a text if nothing changes.
func choose(q core.Question, a *view.Answers, option string) string {
	if option == "done" {
		if len(a.Picked) == 0 {
			return "Choose at least one option first, or reply with your own words."
		}
		var texts []string
		for _, i := range a.Picked {
			if i < len(q.Options) {
				texts = append(texts, q.Options[i].Label)
			}
		}
		a.Give(texts...)
		return ""
	}
	i, err := strconv.Atoi(option)
	switch {
	case err != nil || i < 0 || i >= len(q.Options):
		return chats.ButtonGone
	case q.MultiSelect:
		a.Toggle(i)
	default:
		a.Give(q.Options[i].Label)
	}
	return ""
}

// answer changes the answers of an approval and updates the message. When all questions
// are answered, answer passes the answers to Claude. A key changes the answers once.
func (h *Handler) answer(ctx context.Context, id string, by *models.User, key string, change func([]core.Question, *view.Answers) string) string {
	h.answers.Lock()
	defer h.answers.Unlock()
	p, err := h.decider.Approval(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return requestGone
	}
	questions, ok := core.Questions(p)
	var a view.Answers
	if err == nil {
		a, err = h.answersTo(ctx, id)
	}
	switch {
	case err != nil:
		return h.failed(ctx, "read the question", err)
	case !ok:
		return requestGone
	case p.State != core.ApprovalPending:
		return view.TooLate(&p)
	}
	if a.Open() < len(questions) && a.Last != key {
		if text := change(questions, &a); text != "" {
			return text
		}
		a.Last = key
		if err := h.env.Records.Put(ctx, records.RecordAnswers+id, a); err != nil {
			return h.failed(ctx, "record the answer", err)
		}
	}
	if a.Open() < len(questions) {
		h.out.Edit(ctx, "edit:"+key, p.Channel, outbox.Edit{Approval: id})
		return ""
	}
	input, err := core.AnswerInput(p, a.ByQuestion(questions))
	if err != nil {
		return h.failed(ctx, "encode the answers", err)
	}
	text, _ := h.decide(ctx, id, core.Decision{Allow: true, UpdatedInput: input, By: chats.FullName(by)})
	return text
}

// The words that decide without a reason. Any other text is a reason, or an answer.
var (
	yesWords    = []string{"yes", "y", "ok", "okay", "allow", "approve", "continue", "go on"}
	noWords     = []string{"no", "n", "deny", "drop"}
	alwaysWords = []string{"always"}
)

// A decision by a text is recorded: after a crash the text must not be sent to Claude as a message.
type textDecision struct {
	Approval string `json:"approval"`
	Awaited  bool   `json:"awaited,omitempty"` // the text was asked for by a button, and replies to nothing
}

// Reply decides an approval by a reply to the approval's message, or by the text that a person was
// asked to write, and confirms in the note with the id. Reply returns false if the message decides
// nothing: a reply to a decided approval is an ordinary message.
func (h *Handler) Reply(ctx context.Context, to chats.Address, key, note string, m *models.Message) bool {
	if m.Text == "" || m.ForwardOrigin != nil || m.ViaBot != nil || m.From == nil {
		return false
	}
	if h.out.Recorded(ctx, note) {
		return true
	}
	var begun textDecision
	again, err := h.env.Records.Get(ctx, records.RecordReply+key, &begun)
	h.env.Records.Error(ctx, "the record of a reply is not readable", err)
	if !again {
		if begun = h.decidedBy(ctx, to.Key(), m); begun.Approval == "" {
			return false
		}
	}
	p, err := h.decider.Approval(ctx, begun.Approval)
	if err != nil || !h.env.Moves.InChat(to, p.Channel) || !again && (p.State != core.ApprovalPending || !decisive(&p, m.Text)) {
		return false
	}
	h.env.Records.Keep(ctx, "a reply", records.RecordReply+key, begun)
	text := h.decideByText(ctx, &p, m, key, begun.Awaited)
	h.out.Say(ctx, note, to.Key(), view.Note{Text: mdtext.Literal(text), ReplyTo: m.ID})
	h.env.Records.Forget(ctx, "the record of a reply", records.RecordReply+key)
	return true
}

// decidedBy returns what a text decides: the approval to which it replies, or the one for which its
// sender was asked to write.
func (h *Handler) decidedBy(ctx context.Context, key core.ChannelKey, m *models.Message) textDecision {
	if to := m.ReplyToMessage; to != nil && to.ForumTopicCreated == nil {
		return textDecision{Approval: cmp.Or(h.shownAs(ctx, key, to.ID), Below(to, h.env.Bot))}
	}
	for _, p := range h.pending(ctx) {
		if p.Channel != key {
			continue
		}
		if a, err := h.answersTo(ctx, p.ID); err == nil && a.Writer == m.From.ID {
			return textDecision{Approval: p.ID, Awaited: true}
		}
	}
	return textDecision{}
}

// shownAs returns the pending approval shown by a message of a channel, or "".
func (h *Handler) shownAs(ctx context.Context, key core.ChannelKey, message int) string {
	for _, p := range h.pending(ctx) {
		if p.Channel != key {
			continue
		}
		if sent, err := h.out.SentAs(ctx, core.ApprovalDelivery(p.ID)); err == nil && slices.Contains(sent, message) {
			return p.ID
		}
	}
	return ""
}

// Below returns the approval named by the buttons of a message of the bot, or "". Below finds a
// request that was sent but not recorded before the gateway was killed. Members of a group can
// have other bots send any buttons.
func Below(m *models.Message, bot int64) string {
	if m.ReplyMarkup == nil || m.From == nil || m.From.ID != bot || m.ViaBot != nil {
		return ""
	}
	for _, row := range m.ReplyMarkup.InlineKeyboard {
		for _, b := range row {
			if verb, arg, _ := strings.Cut(b.CallbackData, ":"); verb == "allow" || verb == "deny" {
				return arg
			}
		}
	}
	return ""
}

// isShown reports whether all of a request is in the chat, so that a reply to the message may
// allow the request. The buttons come last: the message has them, or is followed by the message
// that has them. The last message without such buttons is of an earlier version.
func (h *Handler) isShown(ctx context.Context, approval string, m *models.Message) bool {
	if Below(m, h.env.Bot) != "" {
		return true
	}
	d, err := h.deliveries.Delivery(ctx, core.ApprovalDelivery(approval))
	if err != nil || d.State != core.DeliverySent {
		return false
	}
	sent, err := outbox.SentBy(d)
	return err == nil && slices.Contains(sent[:max(0, len(sent)-1)], m.ID)
}

// decisive reports whether a reply decides an approval. Only a plain word decides whether to
// continue an interrupted turn: any other reply is a new message for Claude.
func decisive(p *core.Approval, text string) bool {
	return p.Kind != core.ApprovalContinue || isWord(text, yesWords) || isWord(text, noWords)
}

func isWord(text string, words []string) bool {
	return slices.Contains(words, strings.ToLower(strings.Trim(text, " \n.!")))
}

// decideByText decides an approval by a text. An awaited text is the answer as it is.
func (h *Handler) decideByText(ctx context.Context, p *core.Approval, m *models.Message, key string, awaited bool) string {
	if _, ok := core.Questions(*p); ok {
		text := h.answer(ctx, p.ID, m.From, key, func(questions []core.Question, a *view.Answers) string {
			chosen, err := []string{m.Text}, error(nil)
			if !awaited {
				chosen, err = questions[a.Open()].Chosen(m.Text)
			}
			if err != nil {
				return err.Error()
			}
			a.Give(chosen...)
			return ""
		})
		return cmp.Or(text, "Noted. Please answer the next question.")
	}
	decision := core.Decision{By: chats.FullName(m.From)}
	switch {
	case awaited:
		decision.Message = m.Text
	case isWord(m.Text, yesWords):
		decision.Allow = true
	case isWord(m.Text, alwaysWords) && len(view.AlwaysRules(p)) > 0:
		decision.Allow, decision.Always = true, true
	case isWord(m.Text, noWords):
	default:
		decision.Message = m.Text
	}
	if decision.Allow && !h.isShown(ctx, p.ID, m.ReplyToMessage) {
		return "Not all of the request is shown yet. Please read it to its end, and then decide by a button."
	}
	text, won := h.decide(ctx, p.ID, decision)
	if won && decision.Message != "" {
		return "Claude has been told."
	}
	return text
}
