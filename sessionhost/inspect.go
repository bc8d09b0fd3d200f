package sessionhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// An Inspection is what can be seen of the sessions of a state directory from
// outside.
type Inspection struct {
	Live   []Seen                  // hosts that run
	Lost   []Seen                  // claudes that run although their host is gone
	Strays []proc.Process          // what else a session has started whose host is gone
	Unread []string                // records that cannot be understood
	orphan func(value string) bool // of a mark
}

// A Seen is what a record says of a host.
type Seen struct {
	Channel string
	Host    proc.Process
	Claude  proc.Process
	Socket  string
}

// Inspect looks at the sessions of a state directory, and changes nothing. Where the
// system does not show the environment of processes, there are no strays.
func Inspect(stateDir string) (Inspection, error) {
	dir := filepath.Join(stateDir, "hosts")
	i := Inspection{orphan: protocol.IsOrphan(protocol.FilesOf(stateDir, "", "").Record)}
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.json"))
	if err != nil {
		return i, fmt.Errorf("list host records: %w", err)
	}
	known := map[int]bool{os.Getpid(): true}
	for _, file := range files {
		r, err := protocol.ReadRecord(file)
		if err != nil {
			if !protocol.IsNotExist(err) { // its host has just ended
				i.Unread = append(i.Unread, file)
			}
			continue
		}
		seen := Seen{
			Channel: r.Channel, Socket: r.Socket,
			Host: proc.Process{PID: r.PID, Start: r.Start}, Claude: proc.Process{PID: r.ClaudePID, Start: r.ClaudeStart},
		}
		switch {
		case r.HostAlive():
			i.Live = append(i.Live, seen)
		case r.ClaudeAlive():
			i.Lost, known[r.ClaudePID] = append(i.Lost, seen), true
		}
	}
	found, err := proc.ByEnviron(protocol.EnvMarkVariable, i.orphan)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return i, fmt.Errorf("find what sessions left: %w", err)
	}
	for _, p := range found {
		if !known[p.PID] {
			i.Strays = append(i.Strays, p)
		}
	}
	return i, nil
}

// End ends what was found without a host, and what has come to it since. It returns
// when that is gone, or ctx ends. A daemon may be at work meanwhile.
func (i *Inspection) End(ctx context.Context) error {
	for _, l := range i.Lost {
		if err := end(ctx, l.Claude.PID, l.Claude.Start, claudeGrace); err != nil {
			return fmt.Errorf("end claude %d: %w", l.Claude.PID, err)
		}
	}
	return protocol.Sweep(ctx, i.orphan)
}
