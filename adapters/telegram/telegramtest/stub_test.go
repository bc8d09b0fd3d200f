package telegramtest_test

import (
	"sync"
	"testing"
)

// stubTB counts the errors of a test that is meant to fail.
type stubTB struct {
	testing.TB
	mu sync.Mutex
	n  int // protected by mu
}

func (s *stubTB) Errorf(string, ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
}

func (s *stubTB) errors() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}
