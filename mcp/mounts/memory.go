package mounts

import (
	"bareclaw/internal/memory"
	"bareclaw/internal/proc"
)

// Memory returns the memory of the instance's processes, in bytes (PSS); 0 where it is not known, and for a server
// that others run. It reads a file for each process of the user.
func (s *InstanceStatus) Memory() (bytes uint64) {
	if s.Mark == "" {
		return 0
	}
	marked, err := proc.ByEnviron(MarkVariable, func(value string) bool { return value == s.Mark })
	if err != nil {
		return 0
	}
	for _, p := range marked {
		if size, err := memory.SizeOf(p.PID); err == nil { // else it has just ended
			bytes += size.Proportional
		}
	}
	return bytes
}
