package chat

import (
	"context"
	"math"
	"strings"
	"time"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/term"
)

const (
	// liveLines is the number of lines shown of a text still being written.
	liveLines = 8
	// promptLines is the maximum height of the prompt.
	promptLines = 6
	// writtenLines is the maximum number of lines in the prompt: the textarea (v2.1.1) loses
	// further lines.
	writtenLines = 10_000
	// leaveWithin bounds the time between two presses of Ctrl-C that leave the chat.
	leaveWithin = 2 * time.Second
	// tickEvery is the interval for redrawing a turn's duration.
	tickEvery = time.Second
)

const prompt = "› "

const help = "Enter sends, Alt-Enter or Ctrl-J begins a new line, Up and Down bring back what you wrote. " +
	"Ctrl-C or Esc stops Claude; Ctrl-C twice or Ctrl-D leaves, and a turn that runs goes on. " +
	"/quit leaves, /help shows this."

// A model is the terminal's state. Bubble Tea calls the methods sequentially.
type model struct {
	ctx      context.Context
	gateway  *gateway
	talk     *talk
	input    textarea.Model
	width    int
	height   int // height of the terminal, 0 if unknown
	live     live
	printer  printer
	spoken   chan struct{}    // closed when the last entered text is sent; nil before the first
	drawn    tea.View         // the present live rows
	before   []core.MessageID // messages open before the stream of updates began
	past     []string         // entered texts, oldest first
	at       int              // index of the recalled text in past; len(past) shows the draft
	draft    string           // text being written when the recall began
	ctrlC    time.Time
	ticking  bool
	leaving  bool
	coloured bool // the scrollback
}

func newModel(ctx context.Context, g *gateway, first arrival, width int) *model {
	in := textarea.New()
	in.Prompt, in.Placeholder, in.ShowLineNumbers, in.CharLimit = prompt, "Write to Claude; /help says how", false, 0
	in.DynamicHeight, in.MinHeight, in.MaxHeight, in.MaxContentHeight = true, 1, promptLines, math.MaxInt
	in.KeyMap.InsertNewline.SetKeys("alt+enter", "shift+enter", "ctrl+j")
	in.SetVirtualCursor(false)
	in.SetStyles(textarea.Styles{Focused: textarea.StyleState{Placeholder: lipgloss.NewStyle().Faint(true)}})
	m := &model{ctx: ctx, gateway: g, before: first.open(), talk: newTalk(), input: in}
	m.talk.fold.Adopt(first.status)
	m.resize(width)
	_ = m.draw() // a first frame never shrinks
	return m
}

// resize sets the width. The last column stays free, because terminals disagree about the
// cursor's position after the last column.
func (m *model) resize(width int) {
	m.width = max(10, width-1)
	m.input.SetWidth(m.width)
}

// Init focuses the prompt.
func (m *model) Init() tea.Cmd { return m.input.Focus() }

func greeting(channel string, a arrival) []line {
	lines := []line{{asNote, "Channel " + term.SafeLine(channel) + ". /help says how this works."}}
	for _, p := range a.problems {
		lines = append(lines, line{asProblem, p})
	}
	if len(a.last) > 0 && a.last[0].Text != "" {
		lines = append(lines, line{asNote, "Claude's last answer:"}, line{asClaude, a.last[0].Text})
	}
	if a.status.State == core.StateRunning {
		lines = append(lines, line{asNote, "A turn is running."})
	}
	return lines
}

func (m *model) render(l line) string { return l.render(m.width, m.coloured) }

// An ended ends the chat at once, even with lines still to print.
type ended struct{}

// print adds lines to the scrollback, in order.
func (m *model) print(lines []line) tea.Cmd {
	if len(lines) == 0 {
		return nil
	}
	for _, l := range lines {
		m.printer.add(m.render(l))
	}
	return m.printer.next(m.space())
}

func (m *model) printed() tea.Cmd {
	m.printer.busy = false
	if m.printer.closed && m.printer.done() {
		return m.gone()
	}
	return m.printer.next(m.space())
}

