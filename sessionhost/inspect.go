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

// An Inspection is an outside view of the sessions of a state directory.
type Inspection struct {
	Live   []Seen                  // live hosts
	Lost   []Seen                  // live claudes without a host
	Strays []proc.Process          // other leftover processes of sessions without a host
	Unread []string                // unreadable records
	orphan func(value string) bool // tells the marks of leftovers
}

// A Seen is a host by its record.
type Seen struct {
	Channel string
	Host    proc.Process
	Claude  proc.Process
	Socket  string
}

// Inspect looks at the sessions of a state directory, and changes nothing. It finds no
// strays on a system without readable environments.
func Inspect(stateDir string) (Inspection, error) {
	dir := filepath.Join(stateDir, "hosts")
	i := Inspection{orphan: protocol.IsOrphan(protocol.PlaceOf(stateDir, "", "").RecordPath)}
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.json"))
	if err != nil {
		return i, fmt.Errorf("list host records: %w", err)
	}
	known := map[int]bool{os.Getpid(): true}
	for _, file := range files {
		r, err := protocol.ReadRecord(file)
		if err != nil {
			if !protocol.IsNotExist(err) { // the host has just ended
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

// End ends the processes without a host, also newer ones. It returns when they are gone, or
// when ctx ends. A daemon may be at work meanwhile.
func (i *Inspection) End(ctx context.Context) error {
	for _, l := range i.Lost {
		if err := end(ctx, l.Claude.PID, l.Claude.Start, claudeGrace); err != nil {
			return fmt.Errorf("end claude %d: %w", l.Claude.PID, err)
		}
	}
	return protocol.Sweep(ctx, i.orphan)
}
