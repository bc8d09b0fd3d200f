package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/shortid"
	"bareclaw/internal/term"
)

func historyPath(channel string, limit int) string {
	return fmt.Sprintf("%s/messages?limit=%d", api.ChannelPath(channel), limit)
}

type messages struct {
	Channel string `arg:"" help:"The channel."`
	N       int    `name:"count" short:"n" default:"20" help:"How many, the newest first; 500 at most."`
	Open    bool   `help:"Only those that wait or run."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// maxHistory is how many messages the gateway lists at most.
const maxHistory = 500

// Validate checks the number.
func (m *messages) Validate() error {
	if m.N < 1 || m.N > maxHistory {
		return command.Usagef("--count must be a number from 1 to %d", maxHistory)
	}
	return nil
}

// Run runs the command.
func (m *messages) Run(c *command.Context, gateway *client.Client) error {
	n := m.N
	if m.Open { // the newest may be over, as a message that was put first
		n = maxHistory
	}
	return fetch(c, gateway, historyPath(m.Channel, n), m.JSON && !m.Open, func(got *api.History) error {
		if m.Open {
			got.Messages = slices.DeleteFunc(got.Messages, func(msg api.Message) bool { return msg.Final() })
			got.Messages = got.Messages[:min(len(got.Messages), m.N)]
		}
		switch {
		case m.JSON:
			return c.PrintJSON(got)
		case len(got.Messages) == 0 && m.Open:
			c.Tellf("Nothing waits or runs on this channel.")
			return nil
		case len(got.Messages) == 0:
			c.Tellf("No message yet on this channel.")
			return nil
		}
		return c.PrintTable(messageTable(got.Messages, time.Now()))
	})
}

func messageTable(all []api.Message, now time.Time) *command.Table {
	t := &command.Table{Shared: true}
	t.Head(term.Faint, "ID", "STATE", "AGE", "PROMPT", "ANSWER")
	for _, msg := range all {
		t.Add(idCell(msg.ID), command.Text(msg.State).Painted(stateColours[msg.State]), command.Text(humanize.Age(msg.ReceivedAt, now)),
			command.Text(firstWords(msg.Prompt)), command.Text(cmp.Or(msg.Text, msg.Error)))
	}
	return t
}

type cancel ofMessage

// Run runs the command.
func (m *cancel) Run(c *command.Context, gateway *client.Client) error {
	return request(c, gateway, http.MethodDelete, api.MessagePath(m.ID), nil, m.JSON, func(cancelled *api.Message) error {
		line := "Cancelled " + term.SafeLine(cancelled.ID)
		if words := firstWords(cancelled.Prompt); words != "" {
			line += ": " + words
		}
		return c.PrintLines(command.Fit(line, c.Width()))
	})
}

type retry struct {
	ID      string        `arg:"" name:"id" help:"The message's id, or the end of it that messages shows."`
	Timeout time.Duration `placeholder:"10m" help:"How long to wait for the answer. The message goes on after that."`
	JSON    bool          `name:"json" help:"Print what the gateway says as JSON."`
}

// Run runs the command.
func (m *retry) Run(c *command.Context, gateway *client.Client) error {
	var failed api.Message
	if err := c.Get(gateway, api.MessagePath(m.ID), &failed); err != nil {
		return err
	}
	if command.IsOwnChannel(c, gateway, failed.Channel) {
		return errors.New("this runs in the session of the message's own channel, which would wait for itself")
	}
	return sendAndWait(c, exchange{gateway: gateway, path: api.MessagePath(failed.ID) + "/retry", timeout: m.Timeout, json: m.JSON})
}

type trace struct {
	Of   *string `arg:"" optional:"" name:"id" help:"The message's id, or the end of it that messages shows; or a channel, for its newest message. The newest of all channels if left out."`
	JSON bool    `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*trace) Help() string {
	return "Examples:\n\n  bareclaw trace\n\n  bareclaw trace desk\n\n  bareclaw trace 2cec3603"
}

