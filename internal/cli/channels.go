package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/adapters/kinds"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
	"bareclaw/internal/visible"
)

type channels struct {
	List      channelList      `cmd:"" default:"withargs" help:"List the channels."`
	Show      channelShow      `cmd:"" help:"Show all that is known of a channel."`
	Set       channelSet       `cmd:"" help:"Set a channel's model, permission mode or tools; an empty value resets the setting."`
	Rules     channelRules     `cmd:"" help:"List what the agent may do on a channel without asking, or remove a rule."`
	Interrupt channelInterrupt `cmd:"" help:"End the running turn, and keep the session."`
	Usage     channelUsage     `cmd:"" help:"Show what a channel has cost."`
	Reset     channelReset     `cmd:"" help:"Begin a new session with the next message."`
	Remove    channelRemove    `cmd:"" help:"Remove a channel with its history, settings and schedules."`
}

// channelWidth is how much of a channel's name a table shows, in cells.
const channelWidth = 24

type channelList listed

// Run runs the command.
func (l *channelList) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, api.PathChannels, l.JSON, func(got *api.Channels) error {
		if len(got.Channels) == 0 {
			c.Tellf("There is no channel yet. The first message to one makes it: bareclaw send http hello")
			return nil
		}
		return c.PrintTable(channelTable(got.Channels, time.Now()))
	})
}

func channelTable(all []api.Channel, now time.Time) *command.Table {
	t := &command.Table{Widest: []int{channelWidth}}
	t.Head(term.Faint, "CHANNEL", "STATE", "SINCE", "QUEUE", "SESSION", "LAST", "")
	for _, ch := range all {
		queue := ""
		if ch.Waiting > 0 {
			queue = strconv.Itoa(ch.Waiting)
		}
		t.Add(command.Text(ch.Channel), command.Text(ch.State).Painted(stateColours[ch.State]), command.Text(humanize.Age(ch.Since, now)), command.Text(queue),
			command.Text(ch.SessionID[:min(8, len(ch.SessionID))]), command.Text(humanize.Age(ch.LastAt, now)), command.Text(remark(ch, now)))
	}
	return t
}

func remark(ch api.Channel, now time.Time) string {
	var parts []string
	if ch.Approvals > 0 {
		parts = append(parts, humanize.Count(ch.Approvals, "approval")+" to decide")
	}
	if ch.Activity != "" {
		parts = append(parts, ch.Activity)
	}
	if len(ch.Background) > 0 {
		parts = append(parts, "in the background: "+backgroundTasks(ch.Background))
	}
	if !ch.Until.IsZero() {
		parts = append(parts, "until "+humanize.Clock(ch.Until, now))
	}
	if ch.Why != "" {
		parts = append(parts, ch.Why)
	}
	return strings.Join(parts, "; ")
}

// backgroundTasks names the background tasks of a session.
func backgroundTasks(tasks []string) string {
	var named []string
	for _, t := range tasks {
		named = append(named, cmp.Or(t, "a task"))
	}
	return strings.Join(named, ", ")
}

var stateColours = map[string]term.Colour{
	"running": term.Yellow, "starting": term.Yellow, "waiting": term.Yellow,
	"parked": term.Red, "failed": term.Red, "denied": term.Red,
	"ready": term.Green, "answered": term.Green,
	"idle": term.Faint, "cancelled": term.Faint,
}

type channelShow ofChannel

// Run runs the command.
func (s *channelShow) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, api.ChannelPath(s.Channel)+api.WithUsage, s.JSON, func(ch *api.Channel) error {
		now := time.Now()
		var facts command.Facts
		facts.Add("channel", ch.Channel)
		facts.Add("state", ch.State)
		facts.Add("since", humanize.Age(ch.Since, now))
		facts.Add("why", ch.Why)
		if !ch.Until.IsZero() {
			facts.Add("until", humanize.Clock(ch.Until, now))
		}
		facts.Add("activity", ch.Activity)
		facts.Add("in the background", backgroundTasks(ch.Background))
		facts.Add("messages", fmt.Sprintf("%d ever, %d in the queue, %d in the turn", ch.Messages, ch.Waiting, ch.Running))
		facts.Add("last message", humanize.Age(ch.LastAt, now))
		facts.Add("approvals", ch.Approvals)
		facts.Add("session", ch.SessionID)
		facts.Add("host pid", ch.HostPID)
		facts.Add("agent pid", ch.AgentPID)
		facts.Add("agent version", ch.AgentVersion)
		facts.Add("turn", ch.TurnID)
		facts.Add("model", ch.Model)
		facts.Add("permission mode", ch.PermissionMode)
		facts.Add("tools", ch.Tools)
		facts.Add("rules", ch.Rules)
		if ch.Usage != nil {
			facts.Add("cost", costOf(ch.Usage))
		}
		return c.PrintTable(&facts.Table)
	})
}

