package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

func toolFile(name, description, body string) []byte {
	return fmt.Appendf(nil, "export const tool = { name: %q, description: %q, schema: { type: 'object' }, async handler(args) { %s } };", name, description, body)
}

// loaderOf returns a loader for a new directory, without its watcher, and the log.
func loaderOf(t *testing.T) (*loader, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	l := newLoader(api.Bootstrap{ToolsDir: t.TempDir(), Reserved: []string{"worker_status"}}, nil, slog.New(slog.NewTextHandler(&b, nil)), func(tool string, _ api.File) { t.Errorf("%s is stuck", tool) })
	return l, &b
}

func (l *loader) problem() string {
	problems, _ := l.shown.state()
	return summary(problems)
}

func (l *loader) put(t *testing.T, name string, contents []byte) {
	t.Helper()
	check.OK(t, os.WriteFile(filepath.Join(l.dir, name), contents, 0o600))
}

// TestLoad: each load makes the tools what the files are, without any event; what was loaded stays
// if a file or the whole directory cannot be read.
func TestLoad(t *testing.T) {
	t.Parallel()
	l, log := loaderOf(t)
	step := func(what string, want string, problem string) {
		t.Helper()
		l.load()
		var dynamic []string
		list, _, _ := l.shown.list(t.Context())
		for _, d := range list {
			if d.File != "" {
				dynamic = append(dynamic, d.Name+"="+d.Description)
			}
		}
		if got := strings.Join(dynamic, " "); got != want || !strings.Contains(l.problem(), problem) || (problem == "") != (l.problem() == "") {
			t.Errorf("%s: %s (%s), want %s (%s)", what, got, l.problem(), want, problem)
		}
	}
	step("nothing", "", "")
	_, empty, _ := l.shown.list(t.Context())
	l.put(t, "a.ts", toolFile("a", "one", ""))
	step("a file", "a=one", "")
	l.put(t, "a.ts", toolFile("a", "two", ""))
	step("changed", "a=two", "")
	l.put(t, "a.ts", []byte("const"))
	step("broken", "a=two", "a.ts:1:")
	step("still broken", "a=two", "a.ts:1:")
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("the same problem is logged %d times", n)
	}
	l.put(t, "a.ts", toolFile("a", "two", ""))
	step("taken back", "a=two", "")
	l.put(t, "b.ts", toolFile("worker_status", "Mine", ""))
	step("a reserved name", "a=two", "b.ts: the name \"worker_status\" is reserved")
	l.put(t, "b.ts", toolFile("a", "Mine", ""))
	step("the same name", "a=two", `b.ts: a.ts defines the tool "a" already`)
	check.OK(t, os.Rename(l.dir, l.dir+"2"))
	step("no directory", "a=two", "read the tools directory")
	check.OK(t, os.Rename(l.dir+"2", l.dir))
	check.OK(t, os.Remove(filepath.Join(l.dir, "a.ts")))
	step("the first file gone", "a=Mine", "")
	check.OK(t, os.Remove(filepath.Join(l.dir, "b.ts")))
	step("all gone", "", "")
	if _, version, _ := l.shown.list(t.Context()); version != empty {
		t.Errorf("the version of nothing is %s, and was %s", version, empty)
	}
}

// TestDeletedList: built-in tools that the list names are gone, also if a person has written it.
func TestDeletedList(t *testing.T) {
	t.Parallel()
	l, _ := loaderOf(t)
	l.load()
	before := len(l.registry.List(tools.View{}))
	l.put(t, api.DeletedFile, []byte("hash_text\r\n\n  regex_test \nnone\nhash_text"))
	l.load()
	if n := len(l.registry.List(tools.View{})); n != before-2 {
		t.Errorf("%d tools of %d", n, before)
	}
	check.OK(t, os.Remove(filepath.Join(l.dir, api.DeletedFile)))
	l.load()
	if n := len(l.registry.List(tools.View{})); n != before {
		t.Errorf("%d tools of %d", n, before)
	}
}

