package telegram

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/adapters/telegram/records"
	"bareclaw/core"

	"github.com/go-telegram/bot/models"
)

// Answers are those to the questions of one approval, by question. One that has none
// yet is open.
type answers struct {
	Given  [][]string `json:"given"`            // final ones
	Picked []int      `json:"picked,omitempty"` // options of the open question, where several may be chosen
	Last   string     `json:"last,omitempty"`   // source key of the newest change, which is not made twice
}

// open returns the number of the question that is to be answered.
func (s *answers) open() int { return len(s.Given) }

// give answers the open question.
func (s *answers) give(texts ...string) { s.Given, s.Picked = append(s.Given, texts), nil }

// toggle chooses an option of the open question, or takes that back.
func (s *answers) toggle(option int) {
	if i := slices.Index(s.Picked, option); i >= 0 {
		s.Picked = slices.Delete(s.Picked, i, i+1)
		return
	}
	s.Picked = append(s.Picked, option)
	slices.Sort(s.Picked)
}

// byQuestion is how the core wants them.
func (s *answers) byQuestion(questions []core.Question) map[string][]string {
	all := map[string][]string{}
	for i, given := range s.Given[:min(len(s.Given), len(questions))] {
		all[questions[i].Question] = given
	}
	return all
}

func (a *Adapter) answersTo(ctx context.Context, approval string) (answers, error) {
	var s answers
	_, err := a.records.Get(ctx, records.Answers+approval, &s)
	return s, err
}

// presentQuestions asks the open question, below those that are answered.
func presentQuestions(p *core.Approval, questions []core.Question, s answers) asked {
	var b markdown.Builder
	for i, given := range s.Given[:min(len(s.Given), len(questions))] {
		b.Text("✓ " + brief(questions[i].Question, 200) + " ").Bold(brief(strings.Join(given, ", "), 200)).Text("\n")
	}
	if p.State != core.ApprovalPending {
		if len(s.Given) == 0 {
			b.Text(brief(questions[0].Question, 500) + "\n")
		}
		b.Text("\n").Bold(decidedText(p))
		return asked{text: b.Document()}
	}
	n := s.open()
	if n >= len(questions) {
		b.Text("\n").Italic("Answering…")
		return asked{text: b.Document()}
	}
	q := questions[n]
	title := "Claude asks"
	if len(questions) > 1 {
		title += fmt.Sprintf(" (%d of %d)", n+1, len(questions))
	}
	if len(s.Given) > 0 {
		b.Text("\n")
	}
	b.Bold(title).Text("\n" + markdown.Shorten(q.Question, 1000) + "\n")
	for _, o := range q.Options {
		b.Text("\n• ").Bold(brief(o.Label, 100))
		if o.Description != "" {
			b.Text(" – " + brief(o.Description, 300))
		}
	}
	b.Text("\n\n").Italic("Or reply to this message with your own words. Until " + clock(p.ExpiresAt) + ".")
	return asked{text: b.Document(), buttons: optionButtons(p.ID, n, q, s)}
}

// optionButtons are one for each option; their data says which question they are of,
// since a late tap must not answer another one.
func optionButtons(id string, n int, q core.Question, s answers) [][]Button {
	var rows [][]Button
	for i, o := range q.Options {
		label := brief(o.Label, labelShown)
		if q.MultiSelect {
			box := "☐ "
			if slices.Contains(s.Picked, i) {
				box = "☑ "
			}
			label = box + label
		}
		rows = append(rows, []Button{{label, fmt.Sprintf("q:%s:%d:%d", id, n, i)}})
	}
	last := []Button{{"Other…", fmt.Sprintf("q:%s:%d:other", id, n)}, {"No answer", "no:" + id}}
	if q.MultiSelect {
		last = slices.Insert(last, 0, Button{"Done", fmt.Sprintf("q:%s:%d:done", id, n)})
	}
	return append(rows, last)
}

// tapOption is the tap on an option, or on what else there is below a question.
func (a *Adapter) tapOption(ctx context.Context, t tap) string {
	parts := strings.Split(t.arg, ":")
	if len(parts) != 3 {
		return buttonGone
	}
	id, option := parts[0], parts[2]
	number, err := strconv.Atoi(parts[1])
	if err != nil {
		return buttonGone
	}
	text := a.answering(ctx, id, &t.user, t.key, func(questions []core.Question, s *answers) string {
		if number != s.open() {
			return "This question is answered already."
		}
		return choose(questions[number], s, option)
	})
	a.showTapped(ctx, t, id)
	return text
}

// choose does what a button below a question is for.
func choose(q core.Question, s *answers, option string) string {
	switch option {
	case "other":
		return "Reply to this message with your own words."
	case "done":
		if len(s.Picked) == 0 {
			return "Choose at least one first, or reply with your own words."
		}
		var texts []string
		for _, i := range s.Picked {
			if i < len(q.Options) {
				texts = append(texts, q.Options[i].Label)
			}
		}
		s.give(texts...)
		return ""
	}
	i, err := strconv.Atoi(option)
	switch {
	case err != nil || i < 0 || i >= len(q.Options):
		return buttonGone
	case q.MultiSelect:
		s.toggle(i)
	default:
		s.give(q.Options[i].Label)
	}
	return ""
}

// answering changes what is answered of an approval's questions, shows that, and
// gives the answers to the agent once they are complete. One at a time does it:
// each goes on from what the one before has recorded.
func (a *Adapter) answering(ctx context.Context, id string, by *models.User, key string, change func([]core.Question, *answers) string) string {
	a.questions.Lock()
	defer a.questions.Unlock()
	p, err := a.o.Core.Approval(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return "This question is not known any more."
	}
	questions, ok := core.Questions(p)
	var s answers
	if err == nil {
		s, err = a.answersTo(ctx, id)
	}
	switch {
	case err != nil:
		return brief(a.failed(ctx, "read the question", err).Text, answerShown)
	case !ok:
		return "This question is not known any more."
	case p.State != core.ApprovalPending:
		return late(&p)
	}
	if s.open() < len(questions) && s.Last != key {
		if text := change(questions, &s); text != "" {
			return text
		}
		s.Last = key
		if err := a.records.Put(ctx, records.Answers+id, s); err != nil {
			return brief(a.failed(ctx, "keep the answer", err).Text, answerShown)
		}
	}
	if s.open() < len(questions) {
		a.change(ctx, "edit:"+key, p.Channel, edit{Approval: id})
		return ""
	}
	input, err := core.AnswerInput(p, s.byQuestion(questions))
	if err != nil {
		return brief(a.failed(ctx, "answer", err).Text, answerShown)
	}
	text, _ := a.decide(ctx, id, core.Decision{Allow: true, UpdatedInput: input, By: nameOf(by)})
	return text
}
