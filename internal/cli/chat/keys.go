package chat

import (
	"fmt"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"

	tea "charm.land/bubbletea/v2"
)

// startle is how long a new question ignores keys, which go to the prompt instead: a person
// typing at the time has not seen the question. With Enter, the prompt's text answers the
// question.
const startle = 500 * time.Millisecond

func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	empty := m.input.Value() == ""
	switch {
	case key == "ctrl+c":
		return m.stop()
	case key == "esc" && m.talk.turn() != "":
		return m.interrupt()
	case key == "ctrl+d" && empty:
		return m.leave()
	case key == "enter":
		return m.enter()
	case empty && len(m.talk.asks) > 0 && time.Since(m.talk.askedAt) > startle:
		if d, ok := m.talk.asks[0].key(key); ok {
			return m.decide(d)
		}
	case key == "up" && m.input.Line() == 0 && m.at > 0:
		return m.recall(m.at - 1)
	case key == "down" && m.input.Line() == m.input.LineCount()-1 && m.at < len(m.past):
		return m.recall(m.at + 1)
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}

// stop stops claude. Without a turn to stop, stop empties the prompt; a second press leaves
// the chat.
func (m *model) stop() tea.Cmd {
	now := time.Now()
	twice := now.Sub(m.ctrlC) < leaveWithin
	m.ctrlC = now
	switch {
	case m.talk.turn() != "":
		m.ctrlC = time.Time{} // the press that stops a turn does not count for leaving, nor does the next
		return m.interrupt()
	case twice:
		return m.leave()
	case m.input.Value() != "":
		m.input.Reset()
		m.at = len(m.past)
		m.ctrlC = time.Time{}
		return nil
	}
	return m.print([]line{{asNote, "Ctrl-C once more, or Ctrl-D, leaves."}})
}

func (m *model) interrupt() tea.Cmd {
	turn := m.talk.turn()
	return tea.Batch(m.print([]line{{asNote, "Stopping…"}}), func() tea.Msg { return m.gateway.interrupt(m.ctx, turn) })
}

// leave ends the chat once all earlier lines are printed.
func (m *model) leave() tea.Cmd {
	m.printer.closed = true
	return m.gone()
}

func (m *model) gone() tea.Cmd {
	if !m.printer.done() {
		return nil
	}
	m.leaving = true
	return tea.Quit
}

// enter sends the prompt's text, or answers a question with the text.
func (m *model) enter() tea.Cmd {
	text := strings.TrimSpace(m.input.Value())
	if text == "" {
		return nil
	}
	m.input.Reset()
	if n := len(m.past); n == 0 || m.past[n-1] != text {
		m.past = append(m.past, text)
	}
	m.at = len(m.past)
	if text == "/quit" || text == "/exit" {
		return m.leave()
	}
	return tea.Sequence(m.print([]line{{asUser, text}}), m.entered(text))
}

func (m *model) entered(text string) tea.Cmd {
	switch {
	case text == "/help":
		return tea.Sequence(m.print([]line{{asNote, help}}), m.command(text))
	case strings.HasPrefix(text, "/"):
		return m.command(text)
	}
	return m.answer(text)
}

// answer answers the open question with a text, or sends the text to claude.
func (m *model) answer(text string) tea.Cmd {
	if len(m.talk.asks) > 0 {
		f := m.talk.asks[0]
		d, decided := f.key(text)
		if !decided && !f.cut() && !f.answered() {
			if d, decided = f.words(text); !decided {
				return m.print(m.talk.ask())
			}
		}
		if decided {
			return m.decide(d)
		}
	}
	return m.speak(text)
}

// speak sends a text after all texts entered before.
func (m *model) speak(text string) tea.Cmd {
	return m.afterEntered(func() tea.Msg { return m.gateway.say(m.ctx, text) })
}

// afterEntered does something for a text when all texts entered before are dealt with.
func (m *model) afterEntered(do func() tea.Msg) tea.Cmd {
	before, sent := m.spoken, make(chan struct{})
	m.spoken = sent
	return func() tea.Msg {
		defer close(sent)
		if before != nil {
			<-before // the earlier sender ends with ctx
		}
		return do()
	}
}

// paste inserts the pasted text: all or nothing.
func (m *model) paste(msg tea.PasteMsg) (cmd tea.Cmd) {
	msg.Content = strings.ReplaceAll(msg.Content, "\r\n", "\n")
	if strings.Count(msg.Content, "\n")+strings.Count(msg.Content, "\r")+m.input.LineCount() > writtenLines {
		return m.print([]line{{asProblem, fmt.Sprintf("Not pasted: the prompt holds %d lines. From a file: bareclaw send %s - < FILE", writtenLines, m.gateway.channel)}})
	}
	m.input, cmd = m.input.Update(msg)
	return cmd
}

// decide answers the first question. The question stays until the gateway closes the
// approval.
func (m *model) decide(d api.Decision) tea.Cmd {
	id := m.talk.asks[0].approval.ID
	return func() tea.Msg { return m.gateway.decide(m.ctx, id, d) }
}

// recall shows an earlier text in the prompt, or the draft.
func (m *model) recall(at int) tea.Cmd {
	if m.at == len(m.past) {
		m.draft = m.input.Value()
	}
	m.at = at
	text := m.draft
	if at < len(m.past) {
		text = m.past[at]
	}
	m.input.SetValue(text)
	m.input.MoveToEnd()
	return nil
}
