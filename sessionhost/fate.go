package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// Fate reads the fate of a turn from claude's transcript and the host's notes. A session
// without a transcript never began a turn.
func (h *Hosts) Fate(_ context.Context, key core.ChannelKey, sessionID string, id core.TurnID) (core.Fate, error) {
	fate, err := h.recorded(sessionID, id)
	if err != nil {
		return core.Fate{}, fmt.Errorf("read the fate of turn %s: %w", id, err)
	}
	begun, err := protocol.ToolNoted(h.place(key).ToolsPath, string(id))
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
	return claude.ReadFate(path, id)
}