// TestWait: who has a list is answered when there is another one, or after some seconds, or when the
// process is to end.
func TestWait(t *testing.T) {
	t.Parallel()
	l, _ := loaderOf(t)
	l.load()
	_, version, _ := l.shown.list(t.Context())
	synctest.Test(t, func(t *testing.T) {
		l.shown.mu.Lock()
		l.shown.changed = make(chan struct{}) // of this bubble
		l.shown.mu.Unlock()
		s := newServer(l)
		ask := func(version, prefer string) (status int, took time.Duration) {
			began := time.Now()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, api.PathTools, nil)
			r.Header.Set("If-None-Match", version)
			r.Header.Set("Prefer", prefer)
			w := httptest.NewRecorder()
			s.routes().ServeHTTP(w, r)
			return w.Code, time.Since(began)
		}
		for _, c := range []struct {
			version, prefer string
			status          int
			took            time.Duration
		}{
			{`"other"`, "wait=30", 200, 0},
			{version, "wait=30", 304, 30 * time.Second},
			{version, "wait=-1", 304, 0},
			{version, "soon", 304, 0},
			{version, "", 304, 0},
		} {
			if status, took := ask(c.version, c.prefer); status != c.status || took != c.took {
				t.Errorf("%s %q: %d after %s", c.version, c.prefer, status, took)
			}
		}
		time.AfterFunc(time.Second, s.end)
		if status, took := ask(version, "wait=30"); status != 304 || took != time.Second {
			t.Errorf("at the end: %d after %s", status, took)
		}
	})
}

// A fragile handler panics once, at the first record with a message and a file of a name.
type fragile struct {
	slog.Handler
	message, file string
	once          *sync.Once
}

// Handle implements slog.Handler.
func (f fragile) Handle(ctx context.Context, r slog.Record) error {
	named := false
	r.Attrs(func(a slog.Attr) bool {
		named = named || a.Key == "file" && strings.Contains(a.Value.String(), f.file)
		return true
	})
	if named && r.Message == f.message {
		f.once.Do(func() { panic("a fault") })
	}
	return f.Handler.Handle(ctx, r)
}

// TestPanics: a fault in loading a file costs that file only, until it changes, and a fault in following the
// directory costs one look at it.
func TestPanics(t *testing.T) {
	t.Parallel()
	for message, problem := range map[string]string{api.MessageLoading: "bang.ts: internal error while loading a tool", "tool file gone": ""} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()
			l, log := loaderOf(t)
			l.log = slog.New(fragile{l.log.Handler(), message, "bang.ts", new(sync.Once)})
			l.put(t, "bang.ts", toolFile("bang", "Does", ""))
			l.put(t, "good.ts", toolFile("good", "Does", ""))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, err := watch(l.dir)
			check.OK(t, err)
			ended := make(chan struct{})
			go func() { defer close(ended); l.follow(ctx, w) }() // ends with ctx
			has := func(name string) bool { _, ok := l.registry.Find(name); return ok }
			check.Eventually(t, 20*time.Second, "the other file is loaded", func() bool { return has("good") && l.problem() == problem })
			check.OK(t, os.Remove(filepath.Join(l.dir, "bang.ts")))
			check.Eventually(t, 20*time.Second, "the file is gone", func() bool { return !has("bang") && l.problem() == "" })
			l.put(t, "new.ts", toolFile("new", "Does", ""))
			check.Eventually(t, 20*time.Second, "a new file is loaded", func() bool { return has("new") })
			cancel()
			<-ended
			if !strings.Contains(log.String(), "a fault") {
				t.Errorf("the panic is not logged:\n%s", log)
			}
		})
	}
}

// TestCheckTool: a tool is checked without being offered, and its file is what makes it.
func TestCheckTool(t *testing.T) {
	t.Parallel()
	l, _ := loaderOf(t)
	l.load()
	const args = `{"name":"made","description":"A 'quoted'\n*/ text","schema":{"type":"object","properties":{"a":{"type":"string"}}},"code":"return args.a + '</script>';"}`
	got, err := l.registry.Call(t.Context(), api.CreateTool, tools.Call{Args: json.RawMessage(args)})
	check.OK(t, err)
	var file api.NewFile
	check.OK(t, json.Unmarshal(got.Structured, &file))
	if _, ok := l.registry.Find("made"); ok {
		t.Error("the tool is offered before there is a file")
	}
	l.put(t, "made.ts", []byte(file.Source))
	l.load()
	if got, err := l.registry.Call(t.Context(), "made", tools.Call{Args: json.RawMessage(`{"a":"x"}`)}); err != nil || got.Text != "x</script>" {
		t.Errorf("%+v, %v, %s", got, err, l.problem())
	}
}
