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
	for _, ext := range []string{toldExt, proxyExt} {
		err := os.Remove(filepath.Join(string(d), id+ext))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return logfile.Remove(d.LogPath(id))
}

// proxyExt ends the name of the file that holds the port at which people open the app.
const proxyExt = ".proxy"

// WriteProxyPort notes the port at which people open the app of an observer. It stays when the observer ends, so that the next one
// has the same address, and is not in the directory of the app, with which others could bring one.
func (d Records) WriteProxyPort(id string, port int) error {
	return writePortFile(filepath.Join(string(d), id+proxyExt), port)
}

// ProxyPort returns the port at which people opened the app of an observer; 0: it is unknown.
func (d Records) ProxyPort(id string) int {
	port, _ := readPortFile(filepath.Join(string(d), id+proxyExt)) // 0 after an error
	return port
}

// logExt ends the name of the file with the output of an observer in the background.
const logExt = ".log"

// LogPath returns the path of the file with the output of an observer in the background.
func (d Records) LogPath(id string) string { return filepath.Join(string(d), id+logExt) }