type channelSet struct {
	Channel        string  `arg:"" help:"The channel, which need not exist yet."`
	Model          *string `placeholder:"MODEL" help:"The model, as for claude --model."`
	PermissionMode *string `placeholder:"MODE" help:"The permission mode, as for claude --permission-mode: default (asks), acceptEdits, auto, plan, dontAsk or bypassPermissions."`
	Tools          *string `placeholder:"LIST" help:"The gateway's tools that its sessions may use, as BARECLAW_TOOLS: all, none or names."`
	JSON           bool    `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*channelSet) Help() string {
	return "Examples:\n\n  bareclaw channels set desk --model haiku --permission-mode acceptEdits\n\n  bareclaw channels set desk --model ''"
}

// Run runs the command.
func (s *channelSet) Run(c *command.Context, gateway command.Decider) error {
	change := api.ChannelChange{Model: s.Model, PermissionMode: s.PermissionMode, Tools: s.Tools}
	if change == (api.ChannelChange{}) {
		return command.Usagef("set what? Give --model, --permission-mode or --tools")
	}
	return request(c, gateway.Client, http.MethodPatch, api.ChannelPath(s.Channel), change, s.JSON, printing(c, "Set. The change applies from the next turn on."))
}

type channelRules struct {
	Channel string `arg:"" help:"The channel."`
	Remove  string `placeholder:"ID" help:"Remove this rule; the end of its id that the list shows is enough."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run runs the command.
func (r *channelRules) Run(c *command.Context, gateway *client.Client) error {
	path := api.ChannelPath(r.Channel) + "/rules"
	return fetch(c, gateway, path, r.JSON && r.Remove == "", func(got *api.Rules) error {
		switch {
		case r.Remove != "":
			rule, err := only(got.Rules, func(rule *api.Rule) string { return rule.ID }, "rule", r.Remove)
			if err != nil {
				return err
			}
			return request(c, gateway, http.MethodDelete, path+"/"+url.PathEscape(rule.ID), nil, r.JSON,
				printing(c, "Removed. The agent asks again from the next turn on."))
		case len(got.Rules) == 0:
			c.Tellf("%s has no rules of its own.", term.SafeLine(r.Channel))
			return nil
		}
		var t command.Table
		t.Head(term.Faint, "ID", "RULE", "BY")
		for _, rule := range got.Rules {
			t.Add(idCell(rule.ID), command.Text(visible.Line(rule.Rule)), command.Text(rule.By))
		}
		return c.PrintTable(&t)
	})
}

type channelInterrupt ofChannel

// Run runs the command.
func (i *channelInterrupt) Run(c *command.Context, gateway *client.Client) error {
	path := api.ChannelPath(i.Channel)
	var channel api.Channel
	if err := gateway.Do(c.Context, http.MethodGet, path, nil, &channel); err != nil {
		return err
	}
	// The request names a turn even without a running turn: a turn that begins meanwhile must go on.
	named := api.InterruptRequest{TurnID: cmp.Or(channel.TurnID, "none")}
	return request(c, gateway, http.MethodPost, path+"/interrupt", named, i.JSON, func(done *api.Interruption) error {
		return c.PrintLines(fmt.Sprintf("The turn has ended, with %s, after %s.", humanize.Count(len(done.Messages), "message"), humanize.Duration(humanize.Milliseconds(done.TookMS))))
	})
}

type channelReset ofChannel

// Run runs the command.
func (r *channelReset) Run(c *command.Context, gateway *client.Client) error {
	if command.IsOwnChannel(c, gateway, r.Channel) {
		return fmt.Errorf("this runs in the session of %s itself and would end with it", term.SafeLine(r.Channel))
	}
	return request(c, gateway, http.MethodDelete, api.ChannelPath(r.Channel), nil, r.JSON,
		printing(c, "The session is forgotten; the next message begins a new one. The history is kept."))
}

type channelUsage ofChannel

// Run runs the command.
func (u *channelUsage) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, api.ChannelPath(u.Channel)+api.WithUsage, u.JSON, func(ch *api.Channel) error {
		if ch.Usage == nil { // an older gateway
			return errors.New("the gateway does not say; `bareclaw restart` starts the present program")
		}
		return c.PrintLines(term.SafeLine(ch.Channel) + ": " + costOf(ch.Usage))
	})
}

