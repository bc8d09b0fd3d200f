package sessionhost

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"bareclaw/core"
	"bareclaw/sessionhost/claude"
)

// launch identifies how hosts are started now: this program's file, claude's
// command line but for the session, and its directory. A host of another launch
// works on, and is replaced when nobody needs it. Empty when it cannot be told.
func (h *Hosts) launchID() string {
	program, err := h.o.Program()
	if err != nil {
		return ""
	}
	self, err := os.Stat(h.o.Self)
	if err != nil {
		return ""
	}
	l := h.o.Launch
	l.SessionID, l.Resume = "", false
	b, err := json.Marshal([]any{self.Size(), self.ModTime().UnixNano(), program, l.Args(), h.o.Dir})
	if err != nil {
		panic(fmt.Sprintf("sessionhost: strings do not encode: %v", err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// outdated reports whether a host of that launch is to be replaced.
func (h *Hosts) outdated(launch string) bool {
	now := h.launchID()
	return now != "" && now != launch
}

// launchOf returns how claude is started for a channel. A model and a mode are
// remembered by a session (the mode if it is plan, with CLI 2.1.329), so what was
// taken back is replaced by claude's own default where nothing else is set.
func (h *Hosts) launchFor(l core.Launch) claude.Launch {
	const theDefault = "default"
	launch := h.o.Launch
	launch.SessionID, launch.Resume = l.SessionID, l.Resume
	launch.Model = cmp.Or(l.Settings.Model, launch.Model)
	launch.PermissionMode = cmp.Or(l.Settings.PermissionMode, launch.PermissionMode)
	if l.Resume && l.Settings.HadModel {
		launch.Model = cmp.Or(launch.Model, theDefault)
	}
	if l.Resume && l.Settings.HadPermissionMode {
		launch.PermissionMode = cmp.Or(launch.PermissionMode, theDefault)
	}
	for _, r := range l.Settings.Rules {
		launch.Allow = append(launch.Allow, r.Rule)
	}
	return launch
}
