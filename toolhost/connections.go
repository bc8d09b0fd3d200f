package toolhost

import (
	"net"
	"os"

	"bareclaw/internal/socketpair"
)

// connections are what connects the daemon with one tool host.
type connections struct {
	calls, control, functions net.Conn
	inherited                 []*os.File // the other ends, in the order of their descriptors; the process has them once it runs
}

func connect() (c *connections, err error) {
	c = &connections{}
	for _, end := range []*net.Conn{&c.calls, &c.control, &c.functions} { // as api.CallsFD and its siblings
		ours, theirs, err := socketpair.New("tool host")
		if err != nil {
			c.close()
			return nil, err
		}
		*end = ours
		c.inherited = append(c.inherited, theirs)
	}
	return c, nil
}

// closeInherited closes our copies of the child's ends, once the child has started.
func (c *connections) closeInherited() {
	for _, f := range c.inherited {
		_ = f.Close()
	}
	c.inherited = nil
}

// close closes all ends.
func (c *connections) close() {
	c.closeInherited()
	for _, end := range []net.Conn{c.calls, c.control, c.functions} {
		if end != nil {
			_ = end.Close()
		}
	}
}