func costOf(u *api.Usage) string {
	return fmt.Sprintf("%s in %s, %s of it in %s today",
		humanize.USD(u.SpentUSD), humanize.Count(u.Turns, "turn"), humanize.USD(u.SpentTodayUSD), humanize.Count(u.TurnsToday, "turn"))
}

type channelRemove struct {
	Channel string `arg:"" help:"The channel."`
	Yes     bool   `help:"Do not ask; cancel what waits or runs."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Help is shown below the summary.
func (*channelRemove) Help() string {
	return "Its session is ended, and what waits or runs is cancelled: who waits for an answer is told. Its messages and answers, model, " +
		"permission mode, tools and rules are gone, and so are its schedules. What it has cost stays in the sums of the days. " +
		"Claude's own transcript stays where claude keeps it, and files that people sent stay until they are too old (BARECLAW_MEDIA_MAX_AGE).\n\n" +
		keptOfRemoved()
}

// keptOfRemoved says what is left of a removed channel, for each kind of channels.
func keptOfRemoved() string {
	var texts []string
	for _, k := range kinds.All() {
		if k.Kept != "" {
			texts = append(texts, k.Kept)
		}
	}
	return strings.Join(texts, " ")
}

// Run runs the command.
func (r *channelRemove) Run(c *command.Context, gateway command.Decider) error {
	path := api.ChannelPath(r.Channel)
	var channel api.Channel
	if err := c.Get(gateway.Client, path, &channel); err != nil {
		return err
	}
	open := channel.Waiting + channel.Running
	if err := r.confirm(c, gateway.Client, &channel, open); err != nil {
		return err
	}
	if open > 0 { // whoever waits is told before anything is removed
		if err := gateway.Do(c.Context, http.MethodDelete, path, nil, nil); err != nil {
			return err
		}
	}
	return request(c, gateway.Client, http.MethodPost, path+"/remove", nil, r.JSON, func(gone *api.ChannelRemoved) error {
		line := fmt.Sprintf("Removed %s with %s", term.SafeLine(gone.Channel), humanize.Count(gone.Messages, "message"))
		if gone.Schedules > 0 {
			line += " and " + humanize.Count(gone.Schedules, "schedule")
		}
		lines := []string{line + "."}
		if gone.Kept > 0 {
			lines = append(lines, humanize.Count(gone.Kept, "message")+" stayed: new, or with an answer that is still being delivered. Remove the channel again later.")
		}
		return c.PrintLines(lines...)
	})
}

// confirm asks the person at the terminal, and says what goes.
func (r *channelRemove) confirm(c *command.Context, gateway *client.Client, ch *api.Channel, open int) error {
	if r.Yes {
		return nil
	}
	if !term.IsTerminal(c.In) {
		return command.Usagef("nobody can be asked here; --yes removes the channel without a question")
	}
	var jobs api.Schedules
	if err := c.Get(gateway, api.PathSchedules, &jobs); err != nil {
		return err
	}
	due := 0
	for i := range jobs.Schedules {
		if jobs.Schedules[i].Channel == ch.Channel {
			due++
		}
	}
	question := fmt.Sprintf("Remove %s with its %s", term.SafeLine(ch.Channel), humanize.Count(ch.Messages, "message"))
	if due > 0 {
		question += " and " + humanize.Count(due, "schedule")
	}
	question += "?"
	if open > 0 {
		question += fmt.Sprintf(" %s without an answer, cancelled first.", humanize.Count(open, "message"))
	}
	return c.Confirm(question + " This cannot be undone.")
}
