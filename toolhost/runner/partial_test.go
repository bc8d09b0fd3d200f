package runner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// TestPartial: while files are left to be loaded, the list says so, and the call of an unknown tool waits. Calls of
// others do not.
func TestPartial(t *testing.T) {
	t.Parallel()
	l, _ := loaderOf(t)
	l.longest = 0 // one file at a time
	for i := range 3 {
		l.put(t, fmt.Sprintf("t%d.ts", i), toolFile(fmt.Sprintf("t%d", i), "T", "return args;"))
	}
	s := httptest.NewServer(newServer(l).routes())
	defer s.Close()
	list := func() (n int, loading bool) {
		res, err := http.Get(s.URL + api.PathTools)
		check.OK(t, err)
		check.OK(t, res.Body.Close())
		all, _, _ := l.shown.list(t.Context())
		for _, d := range all {
			if d.File != "" {
				n++
			}
		}
		return n, res.Header.Get(api.HeaderLoading) != ""
	}
	if more := l.load(); !more {
		t.Error("all are loaded at once")
	}
	if n, loading := list(); n != 1 || !loading {
		t.Errorf("%d tools, loading: %t", n, loading)
	}
	call := func(tool string) string {
		res, err := http.Post(s.URL+api.PathCall, "application/json", strings.NewReader(`{"tool":"`+tool+`","args":{"a":1}}`))
		check.OK(t, err)
		defer func() { _ = res.Body.Close() }()
		b := make([]byte, 300)
		n, _ := res.Body.Read(b)
		return string(b[:n])
	}
	if got := call("t0"); !strings.Contains(got, `{"a":1}`) {
		t.Errorf("a loaded tool: %s", got)
	}
	last := make(chan string, 1)
	go func() { last <- call("t2") }()
	for l.load() {
		if len(last) > 0 {
			t.Error("the call does not wait")
		}
	}
	if got := <-last; !strings.Contains(got, `{"a":1}`) {
		t.Errorf("a tool that is loaded last: %s", got)
	}
	if n, loading := list(); n != 3 || loading {
		t.Errorf("%d tools, loading: %t", n, loading)
	}
}

// TestForget: DELETE tells whether there is such a tool, and who deletes it.
func TestForget(t *testing.T) {
	t.Parallel()
	l, _ := loaderOf(t)
	for _, name := range []string{"stays", "gone"} {
		l.put(t, name+".ts", toolFile(name, "T", ""))
	}
	l.loadAll()
	check.OK(t, os.Remove(filepath.Join(l.dir, "gone.ts")))
	routes := newServer(l).routes()
	for _, c := range [][2]string{
		{"gone", `200 {"success":true}`},
		{"gone", `404 {"success":false,"error":"there is no tool \"gone\""}`},
		{"stays", `409 {"success":false,"error":"a file in the tools directory still defines \"stays\""}`},
		{"hello_world", `409 {"success":false,"error":"\"hello_world\" is built in; the gateway deletes it"}`},
	} {
		name, want := c[0], c[1]
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodDelete, api.PathTools+"/"+name, nil))
		if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestSummary: all files are named, however many there are.
func TestSummary(t *testing.T) {
	t.Parallel()
	var problems []api.Problem
	for i := range 250 {
		problems = append(problems, api.Problem{File: fmt.Sprintf("f%d.ts", i), Text: fmt.Sprintf("f%d.ts:1:1: no", i)})
	}
	for n, want := range map[int]string{0: "", 1: "f0.ts:1:1: no", 2: "f0.ts:1:1: no; f1.ts:1:1: no"} {
		if got := summary(problems[:n]); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if got := summary(problems[:9]); !strings.HasSuffix(got, "f4.ts:1:1: no; also not loaded: f5.ts, f6.ts, f7.ts, f8.ts") {
		t.Error(got)
	}
	if got := summary(problems); !strings.HasSuffix(got, ", f104.ts and 145 more") {
		t.Error(got)
	}
}

// TestHeaders: an x-mcp-header that clients over HTTP refuse is refused when the tool is made.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for properties, says := range map[string]string{
		`"a":{"type":"string"}`: "",
		`"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"integer","x-mcp-header":"B"}`: "",
		`"a":{"type":"string","x-mcp-header":"a b"}`:                                              "not the name",
		`"a":{"type":"string","x-mcp-header":""}`:                                                 "not the name",
		`"a":{"type":"string","x-mcp-header":7}`:                                                  "not the name",
		`"a":{"type":"number","x-mcp-header":"A"}`:                                                "only a string",
		`"a":{"x-mcp-header":"A"}`:                                                                "only a string",
		`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}`:       "already",
		`"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"a\n"}}}`:         "/properties/a/properties/b",
	} {
		err := checkHeaders([]byte(`{"type":"object","properties":{` + properties + `}}`))
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", properties, err)
		}
	}
}
