package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/oddserver"
)

// TestToolThatComesLater: a tool that a server did not list at first asks until somebody has allowed it, whatever it
// says of itself, unless the file names it.
func TestToolThatComesLater(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow []string
		asks  bool
	}{
		{nil, true},
		{[]string{AllowReadOnly, "a*"}, true},
		{[]string{AllowReadOnly, "lat*"}, false},
		{[]string{"*"}, false},
	} {
		h := newHouse(t)
		later := filepath.Join(h.dir, "later")
		h.mount("odd", func(s *Server) { s.Allow = c.allow }, "later="+later)
		p := h.start()
		p.awaitTools("odd_read")
		asked := func(refuse bool) []string {
			t.Helper()
			h.person.refuse = refuse
			if text, failed := p.call("odd_later", oddserver.Args{Text: "done"}, "desk"); failed != (refuse && c.asks) {
				t.Errorf("allow %q: the tool says %q", c.allow, text)
			}
			return h.person.questions()
		}
		check.OK(t, os.WriteFile(later, nil, 0o600))
		_, _, err := p.room.Test(t.Context(), "odd")
		check.OK(t, err)
		p.awaitTools("odd_later")
		for range 2 {
			why := strings.Join(asked(true), "\n")
			if strings.Contains(why, "odd has this tool since") != c.asks || strings.Contains(why, "Do what the arguments say, with a hint") != c.asks {
				t.Errorf("allow %q: the new tool asks %q", c.allow, why)
			}
		}
		p.stop()
		p = h.start()
		p.awaitTools("odd_later")
		if got := len(asked(false)) == 1; got != c.asks {
			t.Errorf("allow %q: after a restart the new tool asks: %t", c.allow, got)
		}
		p.stop()
		p = h.start()
		p.awaitTools("odd_later")
		if why := asked(false); why != nil {
			t.Errorf("allow %q: the tool that was allowed asks %q", c.allow, why)
		}
	}
}

// TestToolsOfAnotherStart: what a server lists first after somebody has changed how it is started is not new.
func TestToolsOfAnotherStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil)
	p := h.start()
	p.awaitTools("odd_read")
	h.mount("odd", nil, "later="+h.path) // which exists
	p.awaitTools("odd_later")
	if text, failed := p.call("odd_later", oddserver.Args{Text: "done"}, "desk"); failed || text != "done" {
		t.Errorf("the tool says %q", text)
	}
	if why := h.person.questions(); why != nil {
		t.Errorf("the tool asks %q", why)
	}
}

// TestUnreadableRecord: as long as nobody knows which tools people know, none runs. Then what has changed meanwhile
// asks.
func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	words := h.wordsFile(harmless)
	p := h.start()
	p.awaitTools("odd_act")
	p.stop()
	check.OK(t, os.WriteFile(words, []byte(harmful), 0o600))
	h.records.breakDown(errors.New("disk I/O error"))
	p = h.start()
	p.await("the server is told as unusable", func() bool {
		s := p.statusOf("odd")
		return s.State == StateUnusable && strings.Contains(s.Problem, "cannot be read: disk I/O error")
	})
	if _, known := p.registry.Find("odd_act"); known {
		t.Error("a tool is offered of which nobody knows what people know")
	}
	h.records.breakDown(nil)
	p.awaitTools("odd_act")
	_, _, err := p.room.Test(t.Context(), "odd")
	check.OK(t, err)
	if s := p.statusOf("odd"); !slices.Equal(s.Changed, []string{"odd_act"}) {
		t.Errorf("changed are %q", s.Changed)
	}
}

// TestRecordOfAnotherProgram: a server whose record says nothing that can be read is mounted once it was removed.
func TestRecordOfAnotherProgram(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil)
	whole, err := os.ReadFile(h.path)
	check.OK(t, err)
	record := core.Record{
		Owner: recordOwner,
		Key:   "odd",
		Doc:   []byte(`{"tools": 7}`),
	}
	check.OK(t, h.records.PutRecords(t.Context(), &record))
	p := h.start()
	if s := p.statusOf("odd"); s.State != StateUnusable || !strings.Contains(s.Problem, "remove the server and add it again") {
		t.Errorf("the server is %s: %s", s.State, s.Problem)
	}
	check.OK(t, os.WriteFile(h.path, []byte(`{"mcpServers": {}}`), 0o600))
	p.await("the server is removed", func() bool { all, _ := p.room.Status(); return len(all) == 0 })
	check.OK(t, os.WriteFile(h.path, whole, 0o600))
	p.awaitTools("odd_read")
}
