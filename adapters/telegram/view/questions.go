package view

import (
	"fmt"
	"slices"
	"strings"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/visible"
)

// Answers are the answers to the questions of one approval, in the order of the
// questions.
type Answers struct {
	Given  [][]string `json:"given"`            // final answers
	Picked []int      `json:"picked,omitempty"` // options picked until now of an open multiple choice
	Last   string     `json:"last,omitempty"`   // source key of the last change, to be made only once
	Writer int64      `json:"writer,omitempty"` // user whose next text is the answer
	Name   string     `json:"name,omitempty"`   // of the writer
}

// Open returns the index of the first unanswered question.
func (a *Answers) Open() int { return len(a.Given) }

// Give answers the open question.
func (a *Answers) Give(texts ...string) {
	a.Given, a.Picked, a.Writer, a.Name = append(a.Given, texts), nil, 0, ""
}

// Toggle picks or unpicks an option of the open question.
func (a *Answers) Toggle(option int) {
	if i := slices.Index(a.Picked, option); i >= 0 {
		a.Picked = slices.Delete(a.Picked, i, i+1)
		return
	}
	a.Picked = append(a.Picked, option)
	slices.Sort(a.Picked)
}

// ByQuestion returns the answers by the text of their question.
func (a *Answers) ByQuestion(questions []core.Question) map[string][]string {
	all := map[string][]string{}
	for i, given := range a.Given[:min(len(a.Given), len(questions))] {
		all[questions[i].Question] = given
	}
	return all
}

// Questions renders the open question, below the answered questions.
func Questions(p *core.Approval, questions []core.Question, a Answers) Request {
	r := question(p, questions, a)
	r.Before = shortened(questions)
	return r
}

func question(p *core.Approval, questions []core.Question, a Answers) Request {
	var b markdown.Builder
	for i, given := range a.Given[:min(len(a.Given), len(questions))] {
		b.Text("✓ " + mdtext.Brief(questions[i].Question, 200) + " ").Bold(mdtext.Brief(strings.Join(given, ", "), 200)).Text("\n")
	}
	if p.State != core.ApprovalPending {
		if len(a.Given) == 0 {
			b.Text(mdtext.Brief(questions[0].Question, 500) + "\n")
		}
		return decided(b.Text("\n"), p)
	}
	n := a.Open()
	if n >= len(questions) {
		return Request{Text: b.Text("\n").Italic("Answering…").Document()}
	}
	if len(a.Given) > 0 {
		b.Text("\n")
	}
	showQuestion(&b, questions, n, mdtext.Shorten)
	how := "Or reply to this message with a number, or with your own words."
	if a.Writer != 0 {
		how = "The next message of " + mdtext.Brief(a.Name, 100) + " is the answer."
	}
	b.Text("\n").Italic(how + " Open until " + mdtext.Clock(p.ExpiresAt) + ".")
	return Request{Text: b.Document(), Buttons: optionButtons(p.ID, n, questions[n], a)}
}

// showQuestion renders a question with its options. The function limit shortens a text to a
// number of UTF-16 units.
func showQuestion(b *markdown.Builder, questions []core.Question, n int, limit func(text string, units int) string) {
	q := questions[n]
	title := "Claude asks"
	if len(questions) > 1 {
		title += fmt.Sprintf(" (%d of %d)", n+1, len(questions))
	}
	b.Bold(title).Text("\n" + limit(visible.Paragraphs(q.Question), 1000) + "\n")
	for i, o := range q.Options {
		b.Text(fmt.Sprintf("\n%d. ", i+1)).Bold(limit(visible.Words(o.Label), 100))
		if o.Description != "" {
			b.Text(" – " + limit(visible.Words(o.Description), 300))
		}
	}
	b.Text("\n")
}

// shortened returns all questions with all of their options, if the message has no room for one
// of them: an answer goes to Claude whole.
func shortened(questions []core.Question) Attachment {
	var b markdown.Builder
	cut := false
	for n, q := range questions {
		showQuestion(&b, questions, n, func(text string, units int) string {
			cut = cut || mdtext.Shorten(text, units) != text
			return text
		})
		for _, o := range q.Options {
			if o.Preview != "" {
				cut = true
				b.Text("\n"+visible.Words(o.Label)+":").Pre("", visible.Code(o.Preview))
			}
		}
		b.Text("\n")
	}
	whole := b.Document()
	if !cut && markdown.Length(whole.Text) <= markdown.MaxUnits/2 {
		return Attachment{}
	}
	return Attachment{[]markdown.Document{whole}, "questions.txt", whole.Text}
}

// optionButtons returns a button for each option. The data of the buttons name the
// question, since a late tap must not answer another question.
func optionButtons(id string, n int, q core.Question, a Answers) [][]Button {
	var rows [][]Button
	for i, o := range q.Options {
		label := mdtext.Brief(o.Label, labelShown)
		if q.MultiSelect {
			box := "☐ "
			if slices.Contains(a.Picked, i) {
				box = "☑ "
			}
			label = box + label
		}
		rows = append(rows, []Button{{label, fmt.Sprintf("answer:%s:%d:%d", id, n, i)}})
	}
	var last []Button
	if q.MultiSelect {
		last = append(last, Button{"Done", fmt.Sprintf("answer:%s:%d:done", id, n)})
	}
	return append(rows, append(last, Button{"Other…", fmt.Sprintf("answer:%s:%d:other", id, n)}, Button{"No answer", "deny:" + id}))
}
