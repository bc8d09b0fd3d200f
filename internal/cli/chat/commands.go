package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	tea "charm.land/bubbletea/v2"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
)

// elsewhere has the commands of other chats that need none here, with what is said instead.
var elsewhere = map[string]string{
	"/restart": "In a terminal of its own: bareclaw restart",
	"/verbose": "/verbose is for chats. Here you see all that Claude does.",
}

// A noCommand is a text with a slash that is no command of the gateway, and answers a question.
type noCommand string

// command has the gateway answer a text with a slash, after all texts entered before. A text that is
// no command of the gateway is for claude, in the order in which it was entered.
func (m *model) command(text string) tea.Cmd {
	name, _, _ := strings.Cut(text, " ")
	if said := elsewhere[name]; said != "" {
		return m.print([]line{{asNote, said}})
	}
	answers := len(m.talk.asks) > 0
	return m.afterEntered(func() tea.Msg {
		reply, err := m.gateway.call(m.ctx, text)
		refused, _ := errors.AsType[*client.Error](err)
		unknown := refused != nil && refused.Code == api.UnknownCommand
		switch {
		case unknown && answers:
			return noCommand(text)
		case unknown:
			return m.gateway.say(m.ctx, text)
		case err != nil:
			return ran{[]line{{asProblem, err.Error()}}}
		case reply.Prompt != "":
			return m.gateway.say(m.ctx, reply.Prompt)
		}
		return ran{shown(&reply)}
	})
}

// ran is what a command of the gateway has said.
type ran struct{ lines []line }

// shown returns what a command says, and what may be written next.
func shown(reply *api.CommandReply) []line {
	lines := []line{{asGateway, reply.Text}}
	if len(reply.Choices) == 0 {
		return lines
	}
	width := 0
	for _, c := range reply.Choices {
		width = max(width, len([]rune(c.Label)))
	}
	rows := make([]string, len(reply.Choices))
	for i, c := range reply.Choices {
		rows[i] = fmt.Sprintf("%-*s  %s", width, c.Label, c.Command)
	}
	return append(lines, line{asChoices, strings.Join(rows, "\n")})
}

// call calls a command of the gateway. The Unix socket would refuse a change of permissions.
func (g *gateway) call(ctx context.Context, text string) (reply api.CommandReply, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	err = g.decider.Do(ctx, http.MethodPost, g.path("/commands"), api.CommandRequest{Text: text, User: g.user}, &reply)
	return reply, err
}
