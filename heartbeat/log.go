package heartbeat

import (
	"fmt"
	"io"
	"time"

	"bareclaw/heartbeat/service"
	"bareclaw/internal/logfile"
)

const (
	logName = service.HeartbeatLog
	// maxLog is the size in bytes of a full log, which becomes an old log.
	maxLog = 1 << 20
)

// A log writes one line of text per step of a tick.
type log struct {
	file *logfile.File // nil if the log file cannot be opened
	also io.Writer
}

// openLog opens the log. If the file cannot be opened, the tick continues and prints the
// error.
func openLog(path string, also io.Writer) *log {
	f, err := logfile.Open(path, maxLog)
	l := &log{file: f, also: also}
	if err != nil {
		l.printf("the log cannot be written: %q", err.Error())
	}
	return l
}

// printf writes a line. Callers format external text with %q, because people read the
// log in terminals.
func (l *log) printf(format string, args ...any) {
	line := time.Now().UTC().Format(time.RFC3339) + " " + fmt.Sprintf(format, args...) + "\n"
	if l.file != nil {
		_, _ = io.WriteString(l.file, line)
	}
	_, _ = io.WriteString(l.also, line)
}

func (l *log) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}
