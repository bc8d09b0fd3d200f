package commands

import (
	"cmp"
	"context"
	"fmt"
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
	return Note{Text: status(st, r.settings.Settings(c.Channel), used, r.gateway)}, nil
}

func (r reports) usage(ctx context.Context, c Call) (Note, error) {
	used, err := r.channels.Usage(ctx, c.Channel)
	if err != nil {
		return Note{}, Failed("read what was spent", err)
	}
	return Note{Text: usage(used, r.channels.Spending())}, nil
}

// status renders the state of a chat's session.
func status(st core.ChannelStatus, own core.Settings, used core.Usage, g Gateway) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "**%s**: %s\n", name, fmt.Sprintf(format, args...))
	}
	line("Now", "%s", activity(st, time.Now()))
	if len(st.Background) > 0 {
		line("In the background", "%s", backgroundTasks(st.Background))
	}
	waiting := "nothing"
	if st.Waiting > 0 {
		waiting = mdtext.Count(st.Waiting, "message", "messages") + ", see /queue"
	}
	line("Waiting", "%s", waiting)
	if st.Approvals > 0 {
		line("Open questions to you", "%d", st.Approvals)
	}
	line("Model", "%s%s", configured(own.Model), inUse(st))
	line("Mode", "%s", configured(own.PermissionMode))
	if own.Tools != "" {
		line("Tools", "%s", configured(own.Tools))
	}
	line("Rules", "%d", len(own.Rules))
	line("This chat", "%s, %s", mdtext.Count(used.Turns, "turn", "turns"), humanize.USD(used.Spent))
	if st.SessionID != "" {
		line("Session", "%s", mdtext.Code(st.SessionID))
	}
	line("Agent", "%s%s", mdtext.Literal(g.Agent), ofVersion(st.Version))
	line("Gateway", "%s, up %s", mdtext.Literal(g.Version), mdtext.Duration(time.Since(g.Began)))
	return b.String()
}

// backgroundTasks names the background tasks of a session.
func backgroundTasks(tasks []string) string {
	var named []string
	for _, t := range tasks {
		named = append(named, cmp.Or(mdtext.Code(mdtext.Brief(t, 80)), "a task"))
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
		text := "working for " + mdtext.Duration(now.Sub(st.Since))
		if st.Activity != "" {
			text += ", using " + mdtext.Code(st.Activity)
		}
		return text
	case core.StateParked:
		return "paused. " + mdtext.Literal(st.Why)
	case core.StateWaiting:
		return "waiting for a free session. " + mdtext.Literal(st.Why)
	case core.StateStarting:
		return "starting Claude"
	}
	return "idle"
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
	spent, budget := humanize.USD(all.Spent), "no daily budget is set"
	if all.Limit > 0 {
		var limit string
		spent, limit = humanize.USDOfLimit(all.Spent, all.Limit)
		budget = fmt.Sprintf("of %s a day, %s left", limit, humanize.USD(max(0, all.Limit-all.Spent)))
	}
	return fmt.Sprintf("**This chat today**: %s in %s\n**This chat in total**: %s in %s\n**All chats today**: %s, %s",
		humanize.USD(chat.SpentToday), mdtext.Count(chat.TurnsToday, "turn", "turns"), humanize.USD(chat.Spent), mdtext.Count(chat.Turns, "turn", "turns"),
		spent, budget)
}
