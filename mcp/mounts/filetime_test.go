package mounts

import (
	"os"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
)

// TestFileTime: whoever writes the file learns when the room goes by it.
func TestFileTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", func(s *Server) { s.Disabled = true })
	p := h.start()
	if !p.room.FileTime().Equal(h.written()) {
		t.Errorf("the file was written at %s; the room read that of %s", h.written(), p.room.FileTime())
	}
	h.mount("even", func(s *Server) { s.Disabled = true })
	check.OK(t, os.Chtimes(h.path, time.Time{}, time.Now().Add(time.Hour)))
	p.await("the file is read", func() bool { return p.room.FileTime().Equal(h.written()) })
	if all, _ := p.room.Status(); len(all) != 2 {
		t.Errorf("the servers are %+v", all)
	}
}

// written returns when the file was last changed.
func (h *house) written() time.Time {
	h.t.Helper()
	info, err := os.Stat(h.path)
	check.OK(h.t, err)
	return info.ModTime()
}

// TestIdleDefault: a server ends after the time of the room, unless it says another one.
func TestIdleDefault(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.idle = time.Second
	h.mount("odd", nil)
	h.mount("own", func(s *Server) { s.Idle = Duration(time.Hour) })
	p := h.start()
	p.awaitTools("odd_read", "own_read")
	for _, name := range []string{"odd", "own"} {
		_, _, err := p.room.Test(t.Context(), name)
		check.OK(t, err)
	}
	p.await("the server ends", func() bool { return p.statusOf("odd").State == StateIdle })
	if s := p.statusOf("own"); s.State != StateRunning {
		t.Errorf("the other one is %s", s.State)
	}
}

// TestMemory measures servers that run.
func TestMemory(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil)
	h.mount("other", nil)
	p := h.start()
	p.awaitTools("odd_read", "other_read")
	for _, name := range []string{"odd", "other"} {
		_, _, err := p.room.Test(t.Context(), name)
		check.OK(t, err)
	}
	servers := []Status{p.statusOf("odd"), p.statusOf("other")}
	used := MemoryOf(servers)
	for _, s := range servers {
		if len(s.Instances) != 1 || used[s.Instances[0].Mark] < 1<<20 {
			t.Errorf("the instances are %+v, and use %v", s.Instances, used)
		}
	}
	if len(used) != len(servers) {
		t.Errorf("the memory is %v", used)
	}
}
