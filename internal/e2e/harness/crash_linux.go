package harness

// Steps are the system calls that make an effect of a process visible to others or durable.
// A process that is killed at the entry of such a call has done everything before the call
// and nothing after it.
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
