package mounts

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/oddserver"
)

// TestFaultsInCalls: whatever a server does in a call, the caller hears one outcome, and the next call works.
func TestFaultsInCalls(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", func(s *Server) { s.Allow = []string{"*"} })
	h.mount("hasty", func(s *Server) { s.Allow = []string{"*"}; s.Timeout = Duration(10 * time.Second) })
	p := h.start()
	p.awaitTools("odd_act", "hasty_act")
	for _, c := range []struct {
		args oddserver.Args
		want string // in the result
		ok   bool
	}{
		{oddserver.Args{Action: "fail", Text: "no such thing"}, "no such thing", false},
		{oddserver.Args{Action: "refuse", Text: "bad arguments"}, "bad arguments", false},
		{oddserver.Args{Action: "die"}, "whether it was carried out is not known", false},
		{oddserver.Args{Action: "half"}, "whether it was carried out is not known", false},
		{oddserver.Args{Action: "twice", Text: "once"}, "once", true},
		{oddserver.Args{Action: "stranger", Text: "mine"}, "mine", true},
		{oddserver.Args{Action: "rubbish", Text: "after all"}, "after all", true},
		{oddserver.Args{Action: "stderr", Bytes: 4 << 20, Text: "said"}, "said", true},
		{oddserver.Args{Action: "big", Bytes: 100 << 20}, "more than 16 MiB", false},
		{oddserver.Args{Action: "resource", Text: "report"}, "[file:///report.txt]\nreport", true},
		{oddserver.Args{Action: "unknown", Text: "x"}, "", false},
		{oddserver.Args{Action: "shapeless", Text: "x"}, "", false},
	} {
		text, failed := p.call("odd_act", c.args)
		if failed == c.ok || !strings.Contains(text, c.want) {
			t.Errorf("%s says %.300q, failed: %t", c.args.Action, text, failed)
		}
		if text, failed := p.call("odd_act", oddserver.Args{Text: "well"}); failed || text != "well" {
			t.Errorf("after %s the tool says %q", c.args.Action, text)
		}
	}
	if text, failed := p.call("hasty_act", oddserver.Args{Action: "hang"}); !failed || !strings.Contains(text, "did not answer within 10s") {
		t.Errorf("hang says %q, failed: %t", text, failed)
	}
	if text, failed := p.call("hasty_read", oddserver.Args{Text: "well"}); failed || text != "well" {
		t.Errorf("after hang the tool says %q", text)
	}
}

// TestCutCallRunsOnceMore: a call that its server's death has cut runs again if it changes nothing or may be
// repeated, and never otherwise.
func TestCutCallRunsOnceMore(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", func(s *Server) { s.Allow = []string{"*"} })
	p := h.start()
	p.awaitTools("odd_act")
	for name, runs := range map[string]int{"read": 2, "set": 2, "act": 1, "destroy": 1} {
		ran := filepath.Join(h.dir, name+"-ran")
		text, failed := p.call("odd_"+name, oddserver.Args{Action: "die", Text: "ran", Log: ran, Once: filepath.Join(h.dir, name+"-once")})
		lines, err := os.ReadFile(ran)
		check.OK(t, err)
		if got := strings.Count(string(lines), "ran\n"); got != runs || failed != (runs == 1) {
			t.Errorf("%s ran %d times, and says %q", name, got, text)
		}
	}
}

// TestFaultsAtStart: a server that does not start is told, and delays nobody.
func TestFaultsAtStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("good", nil)
	h.mount("missing", func(s *Server) { s.Command = "no-such-program" })
	h.mount("exits", nil, "exit=3")
	h.mount("rubbish", nil, "rubbish")
	h.mount("old", nil, "protocol=1999-01-01")
	h.mount("endless", nil, "endless")
	h.mount("variable", func(s *Server) { s.Env = map[string]string{"TOKEN": "${NOBODY_SETS_THIS}"} })
	h.mount("malformed", nil, "malformed")
	h.mount("greets", nil, "greet", "stderr=200000")
	h.mount("echoes", func(s *Server) { s.Command, s.Args = "cat", nil })
	h.mount("prints", func(s *Server) { s.Command, s.Args = "echo", []string{"hello."} })
	h.mount("nowhere", func(s *Server) { s.CWD = "/no/such/directory" })
	h.mount("directory", func(s *Server) { s.Command = h.dir })
	h.mount("text", func(s *Server) { s.Command = h.path })
	h.mount("npm", func(s *Server) {
		s.Command = "sh"
		s.Args = []string{"-c", "for line in E404 second third fourth fifth sixth; do echo $line >&2; done; exit 1"}
	})
	h.mount("itself", func(s *Server) { s.Command, s.Args, s.URL = "", nil, "http://localhost:3000/mcp" })
	h.gateway = Gateway{Host: "127.0.0.1", Port: 3000}
	p := h.start()
	if s := p.statusOf("itself"); s.State != StateUnusable || !strings.Contains(s.Problem, `server "itself": it is this gateway itself`) {
		t.Errorf("the gateway itself is %+v", s)
	}
	p.awaitTools("good_read", "greets_read")
	for name, want := range map[string]string{
		"missing":   `there is no program "no-such-program" in the PATH`,
		"exits":     "cannot start: no token",
		"old":       "1999-01-01",
		"malformed": "list its tools",
		"endless":   "more than 2000 tools",
		"variable":  "NOBODY_SETS_THIS",
		"echoes":    "sends back what it is sent, and does not answer as an MCP server: check the command",
		"prints":    "the server has ended, and does not answer as an MCP server: check the command and its arguments; it has said: hello.",
		"nowhere":   `cwd: there is no directory "/no/such/directory"`,
		"directory": "is a directory, not a program",
		"text":      "make it executable with chmod +x",
		"npm":       "it has said: E404 / second / … / fourth / fifth / sixth",
	} {
		p.await(name+" is told", func() bool { return strings.Contains(p.statusOf(name).Problem, want) })
		if s := p.statusOf(name); s.State != StateFailing || s.Failures == 0 {
			t.Errorf("%s is %+v", name, s)
		}
		if why := p.room.WhyMissing(name + "_read"); !strings.Contains(why, want) {
			t.Errorf("a call of a tool of %s says %q", name, why)
		}
	}
}

