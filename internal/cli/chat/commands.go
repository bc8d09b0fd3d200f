package chat

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	tea "charm.land/bubbletea/v2"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/internal/visible"
)

// A Runner runs a command of the command line and returns its exit status.
type Runner func(args []string, in io.Reader, out, errs io.Writer) int

// ran is what a command of the gateway has said.
type ran struct{ lines []line }

// command carries out a text that is a command of the gateway, with the answers of the command line.
// ours is false for any other text, which is for claude.
func (m *model) command(text string) (do tea.Cmd, ours bool) {
	name, arg, _ := strings.Cut(text, " ")
	arg = strings.TrimSpace(arg)
	channel := m.gateway.channel
	switch name {
	case "/stop":
		if m.talk.turn() == "" {
			return m.print([]line{{asNote, "Nothing is running."}}), true
		}
		return m.interrupt(), true
	case "/status":
		return m.run("channels", "show", "--", channel), true
	case "/new":
		return m.run("channels", "reset", "--", channel), true
	case "/queue":
		return m.run("messages", "--open", "--", channel), true
	case "/rules":
		return m.run("channels", "rules", "--", channel), true
	case "/usage":
		return m.run("channels", "usage", "--", channel), true
	case "/why":
		if arg == "" {
			arg = channel
		}
		return m.run("trace", "--", arg), true
	case "/model":
		return m.setting(arg, "model", "--model="+arg), true
	case "/mode":
		return m.setting(arg, "permission mode", "--permission-mode="+arg), true
	case "/restart":
		return m.elsewhere("bareclaw restart"), true
	case "/verbose":
		return m.print([]line{{asNote, "/verbose is for chats. Here you see all that Claude does."}}), true
	}
	return nil, false
}

// elsewhere names the command of the terminal for what the chat itself does not do.
func (m *model) elsewhere(called string) tea.Cmd {
	return m.print([]line{{asNote, "In a terminal of its own: " + called}})
}

// setting sets a setting of the channel with a flag, or shows it without an argument. The word reset
// takes the setting back.
func (m *model) setting(arg, name, flag string) tea.Cmd {
	if arg == "" {
		return func() tea.Msg { return m.gateway.setting(m, name) }
	}
	if arg == "reset" {
		flag, _, _ = strings.Cut(flag, "=")
		flag += "="
	}
	return m.run("channels", "set", flag, "--", m.gateway.channel)
}

// setting reads a setting of the channel.
func (g *gateway) setting(m *model, name string) tea.Msg {
	var ch api.Channel
	if err := g.Do(m.ctx, http.MethodGet, g.path(""), nil, &ch); err != nil {
		return ran{[]line{{asProblem, err.Error()}}}
	}
	value, sets := ch.Model, "/model NAME sets it, /model reset takes it back."
	if name != "model" {
		value, sets = ch.PermissionMode, "/mode "+strings.Join(core.PermissionModes(), "|")+" sets it, /mode reset takes it back."
	}
	if value == "" {
		value = "that of the gateway (bareclaw settings)"
	}
	return ran{[]line{{asNote, fmt.Sprintf("The %s of this channel is %s. %s", name, visible.Line(value), sets)}}}
}

// run runs a command of the command line, after all texts entered before, and shows what it prints.
func (m *model) run(args ...string) tea.Cmd {
	return func() tea.Msg {
		var out, errs bytes.Buffer
		said := asNote // also what a command tells beside its output
		if m.gateway.run(args, strings.NewReader(""), &out, &errs) != 0 {
			said = asProblem
		}
		var lines []line
		for _, part := range []struct {
			look look
			text string
		}{{asNote, out.String()}, {said, errs.String()}} {
			if text := strings.TrimRight(part.text, "\n"); text != "" {
				lines = append(lines, line{part.look, text})
			}
		}
		return ran{lines}
	}
}
