package botapi_test

import (
	"fmt"
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

// Fatalf ends the test function by a panic with the text.
func (s *stubTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
