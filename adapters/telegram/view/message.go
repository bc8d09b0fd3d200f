// Package view renders the texts of a chat and the buttons below. Package view has no
// state and no side effects.
package view

import (
	"cmp"
	"slices"
	"strings"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/core/progress"
	"bareclaw/internal/mdtext"
)

// A Note is a message of the gateway itself, for example the answer to a command, or the
// reason for a refusal.
type Note struct {
	Text    string     `json:"text"` // Markdown
	Buttons [][]Button `json:"buttons,omitempty"`
	ReplyTo int        `json:"reply_to,omitempty"` // message answered by the note
}

// A Button is a button below a message. A tap on the button sends Data, 1 to 64 bytes:
// https://core.telegram.org/bots/api#inlinekeyboardbutton
type Button struct {
	Text string `json:"text"`
	Data string `json:"data"`
}

// NoteOf returns a note of a command, with a text in the place of the note's own.
func NoteOf(text string, n *commands.Note) Note {
	note := Note{Text: text}
	for row := range slices.Chunk(n.Choices, max(1, n.Columns)) {
		buttons := make([]Button, len(row))
		for i, c := range row {
			buttons[i] = Button{Text: c.Label, Data: c.Command}
		}
		note.Buttons = append(note.Buttons, buttons)
	}
	return note
}

// Status renders a status message as Markdown: the calls of tools, one on each line, and the
// current activity.
func Status(calls []progress.Line, activity string) string {
	var lines []string
	for _, l := range calls {
		lines = append(lines, mdtext.Literal(callMark(l)+l.String()))
	}
	if activity != "" {
		lines = append(lines, "_"+mdtext.Literal(activity)+"_")
	}
	return strings.Join(lines, "\n")
}

func callMark(l progress.Line) string {
	mark := "▸ "
	switch {
	case l.IsError:
		mark = "✗ "
	case l.Ended:
		mark = "✓ "
	}
	if l.Sub {
		return "↳ " + mark
	}
	return mark
}

// StopButton returns the button that stops the running turn; none if no turn runs.
func StopButton(v progress.View) [][]Button {
	if v.Phase != progress.Running {
		return nil
	}
	return [][]Button{{{Text: "⏹ Stop", Data: "stop:" + string(v.Turn)}}}
}

// Change renders a change of a file.
func Change(c progress.Change) markdown.Document {
	var b markdown.Builder
	if c.Old == "" {
		return b.Write(c.File, c.New, markdown.Excerpt).Document()
	}
	return b.Edit(c.File, c.Old, c.New, markdown.Excerpt).Document()
}

// Reply renders the outcome of a message as Markdown.
func Reply(r *core.Reply) string {
	var b strings.Builder
	for _, n := range r.Notices {
		b.WriteString("> " + strings.ReplaceAll(n.Text, "\n", "\n> ") + "\n\n")
	}
	text := strings.TrimSpace(r.Text)
	switch r.State {
	case core.Failed:
		b.WriteString("⚠️ ")
	case core.Cancelled:
		b.WriteString("⏹ ")
	default:
		text = cmp.Or(text, "*Claude ended this turn without an answer.*")
	}
	b.WriteString(text)
	return b.String()
}

// The verbs of the buttons below a failure.
const (
	RetryVerb  = "retry" // + message id: run the message again
	RenewVerb  = "new"   // + message id: forget the conversation that refused the message
	retryLabel = "Retry"
	renewLabel = "New conversation"
)

// Remedies returns the buttons below the outcome of a message: what can be done about a failure
// whose cause is not in the message itself.
func Remedies(m *core.Message) [][]Button {
	if m.State != core.Failed || m.Reply.Coalesced {
		return nil
	}
	switch m.Reply.Code {
	case core.CodeNotLoggedIn, core.CodeAgentMissing, core.CodeAgentStart:
		return [][]Button{{{retryLabel, RetryVerb + ":" + string(m.ID)}}}
	case core.CodeRefused, core.CodePromptTooLong:
		return [][]Button{{{renewLabel, RenewVerb + ":" + string(m.ID)}}}
	}
	return nil
}
