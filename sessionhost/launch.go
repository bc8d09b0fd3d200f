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

// launchID identifies how hosts are started now: the program's file, claude's command line
// without the session, and the directory. A host of another launch goes on, and is replaced
// when idle. The id is empty if the program cannot be found.
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

// outdated reports whether a host of that launch should be replaced.
func (h *Hosts) outdated(launch string) bool {
	now := h.launchID()
	return now != "" && now != launch
}

// launchFor returns how claude is started for a channel. A session remembers a model and a
// mode (only plan, with CLI 2.1.329), so claude's own default replaces a withdrawn choice.
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
