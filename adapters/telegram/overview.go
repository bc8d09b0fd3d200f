package telegram

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// cmdStatus says what the chat's session is and does.
func (a *Adapter) cmdStatus(ctx context.Context, c call) Note {
	key := c.place.Key()
	st, err := a.o.Core.Present(ctx, key)
	if err != nil {
		return a.failed(ctx, "look at the chat", err)
	}
	own, err := a.o.Core.Settings(ctx, key)
	if err != nil {
		return a.failed(ctx, "read the settings", err)
	}
	used, err := a.o.Core.Usage(ctx, key)
	if err != nil {
		return a.failed(ctx, "read what was spent", err)
	}
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "**%s**: %s\n", name, fmt.Sprintf(format, args...))
	}
	line("Now", "%s", nowText(st, time.Now()))
	line("Waiting", "%s", waitingText(st))
	if st.Approvals > 0 {
		line("Open questions to you", "%d", st.Approvals)
	}
	line("Model", "%s%s", configuredOr(own.Model), inUse(st))
	line("Mode", "%s", configuredOr(own.PermissionMode))
	line("Rules", "%d", len(own.Rules))
	line("This chat", "%s, %s", count(used.Turns, "turn", "turns"), humanize.USD(used.Spent))
	if st.SessionID != "" {
		line("Session", "%s", code(st.SessionID))
	}
	line("Agent", "%s", literal(a.o.Agent))
	line("Gateway", "%s, up %s", literal(a.o.Version), seconds(time.Since(a.began)))
	return Note{Text: b.String()}
}

// nowText says what the channel does.
func nowText(st core.ChannelStatus, now time.Time) string {
	switch st.State {
	case core.StateRunning:
		text := "working for " + seconds(now.Sub(st.Since))
		if st.Activity != "" {
			text += ", with " + code(st.Activity)
		}
		return text
	case core.StateParked:
		return "paused. " + literal(st.Why)
	case core.StateWaiting:
		return "waiting for a free session. " + literal(st.Why)
	case core.StateStarting:
		return "starting Claude"
	}
	return "idle"
}

func waitingText(st core.ChannelStatus) string {
	if st.Waiting == 0 {
		return "nothing"
	}
	return count(st.Waiting, "message", "messages") + ", see /queue"
}

// inUse names the model that the session says it uses, which may be another one than is
// set: an alias is resolved, and a setting counts from the next turn on. None is without a session.
func inUse(st core.ChannelStatus) string {
	if st.Model == "" || st.HostPID == 0 {
		return ""
	}
	return " (in use: " + code(st.Model) + ")"
}

// configuredOr shows what the chat has of its own.
func configuredOr(own string) string {
	if own == "" {
		return "as the gateway is configured"
	}
	return code(own)
}
