package api

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// The file descriptors of the connections that the tool host inherits. Each is one end of a pair
// of sockets, so that no other process can reach either end.
const (
	CallsFD     = 3 + iota // the daemon's calls of tools
	ControlFD              // whatever else the daemon asks, which calls must not hold up
	FunctionsFD            // the tool host's requests for what scripts may use
)

// maxStreams is the number of requests that a connection carries at once. More requests wait.
const maxStreams = 1024

// unencrypted is HTTP/2 without TLS: it carries many requests at once, of which each can be
// cancelled, over the one connection that there is.
func unencrypted() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// Origin begins the URLs of requests over a connection.
const Origin = "http://pair"

// Connect returns a client of whoever serves the other end of a connection. It calls onClose when
// the client has closed the connection, or has found it closed.
func Connect(conn net.Conn, onClose func()) (*http.ClientConn, error) {
	t := &http.Transport{
		Protocols: unencrypted(),
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return watched{conn, sync.OnceFunc(onClose)}, nil
		},
	}
	return t.NewClientConn(context.Background(), "http", "pair:80")
}

// A watched connection tells when it is closed.
type watched struct {
	net.Conn
	onClose func()
}

// Close closes the connection.
func (w watched) Close() error {
	defer w.onClose()
	return w.Conn.Close()
}

// NewServer returns a server for [Serve].
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{ //nolint:gosec // the only client is a process of our own, which may be silent for days
		Handler:   h,
		Protocols: unencrypted(),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:  slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// Serve answers the requests that come over a connection until the connection ends.
func Serve(s *http.Server, conn net.Conn) error {
	ended := make(chan struct{})
	l := &listener{make(chan net.Conn, 1), ended, sync.OnceFunc(func() { close(ended) }), conn.LocalAddr()}
	l.conns <- watched{conn, l.end}
	return s.Serve(l)
}

// A listener accepts one connection, and ends with it.
type listener struct {
	conns chan net.Conn
	ended <-chan struct{}
	end   func() // closes ended
	addr  net.Addr
}

// Accept returns the connection, and after its end [io.EOF].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, io.EOF
	}
}

// Close makes Accept return.
func (l *listener) Close() error {
	l.end()
	return nil
}

// Addr returns the address of the connection.
func (l *listener) Addr() net.Addr { return l.addr }