func (m *model) space() int { return m.height - m.live.rows }

// Update processes a key press or an event.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	return m, tea.Batch(cmd, m.draw())
}

func (m *model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.height = msg.Height
		m.resize(msg.Width)
		return nil
	case tea.KeyPressMsg:
		if m.printer.closed { // the chat is closing
			return nil
		}
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg)
	case ended:
		m.leaving = true
		return tea.Quit
	case printed:
		return m.printed()
	case shrink:
		m.live.shrink(msg)
		return nil
	case tick:
		m.ticking = false
		return m.tick()
	case said:
		return m.sent(msg)
	case ran:
		return m.print(msg.lines)
	case noCommand:
		return m.answer(string(msg))
	case done:
		if msg.err != nil { // shown even if the question is already closed
			return tea.Batch(m.print([]line{{asProblem, msg.err.Error()}}), m.look(msg.approval, nil))
		}
		return nil
	case found:
		return m.print(m.talk.found(msg))
	case lost:
		if m.talk.lost = bool(msg); m.talk.lost {
			return nil
		}
		ids := m.before // their outcomes before the stream's begin were missed
		m.before = nil
		return tea.Batch(m.tick(), m.look("", ids))
	case core.Update:
		return m.heard(msg)
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}

func (m *model) heard(u core.Update) tea.Cmd {
	cmds := []tea.Cmd{m.print(m.talk.take(u)), m.tick()}
	if u.Kind == api.NoticeGap {
		cmds = append(cmds, m.look("", m.talk.fold.Open()))
	}
	return tea.Batch(cmds...)
}

// look requests the state of the channel, its approvals and some messages, after updates may
// have been missed. again is the id of an approval to show again if still pending; empty for
// none.
func (m *model) look(again string, ids []core.MessageID) tea.Cmd {
	known, turn := m.talk.asking(), m.talk.turn()
	return func() tea.Msg {
		f := m.gateway.look(m.ctx, ids)
		f.known, f.turn, f.again = known, turn, again
		return f
	}
}

// A tick redraws the duration of a turn.
type tick struct{}

func (m *model) tick() tea.Cmd {
	if m.ticking || !m.talk.busy() {
		return nil
	}
	m.ticking = true
	return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tick{} })
}

func (m *model) sent(s said) tea.Cmd {
	if s.err != nil {
		if m.input.Value() == "" { // keeps the unsent text without overwriting a new text
			m.input.SetValue(s.text)
		}
		return m.print([]line{{asProblem, "Not sent: " + s.err.Error()}})
	}
	m.talk.sent(time.Now(), &s.message)
	return m.tick()
}

// View returns the live rows.
func (m *model) View() tea.View { return m.drawn }

// draw draws the live rows, and returns the command that later removes superfluous rows.
func (m *model) draw() tea.Cmd {
	if m.leaving {
		m.drawn = tea.NewView("")
		return nil
	}
	var parts []string
	written := m.talk.fold.View().Text
	if text := lastOf(written); strings.TrimSpace(text) != "" {
		text = fenceBefore(strings.TrimSuffix(written, text)) + text
		lines := strings.Split(m.render(line{asClaude, text}), "\n")
		parts = append(parts, lines[max(0, len(lines)-liveLines):]...)
	}
	if len(m.talk.asks) > 0 {
		parts = append(parts, m.render(line{asQuestion, m.talk.asks[0].keys()}))
	}
	if what := m.talk.activity(time.Now()); what != "" {
		parts = append(parts, m.render(line{asNote, what}))
	}
	for i := range parts {
		parts[i] = withoutTabs(parts[i])
	}
	above := strings.Join(parts, "\n")
	if above != "" {
		above += "\n"
	}
	content := above + m.input.View()
	shrinks := m.live.fit(lipgloss.Height(content))
	v := tea.NewView(m.live.fill(content))
	if v.Cursor = m.input.Cursor(); v.Cursor != nil {
		v.Cursor.Y += lipgloss.Height(above) - 1
	}
	m.drawn = v
	return shrinks
}
