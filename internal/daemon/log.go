package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/logfile"
	"bareclaw/internal/term"
)

func newLog(cfg config.Config, w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.Level(cfg.Logs.Level)}
	if cfg.Logs.Format == config.LogJSON {
		return slog.New(slog.NewJSONHandler(escaping{w}, o))
	}
	return slog.New(slog.NewTextHandler(w, o)) // quotes what a terminal would not show
}

// escaping escapes characters that are unsafe for a terminal in lines of JSON: the handler
// escapes only the characters that JSON forbids.
type escaping struct{ w io.Writer }

func (e escaping) Write(line []byte) (int, error) {
	if _, err := e.w.Write(term.SafeJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// openLogWriter returns the writer of the log, for stderr and, unless the journal keeps
// stderr, for a file. Lines for stderr go to terminal, which passes them on. If stderr is already the file, as in a detached gateway, each line is
// written once. With an error the writer writes to stderr alone.
func openLogWriter(cfg config.Config, terminal io.Writer) (w io.Writer, where lockfile.LogLocation, done func(), err error) {
	done = func() {}
	detached := logfile.IsLog(os.Stderr, usualLog(cfg))
	path := string(cfg.Logs.File)
	switch cfg.Logs.File {
	case config.LogFileOff:
		if !detached {
			return terminal, where, done, nil
		}
		path = usualLog(cfg) // nobody else keeps it within bounds
	case config.LogFileAuto:
		if journaled(os.Getenv("JOURNAL_STREAM"), os.Stderr) {
			return terminal, lockfile.LogLocation{Unit: unitOf(os.ReadFile("/proc/self/cgroup"))}, done, nil
		}
		path = usualLog(cfg)
	}
	f, err := logfile.Open(path, logfile.MaxBytes)
	if err != nil {
		return terminal, where, done, fmt.Errorf("%s: %w", path, err)
	}
	done = func() { _ = f.Close() }
	w = io.MultiWriter(f, terminal) // the file first, whose writes never fail: each line on stderr is in the file
	if f.Adopt(os.Stderr) || detached {
		w = f
	}
	return w, lockfile.LogLocation{Path: path}, done, nil
}

// journaled reports whether f writes to systemd's journal. systemd names the journal's
// stream by device and inode (JOURNAL_STREAM in systemd.exec(5)); a process inherits the
// variable even if its output goes elsewhere.
func journaled(stream string, f *os.File) bool {
	st, err := f.Stat()
	if err != nil {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", sys.Dev, sys.Ino)
}

// unitOf returns the journalctl option for the unit of a process, found in the process's
// control group in /proc; empty if unknown.
func unitOf(cgroup []byte, err error) string {
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(cgroup)) {
		parts := strings.Split(strings.TrimSpace(line), "/")
		unit := parts[len(parts)-1]
		if !strings.HasSuffix(unit, ".service") {
			continue
		}
		for _, above := range parts[:len(parts)-1] {
			if strings.HasPrefix(above, "user@") {
				return "--user-unit=" + unit
			}
		}
		return "--unit=" + unit
	}
	return ""
}
