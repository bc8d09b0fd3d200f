package handover

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSibling has the successor be a child of this process's own parent.
func TestSibling(t *testing.T) {
	t.Parallel()
	s, _ := startProgram(t, "heir", Program{Sibling: true})
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var state string
	var parent int
	if _, err := fmt.Sscan(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), &state, &parent); err != nil {
		t.Fatalf("%s: %v", stat, err)
	}
	if parent != os.Getppid() {
		t.Errorf("its parent is %d, want %d, which is ours", parent, os.Getppid())
	}
	if err := s.Go(); err != nil {
		t.Fatal(err)
	}
	if path, err := s.Serving(soon(t)); err != nil || path != "/here" {
		t.Fatalf("serving at %q, %v", path, err)
	}
	s.Kill()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "service manager") {
		t.Errorf("it ended with %v", err)
	}
}

// TestSiblingThatDies has it die before it is ready.
func TestSiblingThatDies(t *testing.T) {
	t.Parallel()
	s, _ := startProgram(t, "dies", Program{Sibling: true})
	if err := s.Ready(soon(t)); err == nil || !strings.Contains(err.Error(), "before it was ready") {
		t.Errorf("error is %v", err)
	}
}
