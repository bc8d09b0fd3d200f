package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// Channels lists the channels, or manages a channel.
type Channels struct {
	List      ChannelList      `cmd:"" default:"withargs" help:"List the channels."`
	Show      ChannelShow      `cmd:"" help:"Show all that is known of a channel."`
	Set       ChannelSet       `cmd:"" help:"Set a channel's model or permission mode; empty takes it back."`
	Rules     ChannelRules     `cmd:"" help:"List what the agent may do on a channel without asking, or take it back."`
	Interrupt ChannelInterrupt `cmd:"" help:"End the turn that runs, and keep the session."`
	Reset     ChannelReset     `cmd:"" help:"Begin a new session with the next message."`
}

// channelWidth is how much of a channel's name a table shows, in cells.
const channelWidth = 24

// ChannelList lists the channels.
type ChannelList struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (l *ChannelList) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	if l.JSON {
		return postAndPrint(c, gateway, api.PathChannels)
	}
	all, err := command.ListChannels(c, gateway)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		c.Tellf("There is no channel yet. The first message to one makes it: bareclaw send http hello")
		return nil
	}
	t := channelTable(all, term.PaletteFor(c.Out), time.Now())
	return c.PrintLines(t.Lines(c.Width())...)
}

// channelTable shows a channel on each line.
func channelTable(all []api.Channel, colours term.Palette, now time.Time) *command.Table {
	t := &command.Table{Widest: []int{channelWidth}}
	head := make([]command.Cell, 0, 7)
	for _, name := range []string{"CHANNEL", "STATE", "SINCE", "QUEUE", "SESSION", "LAST", ""} {
		head = append(head, command.Text(name).Painted(colours.Faint))
	}
	t.Add(head...)
	for _, ch := range all {
		queue := ""
		if ch.Waiting > 0 {
			queue = strconv.Itoa(ch.Waiting)
		}
		t.Add(command.Text(ch.Channel), command.Text(ch.State).Painted(stateColour(colours, ch.State)), command.Text(humanize.Age(ch.Since, now)), command.Text(queue),
			command.Text(ch.SessionID[:min(8, len(ch.SessionID))]), command.Text(humanize.Age(ch.LastAt, now)), command.Text(remark(ch, now)))
	}
	return t
}

// remark describes what a channel does or waits for.
func remark(ch api.Channel, now time.Time) string {
	var parts []string
	if ch.Approvals > 0 {
		parts = append(parts, humanize.Count(ch.Approvals, "approval")+" to decide")
	}
	if ch.Activity != "" {
		parts = append(parts, ch.Activity)
	}
	if !ch.Until.IsZero() {
		parts = append(parts, "until "+humanize.Clock(ch.Until, now))
	}
	if ch.Why != "" {
		parts = append(parts, ch.Why)
	}
	return strings.Join(parts, "; ")
}

// stateColour returns the colour of a channel's or a message's state; nil for none.
func stateColour(colours term.Palette, state string) func(string) string {
	switch state {
	case "running", "starting", "waiting":
		return colours.Busy
	case "parked", "failed", "denied":
		return colours.Bad
	case "ready", "answered":
		return colours.Good
	case "idle", "cancelled":
		return colours.Faint
	}
	return nil
}

