package botapi

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// serve answers on l until the network is dropped. The caller is start or holds netMu.
func (s *Server) serve(l net.Listener) {
	h := &http.Server{Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: time.Minute}
	s.http = h
	s.running.Go(func() {
		// Serve returns when the server is closed, or when accepting fails for good: clients
		// then see refused connections.
		_ = h.Serve(l)
	})
}

// DropNetwork closes every connection and refuses new ones until
// [Server.RestoreNetwork].
func (s *Server) DropNetwork() {
	s.netMu.Lock()
	defer s.netMu.Unlock()
	if s.http != nil {
		_ = s.http.Close()
		s.http = nil
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
	if s.http != nil {
		return nil
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
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
