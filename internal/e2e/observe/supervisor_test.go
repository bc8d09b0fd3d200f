package observe

import (
	"syscall"
	"testing"

	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// TestSupervisorIsKilled: whoever starts the gateway is killed while people are to be told: the gateway ends too, observer and
// app go on, and people are told once by the next gateway.
func TestSupervisorIsKilled(t *testing.T) {
	for name, kill := range map[string]func(c *chat){
		"before the gateway tells": func(c *chat) {
			c.killSupervisor()
			c.shows()
			c.Eventually("the observer wants to tell", c.hasPush)
		},
		"while the gateway tells": func(c *chat) {
			held := c.telegram.Hold("sendMessage", 7)
			c.shows()
			c.telegram.Await(c.T, "the push", held.Reached)
			c.killSupervisor()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChat(t)
			kill(c)
			if !c.now.Alive() {
				t.Error("the observer has ended with the supervisor")
			}
			c.isServed(c.now)
			c.gateway = c.Machine.Start()
			c.told()
			c.ends()
		})
	}
}

// killSupervisor kills the supervisor alone, and waits until the gateway has ended too.
func (c *chat) killSupervisor() {
	c.T.Helper()
	h := c.LockFile()
	check.OK(c.T, proc.Signal(h.PID, h.Start, syscall.SIGKILL))
	c.gateway.WaitEnd()
	check.OK(c.T, proc.WaitGone(c.T.Context(), h.Worker, h.WorkerStart))
}
