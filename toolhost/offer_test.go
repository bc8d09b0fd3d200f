package toolhost

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/socketpair"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/wait"
	"bareclaw/toolhost/api"
)

// A listed is a list of tools as a tool host gives it.
type listed struct {
	names   string
	partial bool
}

// hostWith returns a tool host that gives the list that now has.
func hostWith(t *testing.T, now *atomic.Pointer[listed]) *child {
	t.Helper()
	conns, err := connect()
	check.OK(t, err)
	m := http.NewServeMux()
	m.HandleFunc("GET "+api.PathTools, func(w http.ResponseWriter, _ *http.Request) {
		l, all := now.Load(), []api.Tool{}
		for name := range strings.FieldsSeq(l.names) {
			all = append(all, api.Tool{Tool: tools.Tool{Name: name, Input: json.RawMessage(`{"type":"object"}`)}, File: name + ".ts"})
		}
		w.Header().Set("ETag", `"`+l.names+`"`)
		if l.partial {
			w.Header().Set(api.HeaderLoading, "true")
		}
		api.Write(w, http.StatusOK, all)
	})
	s := api.NewServer(m, slog.New(slog.DiscardHandler))
	for _, f := range conns.inherited[:2] {
		conn, err := socketpair.Conn(f)
		check.OK(t, err)
		go func() { _ = api.Serve(s, conn) }() // ends with the connection
	}
	c, err := newClient(conns.calls, conns.control)
	check.OK(t, err)
	t.Cleanup(func() {
		c.close()
		conns.close()
		_ = s.Close()
	})
	return &child{client: c}
}

// TestLoaded: the first tools are loaded once all of them are offered, whoever hears of each change.
func TestLoaded(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[listed]
	host := hostWith(t, &now)
	o := newOffer(newState())
	var early, late []string // the tools that were told before, and after
	_, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{o.builtin, o.dynamic},
		Changed: func(u core.Update) {
			if wait.IsClosed(o.whole) {
				late = append(late, u.Tool.Tool)
			} else {
				early = append(early, u.Tool.Tool)
			}
		},
	})
	check.OK(t, err)
	for _, l := range []listed{{"a", true}, {"a b", true}, {"a b c", false}, {"a b c d", false}, {"a", true}, {"a b c", false}} {
		now.Store(&l)
		check.OK(t, o.refresh(t.Context(), host))
	}
	if got := strings.Join(early, " "); got != "a b c" {
		t.Errorf("told before: %q", got)
	}
	if got := strings.Join(late, " "); got != "d d" { // which came, and went
		t.Errorf("told after: %q", got)
	}
}

// TestPartialList: while files are left to be loaded, tools of before stay, and who calls an unknown one waits until
// that is known, or all are.
func TestPartialList(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[listed]
	host := hostWith(t, &now)
	o := newOffer(newState())
	registry, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{o.builtin, o.dynamic},
	})
	check.OK(t, err)
	step := func(names string, partial bool, want string) {
		t.Helper()
		now.Store(&listed{names, partial})
		check.OK(t, o.refresh(t.Context(), host))
		var got []string
		for _, tool := range registry.List(tools.View{}) {
			got = append(got, tool.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("after %q the tools are %v, want %s", names, got, want)
		}
	}
	step("a b", false, "a b")
	step("a", true, "a b")
	check.OK(t, o.await(t.Context(), "b"))
	known := make(chan error, 2)
	go func() { known <- o.await(t.Context(), "c") }()
	step("a c", true, "a b c")
	check.OK(t, <-known)
	go func() { known <- o.await(t.Context(), "none") }()
	go func() { known <- o.await(t.Context(), "") }()
	step("a c", false, "a c")
	check.OK(t, <-known)
	check.OK(t, <-known)
	if f := o.fileOf("b"); f != "b.ts" || o.gone["b"] != "b.ts" {
		t.Errorf("b is gone with %s, %v", f, o.gone)
	}
}
