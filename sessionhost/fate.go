package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// exitOf says what claude's end means to a lane.
func exitOf(e protocol.Exit) *core.Exit {
	c := claude.Exit{Status: e.Code, Signal: e.Signal, Stderr: e.Stderr, Ready: e.Ready, Timeout: e.Timeout, Error: e.Error}
	x := &core.Exit{Reason: core.ExitOther}
	x.Code, x.Text = c.Explain()
	switch {
	case c.UnknownSession():
		x.Reason = core.ExitUnknownSession
	case c.SessionInUse():
		x.Reason = core.ExitSessionInUse
	case !e.Ready && (e.Signal == "" || e.Timeout): // one that was killed may start the next time
		x.Reason = core.ExitStartFailed
	}
	return x
}

// Fate reads from claude's transcript, and from what the host noted, what became
// of a turn. A session without a transcript never began one.
func (h *Hosts) Fate(_ context.Context, key core.ChannelKey, sessionID string, id core.TurnID) (core.Fate, error) {
	fate, err := h.recorded(sessionID, id)
	if err != nil {
		return core.Fate{}, fmt.Errorf("read the fate of turn %s: %w", id, err)
	}
	begun, err := protocol.ToolNoted(h.files(key).Tools, string(id))
	if err != nil {
		return core.Fate{}, fmt.Errorf("read the fate of turn %s: %w", id, err)
	}
	if begun {
		fate.Begun, fate.ToolBegun = true, true
	}
	return fate, nil
}

// recorded reads the transcript.
func (h *Hosts) recorded(sessionID string, id core.TurnID) (core.Fate, error) {
	if !h.o.Lasting {
		return core.Fate{}, nil
	}
	path, err := claude.FindTranscript(h.o.ConfigDir, sessionID)
	if errors.Is(err, fs.ErrNotExist) {
		return core.Fate{}, nil
	}
	if err != nil {
		return core.Fate{}, err
	}
	f, err := claude.ReadFate(path, string(id))
	if err != nil {
		return core.Fate{}, err
	}
	return core.Fate{Begun: f.Begun, ToolBegun: f.ToolBegun, Interrupted: f.Interrupted, Answered: f.Answered, Failed: f.Failed, Code: f.Code, Text: f.Text, Done: done(f.Done), Into: core.TurnID(f.Into)}, nil
}

// done lists tool calls for a person, the last ones if there are many.
func done(tools []claude.ToolUse) string {
	const show = 5
	var parts []string
	if over := len(tools) - show; over > 0 {
		parts, tools = append(parts, fmt.Sprintf("%d other tool calls", over)), tools[over:]
	}
	for _, t := range tools {
		s := t.Name
		if t.Target != "" {
			s += " (" + t.Target + ")"
		}
		if !t.Finished {
			s += ", not finished"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}
