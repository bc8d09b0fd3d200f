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

// stoppedName is the file that says that a person has stopped the gateway.
const stoppedName = "stopped.json"

// A stop is what that file says.
type stop struct {
	At     time.Time `json:"at"`
	BootID string    `json:"boot_id"` // of procs; empty where that is not known
}

// MarkStopped notes that a person has stopped the gateway of a state directory, or is
// about to: nothing but a person starts it again before the next boot.
func MarkStopped(dir string) error {
	boot, _ := proc.BootID() // empty is compared like any other
	if err := atomicfile.WriteJSON(filepath.Join(dir, stoppedName), stop{At: time.Now().UTC(), BootID: boot}); err != nil {
		return fmt.Errorf("note that the gateway is stopped: %w", err)
	}
	return nil
}

// ClearStopped forgets that a person has stopped the gateway: it starts, or went on.
func ClearStopped(dir string) error {
	if err := os.Remove(filepath.Join(dir, stoppedName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget that the gateway was stopped: %w", err)
	}
	return nil
}

// StoppedAt returns when a person has stopped the gateway in this boot of the machine. It
// reports false where nobody has, and where that cannot be read: a gateway that is down
// for no known reason is started again.
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
