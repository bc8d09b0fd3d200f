package mounts

import (
	"bareclaw/internal/memory"
	"bareclaw/internal/proc"
)

// MemoryOf returns the memory of the processes of servers, in bytes (PSS), by the marks of their instances: 0 where it
// is not known. Servers that others run have no mark. MemoryOf reads a file for each process of the user, if there is
// any mark.
func MemoryOf(servers []Status) map[string]uint64 {
	used := map[string]uint64{}
	for i := range servers {
		for _, instance := range servers[i].Instances {
			if instance.Mark != "" {
				used[instance.Mark] = 0
			}
		}
	}
	if len(used) == 0 {
		return used
	}
	marks, err := proc.EnvironValues(MarkVariable)
	if err != nil { // not on this system
		return used
	}
	for process, mark := range marks {
		if _, known := used[mark]; !known {
			continue
		}
		if size, err := memory.SizeOf(process.PID); err == nil { // else it has just ended
			used[mark] += size.Proportional
		}
	}
	return used
}
