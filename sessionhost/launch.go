package sessionhost

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
)

// launch identifies how hosts are started now: this program's file, claude's
// command line but for the session, and its directory. A host of another launch
// works on, and is replaced when nobody needs it. Empty when it cannot be told.
func (h *Hosts) launch() string {
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
	now := h.launch()
	return now != "" && now != launch
}
