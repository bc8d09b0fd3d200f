package httpapi

import (
	"errors"
	"net/http"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/commands"
)

// commandCalls answers the commands of the gateway.
type commandCalls struct{ *shared }

// post answers a command on a channel. A text that is no command of the gateway is refused: such a
// text is for the agent.
func (c *commandCalls) post(w *response, r *http.Request, key core.ChannelKey) (any, error) {
	var in api.CommandRequest
	if err := readBody(w, r, &in); err != nil {
		return nil, err
	}
	name, arg, _ := commands.Parse(in.Text)
	command, ok := c.Commands.Find(name)
	if !ok {
		return nil, refuse(http.StatusNotFound, api.UnknownCommand,
			`The gateway has no such command; "/help" lists its commands. Any other text goes to the agent, with POST /message.`)
	}
	if err := c.checkAccess(w, key, command.AccessOf(arg)); err != nil {
		return nil, err
	}
	n, err := command.Answer(r.Context(), commands.Call{Channel: key, Person: in.User, Arg: arg})
	if f, isFailure := errors.AsType[*commands.Failure](err); isFailure && f.Again != "" {
		in.Text = f.Again
		w.resend = func() []byte {
			body, _ := marshal(in) // is always encoded
			return body
		}
	}
	if err != nil {
		return nil, err
	}
	return showNote(&n), nil
}

// checkAccess refuses on the Unix socket, which the agent's own commands reach, what may let the
// agent of a channel do more, and what acts where an agent may do more already.
func (s *shared) checkAccess(w *response, key core.ChannelKey, access commands.Access) error {
	switch {
	case access == commands.Reads:
		return nil
	case access == commands.Widens && w.local:
		return notOnSocket("This command is for people, over TCP")
	}
	return s.checkReach(w, key)
}

func showNote(n *commands.Note) api.CommandReply {
	show := func(c *commands.Choice) api.Choice { return api.Choice{Label: c.Label, Command: c.Command} }
	return api.CommandReply{Text: n.Whole(), Choices: each(n.Choices, show), Prompt: n.Prompt}
}
