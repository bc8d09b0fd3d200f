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
	"bareclaw/internal/term"
)

const (
	// defaultWidth is for a terminal that does not tell its own.
	defaultWidth = 80
	// liveLines is how many lines of what is being said are shown until it is whole.
	liveLines = 8
	// promptLines is how tall the prompt grows.
	promptLines = 6
	// writtenLines is how many lines it holds: the textarea (v2.1.1) loses what is more.
	writtenLines = 10_000
	// leaveWithin is how soon a second Ctrl-C must come to leave.
	leaveWithin = 2 * time.Second
	// tickEvery is how often the time that a turn takes is shown anew.
	tickEvery = time.Second
)

// prompt is before what is written.
const prompt = "› "

const help = "Enter sends, Alt-Enter or Ctrl-J begins a new line, Up and Down bring back what you wrote. " +
	"Ctrl-C or Esc stops Claude; Ctrl-C twice or Ctrl-D leaves, and a turn that runs goes on. " +
	"/clear, /compact and the like are Claude's own; /quit leaves, /help shows this."

// A model is the terminal's state. Its methods are called one at a time.
type model struct {
	ctx     context.Context
	gateway *gateway
	talk    *talk
	input   textarea.Model
	width   int
	height  int // of the terminal, 0 while it is not known
	live    live
	printer printer
	spoken  chan struct{} // closed when what was written last is sent; nil: nothing was
	drawn   tea.View      // what lives, as it is now
	before  []string      // messages that were open before the channel was listened to
	past    []string      // what was written, oldest first
	at      int           // which of it is shown; len(past) is none
	draft   string        // what was being written when it was looked for
	ctrlC   time.Time
	ticking bool
	leaving bool
}

func newModel(ctx context.Context, g *gateway, before []string, width int) *model {
	in := textarea.New()
	in.Prompt, in.Placeholder, in.ShowLineNumbers, in.CharLimit = prompt, "Write to Claude; /help says how", false, 0
	in.DynamicHeight, in.MinHeight, in.MaxHeight, in.MaxContentHeight = true, 1, promptLines, math.MaxInt
	in.KeyMap.InsertNewline.SetKeys("alt+enter", "shift+enter", "ctrl+j")
	in.SetVirtualCursor(false)
	in.SetStyles(textarea.Styles{Focused: textarea.StyleState{Placeholder: lipgloss.NewStyle().Faint(true)}})
	m := &model{ctx: ctx, gateway: g, before: before, talk: newTalk(), input: in}
	m.resize(width)
	_ = m.draw() // there is nothing to leave out yet
	return m
}

// resize takes up how wide the terminal is. The last column stays free: terminals do
// not agree on where the cursor is after it.
func (m *model) resize(width int) {
	m.width = max(10, width-1)
	m.input.SetWidth(m.width)
}

// Init begins with the prompt, and with what is asked already.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.input.Focus(), m.lookAsked(""))
}

// greeting says where the chat is, and what was before.
func greeting(channel string, a arrival) []line {
	lines := []line{{asNote, "Channel " + term.SafeLine(channel) + ". /help says how this works."}}
	for _, p := range a.problems {
		lines = append(lines, line{asProblem, p})
	}
	if len(a.last) > 0 && a.last[0].Text != "" {
		lines = append(lines, line{asNote, "Claude's last words here:"}, line{asClaude, a.last[0].Text})
	}
	if a.state == "running" {
		lines = append(lines, line{asNote, "A turn is running."})
	}
	return lines
}

// render returns a line as this terminal gets it.
func (m *model) render(l line) string { return l.render(m.width, m.gateway.o.Coloured) }

// An ended says that the chat is to end now, whatever is still to be printed.
type ended struct{}

// print puts lines into the scrollback, in their order.
func (m *model) print(lines []line) tea.Cmd {
	if len(lines) == 0 {
		return nil
	}
	for _, l := range lines {
		m.printer.add(m.render(l))
	}
	return m.printer.next(m.space())
}

// printed goes on with what is still to be printed.
func (m *model) printed() tea.Cmd {
	m.printer.busy = false
	if m.printer.closed && m.printer.done() {
		return m.gone()
	}
	return m.printer.next(m.space())
}

// space is how many rows are above what lives.
func (m *model) space() int { return m.height - m.live.rows }

// Update takes up a key, or what was heard.
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
		if m.printer.closed { // it is leaving
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
	case told:
		if msg.err != nil {
			return m.print([]line{{asProblem, msg.err.Error()}})
		}
		return nil
	case decided:
		if msg.err != nil { // also where nothing waits for it any more
			return tea.Batch(m.print([]line{{asProblem, msg.err.Error()}}), m.lookAsked(msg.id))
		}
		return nil
	case asked:
		return m.print(m.talk.askedOf(msg))
	case found:
		return m.print(m.talk.found(msg))
	case away, back, leaving, api.Queued, api.Started, shown, approvalOpened, approvalClosed, api.Background, api.Notice, api.Message:
		return m.heard(msg)
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}

// heard takes up what happens on the channel.
func (m *model) heard(msg any) tea.Cmd {
	cmds := []tea.Cmd{m.print(m.talk.take(time.Now(), msg)), m.tick()}
	switch msg := msg.(type) {
	case api.Notice:
		if msg.Code == api.NoticeGap {
			cmds = append(cmds, m.lookAgain())
		}
	case back:
		if ids := m.before; len(ids) > 0 { // what ended until now was not heard
			m.before = nil
			cmds = append(cmds, func() tea.Msg { return m.gateway.look(m.ctx, ids) })
		}
	}
	return tea.Batch(cmds...)
}

// lookAgain asks how things are, when it is not known what was missed.
func (m *model) lookAgain() tea.Cmd {
	ids := m.talk.unknown()
	return tea.Batch(
		func() tea.Msg { return m.gateway.look(m.ctx, ids) },
		m.lookAsked(""),
	)
}

// lookAsked asks which permissions are waited for. Again is the one that is to be asked
// for once more if it still is; empty for none.
func (m *model) lookAsked(again string) tea.Cmd {
	known := m.talk.asking()
	return func() tea.Msg {
		a := m.gateway.pending(m.ctx)
		a.known, a.again = known, again
		return a
	}
}

// A tick has the time that a turn takes shown anew.
type tick struct{}

func (m *model) tick() tea.Cmd {
	if m.ticking || !m.talk.busy() {
		return nil
	}
	m.ticking = true
	return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tick{} })
}

// sent takes up what became of a text that was sent.
func (m *model) sent(s said) tea.Cmd {
	if s.err != nil {
		if m.input.Value() == "" { // nothing that was written is lost
			m.input.SetValue(s.text)
		}
		return m.print([]line{{asProblem, "Not sent: " + s.err.Error()}})
	}
	m.talk.sent(&s.message)
	return m.tick()
}

// View shows what lives below the scrollback.
func (m *model) View() tea.View { return m.drawn }

// draw draws what lives, and returns what leaves out later what it has too much.
func (m *model) draw() tea.Cmd {
	if m.leaving {
		m.drawn = tea.NewView("")
		return nil
	}
	var parts []string
	if text := lastOf(m.talk.text.String()); strings.TrimSpace(text) != "" {
		lines := strings.Split(m.render(line{asClaude, text}), "\n")
		parts = append(parts, lines[max(0, len(lines)-liveLines):]...)
	}
	if len(m.talk.asks) > 0 {
		parts = append(parts, m.render(line{asQuestion, m.talk.asks[0].keys()}))
	}
	if what := m.talk.activity(time.Now()); what != "" {
		parts = append(parts, m.render(line{asNote, what}))
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
