package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
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

// openLog has the log go to its file too. Where stderr is that file already, as of a
// gateway that was started detached, each line goes there once. A file that cannot be
// written is no reason not to serve.
func (d *daemon) openLog() {
	d.log = newLog(d.cfg, os.Stderr)
	usual := filepath.Join(d.cfg.StateDir, logfile.Name)
	detached := logfile.IsLog(os.Stderr, usual)
	path := d.cfg.LogFile
	switch path {
	case config.LogFileOff:
		if !detached {
			return
		}
		path = usual // nobody else keeps it within bounds
	case config.LogFileAuto:
		if journaled(os.Getenv("JOURNAL_STREAM"), os.Stderr) {
			d.logged = lockfile.LogLocation{Unit: unitOf(os.ReadFile("/proc/self/cgroup"))}
			return
		}
		path = usual
	}
	f, err := logfile.Open(path, logfile.MaxBytes)
	if err != nil {
		d.log.Error("the log is not kept in a file", "path", path, "err", err)
		return
	}
	d.closers = append(d.closers, func() { _ = f.Close() })
	var w io.Writer = both{f, os.Stderr} // in this order: what is seen on stderr is in the file
	if f.Adopt(os.Stderr) || detached {
		w = f
	}
	d.log, d.logged = newLog(d.cfg, w), lockfile.LogLocation{Path: path}
}

// both writes to two places, of which one may fail.
type both struct{ a, b io.Writer }

func (w both) Write(p []byte) (int, error) {
	_, _ = w.a.Write(p)
	return w.b.Write(p)
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
