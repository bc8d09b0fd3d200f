package discovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bareclaw/internal/atomicfile"
	"bareclaw/internal/logfile"
)

// toldExt ends the name of a file that says of which observer people know that it has died. It is a file of its own,
// because the record may be replaced at any time by that of the next observer of the directory.
const toldExt = ".told"

// Process identifies the observer's process among those of all times.
func (r *Record) Process() string { return fmt.Sprintf("%s.%s.%d.%d", r.ID, r.Boot, r.PID, r.Start) }

// SetTold notes that people know of the end of an observer. Its record stays: the next observer of the directory
// takes the address from it.
func (d Records) SetTold(r Record) error {
	path, err := d.path(r.ID)
	if err != nil {
		return err
	}
	return atomicfile.WriteSoon(strings.TrimSuffix(path, recordExt)+toldExt, []byte(r.Process()+"\n"), 0o600)
}

// IsTold reports whether people know of the end of an observer.
func (d Records) IsTold(r *Record) bool {
	path, err := d.path(r.ID)
	if err != nil {
		return false
	}
	text, err := os.ReadFile(strings.TrimSuffix(path, recordExt) + toldExt)
	return err == nil && strings.TrimSpace(string(text)) == r.Process()
}

// IsLeft reports whether the record of an observer is still there after its process has ended: one that ends by
// itself removes its record before.
func (d Records) IsLeft(r *Record) bool {
	if r.Alive() {
		return false
	}
	now, err := d.read(r.ID)
	return err == nil && now.Process() == r.Process()
}

// Forget removes what is kept of an observer of a directory that is gone.
func (d Records) Forget(id string) error {
	if err := d.Remove(id); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(string(d), id+toldExt))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return logfile.Remove(d.LogPath(id))
}

// logExt ends the name of the file with the output of an observer in the background.
const logExt = ".log"

// LogPath returns the path of the file with the output of an observer in the background.
func (d Records) LogPath(id string) string { return filepath.Join(string(d), id+logExt) }
