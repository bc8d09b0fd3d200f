package daemon

import (
	"context"
	"net"
	"os"
	"time"

	"bareclaw/adapters/httpapi"
	"bareclaw/internal/peercred"
)

// httpGrace is how long held requests may take to be answered at the end.
const httpGrace = 1500 * time.Millisecond

// An httpPart serves the API on the daemon's two listeners.
type httpPart struct {
	*base
	failed chan error // of serving; capacity 2
	server *httpapi.Server
}

func (h *httpPart) start(o httpapi.Options, s *sockets) {
	h.server, h.failed = httpapi.New(o), make(chan error, 2)
	go func() { h.failed <- h.server.Serve(s.tcp) }()       // ends by stop
	go func() { h.failed <- h.server.ServeLocal(s.unix) }() // likewise
}

func (h *httpPart) stop(why stopReason) error {
	switch {
	case h.server == nil:
	case why == handingOver:
		h.server.HandOver()
	default:
		h.drain(httpapi.ShuttingDown)
	}
	return nil
}

func (h *httpPart) drain(why httpapi.Reason) {
	ctx, cancel := context.WithTimeout(context.Background(), httpGrace)
	defer cancel()
	if err := h.server.Shutdown(ctx, why); err != nil {
		h.log.Warn("requests cut", "err", err)
	}
}

// samePeer reports whether a connection comes from this user's own programs.
func samePeer(c net.Conn) (ok, known bool) {
	if u, isUnix := c.(*net.UnixConn); isUnix {
		uid, err := peercred.UnixUID(u)
		return err == nil && int(uid) == os.Getuid(), true
	}
	uid, known, err := peercred.TCPUID(c.LocalAddr(), c.RemoteAddr())
	if err != nil {
		return false, true
	}
	return int(uid) == os.Getuid(), known
}
