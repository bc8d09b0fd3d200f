package botapi

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// serve accepts on l until it is closed. The caller is start or holds netMu.
func (s *Server) serve(l net.Listener) {
	s.listener = l
	s.running.Go(func() {
		// Serve returns when the listener is closed, or when accepting fails
		// for good: clients then see refused connections.
		_ = s.http.Serve(l)
	})
}

// connState keeps the list of connections, for DropNetwork.
func (s *Server) connState(c net.Conn, state http.ConnState) {
	s.netMu.Lock()
	defer s.netMu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	}
}

// DropNetwork closes every connection and refuses new ones until
// [Server.RestoreNetwork].
func (s *Server) DropNetwork() {
	s.netMu.Lock()
	defer s.netMu.Unlock()
	if s.listener != nil {
		s.listener.Close()
		s.listener = nil
	}
	for c := range s.conns {
		_ = c.Close()
	}
}

// RestoreNetwork listens again on the address of before. Another process may
// have been given the port for a connection of its own, so it tries for 10 s.
func (s *Server) RestoreNetwork() {
	s.must(s.restore())
}

func (s *Server) restore() error {
	s.netMu.Lock()
	defer s.netMu.Unlock()
	if s.closed {
		return errNoNetwork
	}
	if s.listener != nil {
		return nil
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		l, err := net.Listen("tcp", s.addr)
		if err == nil {
			s.serve(l)
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("listen again: %w", err)
		}
		time.Sleep(10 * time.Millisecond) // there is nothing that says when a port is free
	}
}