// ChannelShow shows a channel.
type ChannelShow struct {
	Channel string `arg:"" help:"The channel."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (s *ChannelShow) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	path := api.ChannelPath(s.Channel)
	if s.JSON {
		return postAndPrint(c, gateway, path)
	}
	var ch api.Channel
	if err := c.Get(gateway, path, &ch); err != nil {
		return err
	}
	return printChannel(c, ch)
}

func printChannel(c *command.Context, ch api.Channel) error {
	colours, now := term.PaletteFor(c.Out), time.Now()
	var t command.Table
	add := func(name, value string) {
		if value != "" {
			t.Add(command.Text(name).Painted(colours.Faint), command.Text(value))
		}
	}
	pid := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	add("channel", ch.Channel)
	add("state", ch.State)
	add("since", humanize.Age(ch.Since, now))
	add("why", ch.Why)
	if !ch.Until.IsZero() {
		add("until", humanize.Clock(ch.Until, now))
	}
	add("activity", ch.Activity)
	add("messages", fmt.Sprintf("%d ever, %d in the queue, %d in the turn", ch.Messages, ch.Waiting, ch.Running))
	add("last message", humanize.Age(ch.LastAt, now))
	add("approvals", pid(ch.Approvals))
	add("session", ch.SessionID)
	add("host pid", pid(ch.HostPID))
	add("agent pid", pid(ch.AgentPID))
	add("turn", ch.TurnID)
	add("model", ch.Model)
	add("permission mode", ch.PermissionMode)
	add("rules", pid(ch.Rules))
	return c.PrintLines(t.Lines(c.Width())...)
}

// ChannelSet changes the settings of a channel.
type ChannelSet struct {
	Channel        string  `arg:"" help:"The channel, which need not exist yet."`
	Model          *string `placeholder:"MODEL" help:"The model, as for claude --model."`
	PermissionMode *string `placeholder:"MODE" help:"The permission mode, as for claude --permission-mode."`
	JSON           bool    `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (s *ChannelSet) Run(c *command.Context) error {
	if s.Model == nil && s.PermissionMode == nil {
		return command.Usagef("set what? Give --model, --permission-mode or both")
	}
	gateway, err := c.OverTCP()
	if err != nil {
		return err
	}
	change := api.ChannelChange{Model: s.Model, PermissionMode: s.PermissionMode}
	var raw json.RawMessage
	if err := gateway.Do(c.Context, http.MethodPatch, api.ChannelPath(s.Channel), change, &raw); err != nil {
		return err
	}
	if s.JSON {
		return c.PrintJSON(raw)
	}
	return c.PrintLines("Set. It holds from the next turn on.")
}

// ChannelRules lists the rules of a channel, or removes a rule.
type ChannelRules struct {
	Channel string `arg:"" help:"The channel."`
	Remove  string `placeholder:"ID" help:"Take this rule back; the beginning of its id will do."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (r *ChannelRules) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	path := api.ChannelPath(r.Channel) + "/rules"
	if r.JSON && r.Remove == "" {
		return postAndPrint(c, gateway, path)
	}
	var got api.Rules
	if err := c.Get(gateway, path, &got); err != nil {
		return err
	}
	if r.Remove != "" {
		return r.remove(c, gateway, path, got.Rules)
	}
	if len(got.Rules) == 0 {
		c.Tellf("%s has no rules of its own.", term.SafeLine(r.Channel))
		return nil
	}
	var t command.Table
	for _, rule := range got.Rules {
		t.Add(command.Text(rule.ID[:min(8, len(rule.ID))]), command.Text(rule.Rule), command.Text(rule.By))
	}
	return c.PrintLines(t.Lines(c.Width())...)
}

func (r *ChannelRules) remove(c *command.Context, gateway *client.Client, path string, rules []api.Rule) error {
	var found []string
	for _, rule := range rules {
		if strings.HasPrefix(rule.ID, r.Remove) {
			found = append(found, rule.ID)
		}
	}
	id, err := one(found, "rule", r.Remove)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := gateway.Do(c.Context, http.MethodDelete, path+"/"+url.PathEscape(id), nil, &raw); err != nil {
		return err
	}
	if r.JSON {
		return c.PrintJSON(raw)
	}
	return c.PrintLines("Removed. The agent asks again from the next turn on.")
}

// ChannelInterrupt ends a channel's turn.
type ChannelInterrupt struct {
	Channel string `arg:"" help:"The channel."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (i *ChannelInterrupt) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	path := api.ChannelPath(i.Channel)
	var channel api.Channel
	if err := gateway.Do(c.Context, http.MethodGet, path, nil, &channel); err != nil {
		return err
	}
	// A turn that begins while the request is under way is not meant, also where none runs now.
	named := api.InterruptRequest{TurnID: cmp.Or(channel.TurnID, "none")}
	var raw json.RawMessage
	if err := gateway.Do(c.Context, http.MethodPost, path+"/interrupt", named, &raw); err != nil {
		return err
	}
	if i.JSON {
		return c.PrintJSON(raw)
	}
	var done api.Interruption
	if err := json.Unmarshal(raw, &done); err != nil {
		return fmt.Errorf("understand the gateway's reply: %w", err)
	}
	return c.PrintLines(fmt.Sprintf("The turn has ended, with %s, after %s.", humanize.Count(len(done.Messages), "message"), humanize.Duration(humanize.Milliseconds(done.TookMS))))
}

// ChannelReset makes a channel forget its session.
type ChannelReset struct {
	Channel string `arg:"" help:"The channel."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (r *ChannelReset) Run(c *command.Context) error {
	gateway, err := c.Client()
	if err != nil {
		return err
	}
	if command.IsOwnChannel(c, gateway, r.Channel) {
		return fmt.Errorf("this runs in the session of %s itself and would end with it", term.SafeLine(r.Channel))
	}
	var raw json.RawMessage
	if err := gateway.Do(c.Context, http.MethodDelete, api.ChannelPath(r.Channel), nil, &raw); err != nil {
		return err
	}
	if r.JSON {
		return c.PrintJSON(raw)
	}
	return c.PrintLines("The session is forgotten; the next message begins a new one. The history is kept.")
}
