package sessionhost

import (
	"errors"
	"io/fs"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
)

// A sessionRecord reads claude's transcript of a session.
type sessionRecord struct {
	o         *Options
	sessionID string
}

func (o *Options) transcript(sessionID string) sessionRecord { return sessionRecord{o, sessionID} }

// path returns the transcript's path; empty without a transcript.
func (r sessionRecord) path() (string, error) {
	if !r.o.Lasting {
		return "", nil
	}
	path, err := claude.FindTranscript(r.o.ConfigDir, r.sessionID)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return path, err
}

// fate returns the recorded fate of a turn. A session without a transcript never began a turn.
func (r sessionRecord) fate(turn core.TurnID) (core.Fate, error) {
	path, err := r.path()
	if path == "" || err != nil {
		return core.Fate{}, err
	}
	return claude.ReadFate(path, turn)
}

// Answer implements [claude.Record].
func (r sessionRecord) Answer(turn core.TurnID) string {
	fate, err := r.fate(turn)
	if err != nil {
		r.o.Log.Warn("answer of a turn not read", "turn", turn, "err", err)
	}
	if !fate.Answered {
		return ""
	}
	return fate.Text
}

// Call implements [claude.Record].
func (r sessionRecord) Call(id string) (tool, target string) {
	path, err := r.path()
	if path != "" && err == nil {
		tool, target, err = claude.ReadCall(path, id)
	}
	if err != nil {
		r.o.Log.Warn("tool call not found", "call", id, "err", err)
	}
	return tool, target
}
