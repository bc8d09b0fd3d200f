package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
	"bareclaw/internal/mdtext"
)

// reports tell about channels and what they cost.
type reports struct {
	channels Channels
	settings Settings
	gateway  Gateway
}

func (r reports) status(ctx context.Context, c Call) (Note, error) {
	st, err := r.channels.Present(ctx, c.Channel)
	if err != nil {
		return Note{}, Failed("read the state of the chat", err)
	}
	used, err := r.channels.Usage(ctx, c.Channel)
	if err != nil {
		return Note{}, Failed("read what was spent", err)
	}
	own := r.settings.Settings(c.Channel)
	text := status(st, own, used, r.gateway)
	return Note{Text: text}, nil
}

func (r reports) usage(ctx context.Context, c Call) (Note, error) {
	used, err := r.channels.Usage(ctx, c.Channel)
	if err != nil {
		return Note{}, Failed("read what was spent", err)
	}
	text := usage(used, r.channels.Spending())
	return Note{Text: text}, nil
}

// status renders the state of a chat's session.
func status(st core.ChannelStatus, own core.Settings, used core.Usage, g Gateway) string {
	var s statusWriter
	s.work(&st)
	s.settings(&st, &own)
	s.session(&st, &used)
	s.programs(&st, &g)
	return s.b.String()
}

// A statusWriter writes lines with a name and a value, which is Markdown.
type statusWriter struct{ b strings.Builder }

func (s *statusWriter) line(name, value string) {
	s.b.WriteString("**" + name + "**: " + value + "\n")
}

// work writes what the channel does, and what waits.
func (s *statusWriter) work(st *core.ChannelStatus) {
	s.line("Now", activity(*st, time.Now()))
	if len(st.Background) > 0 {
		s.line("In the background", backgroundTasks(st.Background))
	}
	waiting := "nothing"
	if st.Waiting > 0 {
		waiting = mdtext.Count(st.Waiting, "message", "messages") + ", see /queue"
	}
	s.line("Waiting", waiting)
	if st.Approvals > 0 {
		s.line("Open questions to you", strconv.Itoa(st.Approvals))
	}
}

// settings writes what the channel has of its own.
func (s *statusWriter) settings(st *core.ChannelStatus, own *core.Settings) {
	s.line("Model", configured(own.Model)+inUse(*st))
	s.line("Mode", configured(own.PermissionMode))
	if own.Tools != "" {
		s.line("Tools", configured(own.Tools))
	}
	s.line("Rules", strconv.Itoa(len(own.Rules)))
}

// session writes what the channel has cost, and its session.
func (s *statusWriter) session(st *core.ChannelStatus, used *core.Usage) {
	turns := mdtext.Count(used.Turns, "turn", "turns")
	spent := humanize.USD(used.Spent)
	s.line("This chat", turns+", "+spent)
	if st.SessionID != "" {
		s.line("Session", mdtext.Code(st.SessionID))
	}
}

// programs writes the agent and the gateway.
func (s *statusWriter) programs(st *core.ChannelStatus, g *Gateway) {
	agent := mdtext.Literal(g.Agent)
	s.line("Agent", agent+ofVersion(st.Version))
	version := mdtext.Literal(g.Version)
	up := time.Since(g.Began)
	s.line("Gateway", version+", up "+mdtext.Duration(up))
}

// backgroundTasks names the background tasks of a session.
func backgroundTasks(tasks []string) string {
	var named []string
	for _, task := range tasks {
		name := mdtext.Code(mdtext.Brief(task, 80))
		if name == "" {
			name = "a task"
		}
		named = append(named, name)
	}
	return strings.Join(named, ", ")
}

// ofVersion names the version of the live session's program, which may differ from that of the
// program's file.
func ofVersion(version string) string {
	if version == "" {
		return ""
	}
	return ", version " + mdtext.Literal(version)
}

// activity describes the activity of a channel.
func activity(st core.ChannelStatus, now time.Time) string {
	switch st.State {
	case core.StateRunning:
		if st.Why != "" {
			return "waiting. " + mdtext.Literal(st.Why)
		}
		return working(&st, now)
	case core.StateParked:
		return "paused. " + mdtext.Literal(st.Why)
	case core.StateWaiting:
		return "waiting for a free session. " + mdtext.Literal(st.Why)
	case core.StateStarting:
		return "starting Claude"
	}
	return "idle"
}

// working says how long a turn has run, and which tool it uses.
func working(st *core.ChannelStatus, now time.Time) string {
	since := now.Sub(st.Since)
	text := "working for " + mdtext.Duration(since)
	if st.Activity != "" {
		text += ", using " + mdtext.Code(st.Activity)
	}
	return text
}

// inUse names the model of the live session, which may differ from the setting: an alias
// is resolved, and a setting applies from the next turn on.
func inUse(st core.ChannelStatus) string {
	if st.Model == "" || st.HostPID == 0 {
		return ""
	}
	return " (in use: " + mdtext.Code(st.Model) + ")"
}

// configured returns a setting of the chat, or a text for an unset setting.
func configured(own string) string {
	if own == "" {
		return "as configured for the gateway"
	}
	return mdtext.Code(own)
}

// usage renders the spending.
func usage(chat core.Usage, all core.Spending) string {
	today := spentIn(chat.SpentToday, chat.TurnsToday)
	total := spentIn(chat.Spent, chat.Turns)
	return "**This chat today**: " + today +
		"\n**This chat in total**: " + total +
		"\n**All chats today**: " + ofBudget(all)
}

// spentIn says what a number of turns has cost.
func spentIn(usd float64, turns int) string {
	return humanize.USD(usd) + " in " + mdtext.Count(turns, "turn", "turns")
}

// ofBudget says what all chats have cost today, and what is left of the daily budget.
func ofBudget(all core.Spending) string {
	if all.Limit <= 0 {
		return humanize.USD(all.Spent) + ", no daily budget is set"
	}
	left := max(0, all.Limit-all.Spent)
	spent, limit := humanize.USDOfLimit(all.Spent, all.Limit)
	return fmt.Sprintf("%s, of %s a day, %s left", spent, limit, humanize.USD(left))
}
