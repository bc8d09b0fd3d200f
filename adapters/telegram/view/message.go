// Package view renders the texts of a chat and the buttons below. Package view has no
// state and no side effects.
package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bareclaw/adapters/telegram/markdown"
	"bareclaw/core"
	"bareclaw/core/progress"
	"bareclaw/internal/visible"
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

// Summary returns the sender and the text of a message, on one line.
func Summary(m *core.Message) string {
	text := cmp.Or(m.Content.Text, blocksText(m.Content.Blocks))
	if m.Origin.User != "" {
		text = m.Origin.User + ": " + text
	}
	return Brief(text, 100)
}

// blocksText returns the text of a message's text blocks, and the kinds of the other
// blocks.
func blocksText(blocks []json.RawMessage) string {
	var texts []string
	for _, raw := range blocks {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		if b.Type != "text" {
			b.Text = "[" + b.Type + "]"
		}
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, " ")
}

// Status renders a status message as Markdown: the calls of tools, one on each line, and the
// current activity.
func Status(calls []progress.Line, activity string) string {
	var lines []string
	for _, l := range calls {
		lines = append(lines, Literal(callMark(l)+l.String()))
	}
	if activity != "" {
		lines = append(lines, "_"+Literal(activity)+"_")
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

// Literal escapes a text, on one line, to make Markdown show the text unchanged.
func Literal(text string) string {
	var b strings.Builder
	for _, r := range OneLine(text) {
		if strings.ContainsRune("$()[]", r) { // escaped, they would enclose formulas
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		if r < 0x80 && strings.ContainsRune("!\"#%&'*+,-./:;<=>?@\\^_`{|}~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), `\_`, "&#95;") // emphasis does not end behind an escaped underscore
}

// Code formats a text as inline code.
func Code(text string) string {
	text = OneLine(text)
	if text == "" {
		return ""
	}
	fence := Fence("`", text)
	if fence == "`" {
		return fence + text + fence
	}
	return fence + " " + text + " " + fence
}

// Fence returns backquotes, at least those given, that do not occur in a text.
func Fence(least, text string) string {
	for strings.Contains(text, least) {
		least += "`"
	}
	return least
}

// Brief shortens a text to one line of at most n UTF-16 units, with escapes for the characters
// without a glyph.
func Brief(text string, n int) string {
	return markdown.Shorten(visible.Words(text), n)
}

// Count returns a number with its noun.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Clock returns the time of a moment, and the day unless it is today.
func Clock(t time.Time) string {
	t = t.Local()
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2 January 15:04")
}

// Duration returns a duration in at most two units, and never zero.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", max(d.Seconds(), 0.1))
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// OneLine replaces each run of spaces and line ends with one space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
