package approvals

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"bareclaw/adapters/telegram/chats"
	"bareclaw/adapters/telegram/env"
	"bareclaw/adapters/telegram/outbox"
	"bareclaw/adapters/telegram/view"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

func (h *Handler) answersTo(ctx context.Context, approval string) (view.Answers, error) {
	var a view.Answers
	_, err := h.env.Records.Get(ctx, env.RecordAnswers+approval, &a)
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
		return choose(questions[number], a, option)
	})
	h.editTapped(ctx, t, id)
	return text
}

// choose applies a button to the open question, and returns a text if nothing changes.
func choose(q core.Question, a *view.Answers, option string) string {
	switch option {
	case "other":
		return "Reply to this message with your own words."
	case "done":
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
	p, err := h.env.Approval(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return questionGone
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
		return questionGone
	case p.State != core.ApprovalPending:
		return view.TooLate(&p)
	}
	if a.Open() < len(questions) && a.Last != key {
		if text := change(questions, &a); text != "" {
			return text
		}
		a.Last = key
		if err := h.env.Records.Put(ctx, env.RecordAnswers+id, a); err != nil {
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
