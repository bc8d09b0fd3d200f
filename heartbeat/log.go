package heartbeat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"bareclaw/heartbeat/service"
)

const (
	logName = service.HeartbeatLog
	// maxLog is the size in bytes above which the log is renamed, replacing the
	// previously renamed log.
	maxLog = 1 << 20
)

// A log writes one line of text per step of a tick.
type log struct {
	file *os.File // nil if the log file cannot be opened
	also io.Writer
}

// openLog opens the log. If the file cannot be opened, the tick continues and prints the
// error.
func openLog(path string, also io.Writer) *log {
	f, err := openFile(path)
	l := &log{file: f, also: also}
	if err != nil {
		l.printf("the log cannot be written: %q", err.Error())
	}
	return l
}

func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxLog {
		err = os.Rename(path, path+".1")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("put the heartbeat's log aside: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the heartbeat's log: %w", err)
	}
	return f, nil
}

// printf writes a line. Callers format external text with %q, because people read the
// log in terminals.
func (l *log) printf(format string, args ...any) {
	line := time.Now().UTC().Format(time.RFC3339) + " " + fmt.Sprintf(format, args...) + "\n"
	if l.file != nil {
		_, _ = io.WriteString(l.file, line) // a full disk must not stop the supervision
	}
	_, _ = io.WriteString(l.also, line)
}

func (l *log) close() { _ = l.file.Close() } // no-op for a nil file
