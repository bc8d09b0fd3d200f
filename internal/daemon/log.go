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
	o := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cfg.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(escaping{w}, o))
	}
	return slog.New(slog.NewTextHandler(w, o)) // quotes what a terminal would not show
}

// escaping writes lines of JSON as a terminal may show them: the handler escapes only
// what JSON demands.
type escaping struct{ w io.Writer }

func (e escaping) Write(line []byte) (int, error) {
	if _, err := e.w.Write(term.SafeJSON(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// openLogWriter returns what writes the log: to stderr, and to a file unless the journal
// keeps stderr. Where stderr is that file already, as of a gateway that was started
// detached, each line goes there once. With an error the writer writes to stderr alone.
func openLogWriter(cfg config.Config) (w io.Writer, where lockfile.LogLocation, done func(), err error) {
	done = func() {}
	detached := logfile.IsLog(os.Stderr, usualLog(cfg))
	path := cfg.LogFile
	switch path {
	case config.LogFileOff:
		if !detached {
			return os.Stderr, where, done, nil
		}
		path = usualLog(cfg) // nobody else keeps it within bounds
	case config.LogFileAuto:
		if journaled(os.Getenv("JOURNAL_STREAM"), os.Stderr) {
			return os.Stderr, lockfile.LogLocation{Unit: unitOf(os.ReadFile("/proc/self/cgroup"))}, done, nil
		}
		path = usualLog(cfg)
	}
	f, err := logfile.Open(path, logfile.MaxBytes)
	if err != nil {
		return os.Stderr, where, done, fmt.Errorf("%s: %w", path, err)
	}
	done = func() { _ = f.Close() }
	w = io.MultiWriter(f, os.Stderr) // in this order: what is seen on stderr is in the file, whose writes never fail
	if f.Adopt(os.Stderr) || detached {
		w = f
	}
	return w, lockfile.LogLocation{Path: path}, done, nil
}

// journaled reports whether the journal of systemd gets what is written to f: its
// manager says so by device and inode (systemd.exec(5)), which a process inherits
// also where its output goes elsewhere.
func journaled(stream string, f *os.File) bool {
	st, err := f.Stat()
	if err != nil {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && stream == fmt.Sprintf("%d:%d", sys.Dev, sys.Ino)
}

// unitOf returns the unit that a process belongs to, as journalctl is asked for it, by
// what /proc says of its control group; empty if that is not known.
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