// Run runs the command.
func (t *trace) Run(c *command.Context, gateway *client.Client) error {
	id, err := t.find(c, gateway)
	if err != nil {
		return err
	}
	return fetch(c, gateway, api.MessagePath(id)+"/trace", t.JSON, func(got *api.Trace) error {
		return c.PrintLines(traceLines(got, term.PaletteFor(c.Out), c.Width())...)
	})
}

// find returns the id of the message that the argument stands for. A channel's name wins over an id.
func (t *trace) find(c *command.Context, gateway *client.Client) (string, error) {
	isMeant := func(ch api.Channel) bool { return ch.Messages > 0 }
	switch of := t.Of; {
	case of == nil:
	case *of == "":
		return "", command.Usagef("which message? Give its id, or the end of it, or a channel")
	case len(*of) == shortid.Full:
		return *of, nil
	default:
		isMeant = func(ch api.Channel) bool { return ch.Channel == *of }
	}
	channels, err := command.ListChannels(c, gateway)
	if err != nil {
		return "", err
	}
	slices.SortFunc(channels, func(a, b api.Channel) int { return b.LastAt.Compare(a.LastAt) })
	i := slices.IndexFunc(channels, isMeant)
	switch {
	case i < 0 && t.Of == nil:
		return "", errors.New("there is no message yet")
	case i < 0:
		return *t.Of, nil
	}
	var newest api.History
	if err := c.Get(gateway, historyPath(channels[i].Channel, 1), &newest); err != nil {
		return "", err
	}
	if len(newest.Messages) == 0 {
		return "", fmt.Errorf("there is no message yet on %s", term.SafeLine(channels[i].Channel))
	}
	return newest.Messages[0].ID, nil
}

func traceLines(t *api.Trace, colours term.Palette, width int) []string {
	m := &t.Message
	facts := []string{m.State}
	if t.Durations.TotalMS != nil {
		facts = append(facts, humanize.Duration(humanize.Milliseconds(*t.Durations.TotalMS)))
	}
	if m.CostUSD > 0 {
		facts = append(facts, humanize.USD(m.CostUSD))
	}
	if m.Code != "" {
		facts = append(facts, m.Code)
	}
	var head command.Facts
	head.Add("message", m.ID)
	head.Add("channel", m.Channel)
	head.Add("from", m.Prompt.User)
	head.Add("prompt", firstWords(m.Prompt))
	head.AddPainted("outcome", strings.Join(facts, ", "), stateColours[m.State])
	head.Add("waits for", m.Why)
	head.Add("retry of", m.RetryOf)
	if n := len(t.Members); n > 1 {
		head.Add("turn", fmt.Sprintf("with %s more", humanize.Count(n-1, "message")))
	}
	head.Add("reply in", m.Into)
	lines := append(head.Lines(colours, width), "")
	var way command.Table
	for _, mark := range t.Timeline {
		took := ""
		if mark.TookMS > 0 {
			took = humanize.Duration(humanize.Milliseconds(mark.TookMS))
		}
		way.Add(command.RightAligned("+"+humanize.Duration(humanize.Milliseconds(mark.AfterMS)), 10).Painted(term.Faint), command.Text(strings.ReplaceAll(mark.What, "_", " ")), command.Text(took), command.Text(mark.Detail))
	}
	lines = append(lines, way.Lines(colours, width)...)
	if said := cmp.Or(m.Text, m.Error); said != "" {
		lines = append(lines, "", strings.TrimRight(term.Safe(said), "\n"))
	}
	for _, d := range t.Deliveries {
		if d.State != "sent" {
			lines = append(lines, "", command.Fit(term.SafeLine(fmt.Sprintf("%s to %s is %s after %s: %s", d.Kind, d.Channel, d.State, humanize.Count(d.Attempts, "attempt"), d.Error)), width))
		}
	}
	return lines
}
