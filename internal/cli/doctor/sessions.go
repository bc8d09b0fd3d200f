package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost"
)

func checkSessions(ctx context.Context, l *look) []Finding {
	if l.cfg.StateDir == "" {
		return nil
	}
	i, err := sessionhost.Inspect(l.cfg.StateDir)
	if err != nil {
		return []Finding{problem("sessions_unknown", err.Error()+".", "Whether something was left behind cannot be told.", "")}
	}
	var found []Finding
	for _, file := range i.Unread {
		found = append(found, warning("record_unreadable", file+" cannot be understood.",
			"It names a session host, which the gateway does not find without it.", "`rm "+quote(file)+"`, after the processes that it names have ended"))
	}
	found = append(found, orphans(i)...)
	found = append(found, staleSockets(ctx, l, i)...)
	if len(found) == 0 {
		found = append(found, ok("Session hosts alive: %d; nothing is left of others.", len(i.Live)))
	}
	return found
}

// orphans reports processes left of sessions without a host.
func orphans(i sessionhost.Inspection) []Finding {
	left := slices.Clone(i.Strays)
	for _, l := range i.Lost {
		left = append(left, l.Claude)
	}
	if len(left) == 0 {
		return nil
	}
	return []Finding{warning("orphans", fmt.Sprintf("%d processes are left of sessions whose host has ended: %s.", len(left), pids(left)),
		"They use memory, and what they do nobody sees. The gateway ends them when it starts.", "bareclaw doctor --fix").by(i.End)}
}

func pids(all []proc.Process) string {
	const enough = 10
	var names []string
	for _, p := range all[:min(len(all), enough)] {
		names = append(names, strconv.Itoa(p.PID))
	}
	if len(all) > enough {
		names = append(names, "…")
	}
	return "pid " + strings.Join(names, ", ")
}

// staleSockets reports sockets without a listener.
func staleSockets(ctx context.Context, l *look, i sessionhost.Inspection) []Finding {
	entries, err := os.ReadDir(l.cfg.RuntimeDir)
	if err != nil {
		return nil // the directory is missing, or checkDirectories reports the reason
	}
	var found []Finding
	for _, e := range entries {
		path := filepath.Join(l.cfg.RuntimeDir, e.Name())
		if !strings.HasSuffix(e.Name(), ".sock") || e.Type()&os.ModeSocket == 0 || inUse(l, i, path) || !stale(ctx, path) {
			continue
		}
		found = append(found, note("stale_socket", "Nobody listens on "+path+".", "It was left by a process that has ended, and is in nobody's way.", "rm "+quote(path)).
			by(func(ctx context.Context) error { return removeStale(ctx, path) }))
	}
	return found
}

// inUse reports whether a socket belongs to a living process, listening or not.
func inUse(l *look, i sessionhost.Inspection, path string) bool {
	return path == client.Socket(l.cfg) && l.holder().alive ||
		slices.ContainsFunc(i.Live, func(s sessionhost.Seen) bool { return s.Socket == path })
}

// stale reports whether connections to a socket are refused.
func stale(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialBound)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

func removeStale(ctx context.Context, path string) error {
	if !stale(ctx, path) {
		return fmt.Errorf("%s is in use again", path)
	}
	return os.Remove(path)
}
