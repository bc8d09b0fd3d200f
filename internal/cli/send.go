package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/term"
)

// Send sends a message to a channel's agent and prints the answer, or pushes a text to the
// channel's people. Inside a session Send pushes, because an agent that asks its own
// channel would wait for itself.
type Send struct {
	Channel        string        `arg:"" help:"The channel, such as http or tg-123456789."`
	Text           []string      `arg:"" optional:"" help:"What to say; - reads it from standard input."`
	Push           bool          `xor:"how" help:"Push the text to the channel's people; no agent is asked. So it is by default where claude itself runs this."`
	Ask            bool          `xor:"how" help:"Ask the channel's agent. So it is by default, except where claude itself runs this."`
	File           string        `type:"path" placeholder:"PATH" help:"Push a file too."`
	Async          bool          `help:"Do not wait for the answer; print the message's id."`
	Mode           string        `enum:"collect,steer,interrupt" default:"collect" help:"What becomes of a turn that runs: wait for its end (collect), be handed to it (steer), or end it (interrupt)."`
	Timeout        time.Duration `placeholder:"10m" help:"How long to wait for the answer. The message goes on after that."`
	IdempotencyKey string        `placeholder:"KEY" help:"A name for this message: sent again with it, it is no second one."`
	JSON           bool          `name:"json" help:"Print what the gateway says as JSON."`
}

// Help is shown below the summary.
func (*Send) Help() string {
	return "The answer is on standard output, everything else on standard error. A restart of the gateway meanwhile does no harm. " +
		"Ctrl-C ends the waiting, not the message: `bareclaw trace ID` shows what becomes of it.\n\n" +
		"From within a session, where claude runs this in its Bash, the text is pushed to the channel's people. " +
		"Another channel's agent is asked with --ask; a session cannot wait for its own channel."
}

// Validate refuses flags that exclude each other.
func (s *Send) Validate() error {
	if (s.Push || s.File != "") && (s.Ask || s.hasAskFlag()) {
		return command.Usagef("--push and --file go with no option for asking: --ask, --async, --mode, --timeout, --idempotency-key")
	}
	if s.Timeout < 0 {
		return command.Usagef("--timeout must not be negative")
	}
	return nil
}

// hasAskFlag reports whether a flag is set that only makes sense for a question.
func (s *Send) hasAskFlag() bool {
	return s.Async || s.Mode != "collect" || s.IdempotencyKey != "" || s.Timeout != 0
}

// Run runs the command.
func (s *Send) Run(c *command.Context, gateway *client.Client) error {
	words, err := command.MessageText(c, strings.Join(s.Text, " "))
	if err != nil {
		return err
	}
	if strings.TrimSpace(words) == "" && s.File == "" {
		return command.Usagef("send what? Give a text that is not blank, or - to read it from standard input")
	}
	if s.Push || s.File != "" || command.InSession() && !s.Ask {
		return s.push(c, gateway, words)
	}
	return s.ask(c, gateway, words)
}

// push sends a text or a file to the channel's people.
func (s *Send) push(c *command.Context, gateway *client.Client, words string) error {
	if s.hasAskFlag() {
		return command.Usagef("from within a session send pushes to the channel's people; add --ask to ask its agent")
	}
	body := api.SendRequest{Channel: s.Channel, Text: words}
	if s.File != "" {
		body.Media = &api.Media{Path: s.File}
	}
	var sent json.RawMessage
	err := gateway.Do(c.Context, http.MethodPost, api.PathSend, body, &sent)
	if refusedAs(err, api.NoAdapter) && !s.Push && s.File == "" {
		return fmt.Errorf("%w To ask the agent of that channel, add --ask", err)
	}
	if err != nil {
		return err
	}
	return printReply(c, sent, s.JSON, printing(c, "Sent to "+term.SafeLine(s.Channel)+"."))
}

func (s *Send) ask(c *command.Context, gateway *client.Client, words string) error {
	body := api.MessageRequest{Channel: s.Channel, Text: words, Mode: s.Mode}
	key := cmp.Or(s.IdempotencyKey, uuid.NewString()) // a request that is repeated makes no second message
	if s.Async {
		return s.leave(c, gateway, body, key)
	}
	if command.IsOwnChannel(c, gateway, s.Channel) {
		return fmt.Errorf("this runs in the session of %s itself, which would wait for its own answer; "+
			"--push reaches the channel's people, --async leaves a message for the next turn", term.SafeLine(s.Channel))
	}
	return sendAndWait(c, exchange{gateway: gateway, path: api.PathMessage, body: body, key: key, timeout: s.Timeout, json: s.JSON})
}

func (s *Send) leave(c *command.Context, gateway *client.Client, body any, key string) error {
	header := http.Header{"Prefer": {"respond-async"}, api.HeaderIdempotencyKey: {key}}
	var raw json.RawMessage
	if err := gateway.DoWith(c.Context, http.MethodPost, api.PathMessage, header, body, &raw); err != nil {
		return err
	}
	return printReply(c, raw, s.JSON, func(accepted *api.Accepted) error {
		if accepted.Why != "" {
			c.Tellf("%s", term.SafeLine(accepted.Why))
		}
		return c.PrintLines(term.SafeLine(accepted.ID))
	})
}
