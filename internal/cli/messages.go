package cli

import (
	"encoding/json"
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

// fullID is the length of a complete id in characters. A shorter id is the beginning of an
// id.
const fullID = 36

// How far a message whose id is not given in full is looked for.
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
	var found []string
	for _, ch := range channels[:min(len(channels), searchedChannels)] {
		messages, err := listMessages(c, gateway, ch.Channel, searchedMessages)
		if err != nil {
			return "", err
		}
		for _, m := range messages {
			if strings.HasPrefix(m.ID, id) {
				found = append(found, m.ID)
			}
		}
	}
	return one(found, "message", id)
}

// resolveMessage returns the gateway and the full id of a message.
func resolveMessage(c *command.Context, beginning string) (gateway *client.Client, id string, err error) {
	if gateway, err = c.Client(); err != nil {
		return nil, "", err
	}
	id, err = findMessage(c, gateway, beginning)
	return gateway, id, err
}

// one returns the only match.
func one(found []string, thing, beginning string) (string, error) {
	switch {
	case beginning == "":
		return "", command.Usagef("which %s? Give its id, or the beginning of it", thing)
	case len(found) == 0:
		return "", fmt.Errorf("there is no %s whose id begins with %s", thing, term.SafeLine(beginning))
	case len(found) == 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s have an id that begins with %s; give more of it", humanize.Count(len(found), thing), term.SafeLine(beginning))
}

func listMessages(c *command.Context, gateway *client.Client, channel string, limit int) ([]api.Message, error) {
	var got api.History
	err := c.Get(gateway, fmt.Sprintf("%s/messages?limit=%d", api.ChannelPath(channel), limit), &got)
	return got.Messages, err
}

// Messages lists the messages of a channel.
type Messages struct {
	Channel string `arg:"" help:"The channel."`
	N       int    `name:"count" short:"n" default:"20" help:"How many, the newest first; 500 at most."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (m *Messages) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	if m.JSON {
		return postAndPrint(c, gateway, fmt.Sprintf("%s/messages?limit=%d", api.ChannelPath(m.Channel), m.N))
	}
	messages, err := listMessages(c, gateway, m.Channel, m.N)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		c.Tellf("No message yet on this channel.")
		return nil
	}
	colours, now := term.PaletteFor(c.Out), time.Now()
	var t command.Table
	for _, msg := range messages {
		t.Add(command.Text(msg.ID), command.Text(msg.State).Painted(stateColour(colours, msg.State)), command.Text(humanize.Age(msg.ReceivedAt, now)),
			command.Text(firstWords(msg.Prompt)), command.Text(firstOf(msg.Text, msg.Error)))
	}
	t.Share(c.Width())
	return c.PrintLines(t.Lines(c.Width())...)
}

// postAndPrint prints the gateway's answer.
func postAndPrint(c *command.Context, gateway *client.Client, path string) error {
	var raw json.RawMessage
	if err := c.Get(gateway, path, &raw); err != nil {
		return err
	}
	return c.PrintJSON(raw)
}

// Cancel cancels a waiting message.
type Cancel struct {
	ID   string `arg:"" name:"id" help:"The message's id, or the beginning of it."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (m *Cancel) Run(c *command.Context) error {
	gateway, id, err := resolveMessage(c, m.ID)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := gateway.Do(c.Context, http.MethodDelete, api.MessagePath(id), nil, &raw); err != nil {
		return err
	}
	if m.JSON {
		return c.PrintJSON(raw)
	}
	var cancelled api.Message
	if err := json.Unmarshal(raw, &cancelled); err != nil {
		return fmt.Errorf("understand the gateway's reply: %w", err)
	}
	line := "Cancelled " + term.SafeLine(id)
	if words := firstWords(cancelled.Prompt); words != "" {
		line += ": " + words
	}
	return c.PrintLines(command.Fit(line, c.Width()))
}

// Retry sends a failed or cancelled message again.
type Retry struct {
	ID      string        `arg:"" name:"id" help:"The message's id, or the beginning of it."`
	Timeout time.Duration `placeholder:"10m" help:"How long to wait for the answer. The message goes on after that."`
	JSON    bool          `name:"json" help:"Print what the gateway says as JSON."`
}

// Run runs the command.
func (m *Retry) Run(c *command.Context) error {
	gateway, id, err := resolveMessage(c, m.ID)
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
