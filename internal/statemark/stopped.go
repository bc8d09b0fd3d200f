// Package statemark keeps the files that mark a state directory: a person has stopped the
// gateway, or a restore is changing the directory.
package statemark

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bareclaw/internal/atomicfile"
	"bareclaw/internal/proc"
)

// stoppedName is the mark of a gateway that a person has stopped.
const stoppedName = "stopped.json"

// A stop is the content of that mark.
type stop struct {
	At     time.Time `json:"at"`
	BootID string    `json:"boot_id"` // proc.BootID; empty if unknown
}

// MarkStopped records that a person stops the gateway of a state directory. Until the next
// boot only a person starts the gateway again.
func MarkStopped(dir string) error {
	boot, _ := proc.BootID() // empty is compared like any other
	if err := atomicfile.WriteJSON(filepath.Join(dir, stoppedName), stop{At: time.Now().UTC(), BootID: boot}); err != nil {
		return fmt.Errorf("note that the gateway is stopped: %w", err)
	}
	return nil
}

// ClearStopped removes the mark when a gateway starts or goes on.
func ClearStopped(dir string) error {
	if err := os.Remove(filepath.Join(dir, stoppedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget that the gateway was stopped: %w", err)
	}
	return nil
}

// StoppedAt returns when a person stopped the gateway in this boot of the machine. It
// reports false without such a mark, and if the mark cannot be read: a gateway that is
// down for no known reason is started again.
func StoppedAt(dir string) (time.Time, bool) {
	b, err := os.ReadFile(filepath.Join(dir, stoppedName))
	if err != nil {
		return time.Time{}, false
	}
	var s stop
	if err := json.Unmarshal(b, &s); err != nil || s.At.IsZero() {
		return time.Time{}, false
	}
	boot, _ := proc.BootID()
	return s.At, s.BootID == boot
}
