package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost"
)

func checkSessions(ctx context.Context, r *report) {
	if r.cfg.StateDir == "" {
		return
	}
	i, err := sessionhost.Inspect(r.cfg.StateDir)
	if err != nil {
		r.problem("sessions_unknown", err.Error()+".", "Whether something was left behind cannot be told.", "")
		return
	}
	for _, file := range i.Unread {
		r.warning("record_unreadable", file+" cannot be understood.",
			"It names a session host, which the gateway does not find without it.", "`rm "+quote(file)+"`, after the processes that it names have ended")
	}
	left := slices.Clone(i.Strays) // processes of sessions without a host
	for _, lost := range i.Lost {
		left = append(left, lost.Claude())
	}
	if len(left) > 0 {
		r.warning("orphans", fmt.Sprintf("%d processes are left of sessions whose host has ended: %s.", len(left), pids(left)),
			"They use memory, and what they do nobody sees. The gateway ends them when it starts.", "bareclaw doctor --fix").by(i.End)
	}
	staleSockets(ctx, r, i)
	if len(r.found) == 0 {
		r.ok("Session hosts alive: %d; nothing is left of others.", len(i.Live))
	}
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

func staleSockets(ctx context.Context, r *report, i sessionhost.Inspection) {
	entries, _ := os.ReadDir(r.cfg.RuntimeDir) // the directory is missing, or checkDirectories reports the reason
	for _, e := range entries {
		path := filepath.Join(r.cfg.RuntimeDir, e.Name())
		isSocket := strings.HasSuffix(e.Name(), ".sock") && e.Type()&os.ModeSocket != 0
		inUse := path == client.Socket(r.cfg) && r.holder().alive || // listening or not
			slices.ContainsFunc(i.Live, func(s sessionhost.Seen) bool { return s.Socket == path })
		if !isSocket || inUse || !dial(ctx, "unix", path) {
			continue
		}
		r.note("stale_socket", "Nobody listens on "+path+".", "It was left by a process that has ended, and is in nobody's way.", "rm "+quote(path)).
			by(func(ctx context.Context) error {
				if !dial(ctx, "unix", path) {
					return fmt.Errorf("%s is in use again", path)
				}
				return os.Remove(path)
			})
	}
}
