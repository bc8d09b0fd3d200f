package harness

// Steps are the system calls by which something becomes known outside of a process, or
// lasting. A process that is killed on the way into one of them has done all
// that comes before, and nothing of what comes after.
var Steps = []string{"write,writev,sendmsg,sendto", "pwrite64", "fdatasync,fsync", "renameat,renameat2,unlinkat,ftruncate"}

// Ended reports whether the daemon is gone.
func (g *Gateway) Ended() bool {
	if _, err := g.Do("GET", "/health", nil); err == nil {
		return false
	}
	g.WaitEnd()
	return true
}

// PID asks the daemon for its process id: it may run under strace.
func (g *Gateway) PID() (int, error) {
	a, err := g.Do("GET", "/health", nil)
	n, _ := a.JSON["pid"].(float64)
	return int(n), err
}