// TestBadLists: of what a server lists, that is offered which clients take.
func TestBadLists(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil, "refused")
	h.mount("many", nil, "tools=1000", "page=90")
	p := h.start()
	p.awaitTools("many_tool_999", "odd_read", "odd_controls", "odd_twice", "odd_schema_pattern")
	s := p.statusOf("odd")
	if s.Asks >= s.Tools { // odd_read does not ask
		t.Errorf("of %d tools %d ask", s.Tools, s.Asks)
	}
	left := strings.Join(s.LeftOut, "\n")
	for _, name := range []string{"schema_of_text", "schema_without_type", "schema_null", "schema_list", "name with spaces", "no_schema"} {
		if _, known := p.registry.Find("odd_" + name); known || !strings.Contains(left, name) {
			t.Errorf("%s is offered: %t; left out are\n%s", name, known, left)
		}
	}
	if _, known := p.registry.Find("odd_header_twice"); known { // the SDK's client leaves it out
		t.Error("a tool is offered whose annotations are refused")
	}
	controls, _ := p.registry.Find("odd_controls")
	if strings.ContainsAny(controls.Description, "\a\x1b\u202e\u202c") || !strings.HasPrefix(controls.Description, "(The words of the mounted server odd:) ") {
		t.Errorf("the description is %q", controls.Description)
	}
	if n := strings.Count(left, "another one of the server has its name for Claude"); n != 2 {
		t.Errorf("of two names with two tools each %d are told:\n%s", n, left)
	}
}

// TestLongResultBecomesFile: what claude cannot read at once is in a file, whose beginning is shown.
func TestLongResultBecomesFile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil)
	p := h.start()
	p.awaitTools("odd_read")
	text, failed := p.call("odd_read", oddserver.Args{Action: "big", Bytes: 200_000})
	_, path, found := strings.Cut(text, "which are in the file ")
	path, _, _ = strings.Cut(path, ". Its beginning:")
	if failed || !found || len(text) > 3000 {
		t.Fatalf("the tool says %.300q", text)
	}
	whole, err := os.ReadFile(path)
	check.OK(t, err)
	if len(whole) < 200_000 {
		t.Errorf("the file has %d bytes", len(whole))
	}
	check.OK(t, os.Chtimes(path, time.Time{}, time.Now().Add(-filesKept-time.Hour)))
	p.room.results.sweep()
	if _, err := os.Stat(path); err == nil {
		t.Error("the file stays for ever")
	}
}

// TestAddressesOfOthers: what answers at a URL, and is no MCP server, is told so.
func TestAddressesOfOthers(t *testing.T) {
	t.Parallel()
	for words, answer := range map[string]http.HandlerFunc{
		`answers with "text/html"`: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html><body>Welcome</body></html>"))
		},
		"404 Not Found":          http.NotFound,
		"405 Method Not Allowed": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"JSON of another kind": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"status":"ok"}`))
		},
	} {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		h := newHouse(t)
		h.mountURL("web", server.URL, nil)
		p := h.start()
		p.await(words, func() bool { return p.statusOf("web").Problem != "" })
		problem := p.statusOf("web").Problem
		if !strings.Contains(problem, words) || strings.Count(problem, "does not answer as an MCP server: check the URL") != 1 {
			t.Errorf("%s: the problem is %q", words, problem)
		}
	}
}

// TestLoginIsRefused: a server that wants a login is told with what to do.
func TestLoginIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	h := newHouse(t)
	h.mount("login", func(s *Server) { s.Command, s.Args, s.URL = "", nil, server.URL })
	p := h.start()
	p.await("the login is told", func() bool { return strings.Contains(p.statusOf("login").Problem, "OAuth") })
}
