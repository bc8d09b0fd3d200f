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
	"bareclaw/internal/term"
)

// Limits of the search for a message by the beginning of its id.
const (
	searchedChannels = 50
	searchedMessages = 100 // of each channel
)

// findMessage returns the full id of a message from its beginning.
func findMessage(c *command.Context, gateway *client.Client, id string) (string, error) {
	if len(id) >= fullID {
		return id, nil
	}
	channels, err := command.ListChannels(c, gateway)
	if err != nil {
		return "", err
	}
	slices.SortFunc(channels, func(a, b api.Channel) int { return b.LastAt.Compare(a.LastAt) })
	var recent []api.Message
	for _, ch := range channels[:min(len(channels), searchedChannels)] {
		var got api.History
		if err := c.Get(gateway, historyPath(ch.Channel, searchedMessages), &got); err != nil {
			return "", err
		}
		recent = append(recent, got.Messages...)
	}
	m, err := only(recent, func(m *api.Message) string { return m.ID }, "message", id)
	if err != nil {
		return "", err
	}
	return m.ID, nil
}

func historyPath(channel string, limit int) string {
	return fmt.Sprintf("%s/messages?limit=%d", api.ChannelPath(channel), limit)
}

type messages struct {
	Channel string `arg:"" help:"The channel."`
	N       int    `name:"count" short:"n" default:"20" help:"How many, the newest first; 500 at most."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (m *messages) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, historyPath(m.Channel, m.N), m.JSON, func(got *api.History) error {
		if len(got.Messages) == 0 {
			c.Tellf("No message yet on this channel.")
			return nil
		}
		now, t := time.Now(), command.Table{Shared: true}
		for _, msg := range got.Messages {
			t.Add(command.Text(msg.ID), command.Text(msg.State).Painted(stateColours[msg.State]), command.Text(humanize.Age(msg.ReceivedAt, now)),
				command.Text(firstWords(msg.Prompt)), command.Text(cmp.Or(msg.Text, msg.Error)))
		}
		return c.PrintTable(&t)
	})
}

type cancel ofMessage

// Run runs the command.
func (m *cancel) Run(c *command.Context, gateway *client.Client) error {
	id, err := findMessage(c, gateway, m.ID)
	if err != nil {
		return err
	}
	return request(c, gateway, http.MethodDelete, api.MessagePath(id), nil, m.JSON, func(cancelled *api.Message) error {
		line := "Cancelled " + term.SafeLine(id)
		if words := firstWords(cancelled.Prompt); words != "" {
			line += ": " + words
		}
		return c.PrintLines(command.Fit(line, c.Width()))
	})
}

type retry struct {
	ID      string        `arg:"" name:"id" help:"The message's id, or the beginning of it."`
	Timeout time.Duration `placeholder:"10m" help:"How long to wait for the answer. The message goes on after that."`
	JSON    bool          `name:"json" help:"Print what the gateway says as JSON."`
}

// Run runs the command.
func (m *retry) Run(c *command.Context, gateway *client.Client) error {
	id, err := findMessage(c, gateway, m.ID)
	if err != nil {
		return err
	}
	var failed api.Message
	if err := c.Get(gateway, api.MessagePath(id), &failed); err != nil {
		return err
	}
	if command.IsOwnChannel(c, gateway, failed.Channel) {
		return errors.New("this runs in the session of the message's own channel, which would wait for itself")
	}
	return sendAndWait(c, exchange{gateway: gateway, path: api.MessagePath(id) + "/retry", timeout: m.Timeout, json: m.JSON})
}

type trace ofMessage

// Run runs the command.
func (t *trace) Run(c *command.Context, gateway *client.Client) error {
	id, err := findMessage(c, gateway, t.ID)
	if err != nil {
		return err
	}
	return fetch(c, gateway, api.MessagePath(id)+"/trace", t.JSON, func(got *api.Trace) error {
		return c.PrintLines(traceLines(got, term.PaletteFor(c.Out), c.Width())...)
	})
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
		way.Add(command.RightAligned("+"+humanize.Duration(humanize.Milliseconds(mark.AfterMS)), 10).Painted(term.Faint), command.Text(mark.What), command.Text(took), command.Text(mark.Detail))
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
