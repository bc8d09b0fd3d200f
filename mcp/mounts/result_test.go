package mounts

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/oddserver"
)

// result calls a tool, and returns all of its result.
func (p *gatewayProcess) result(name string, args oddserver.Args) tools.Result {
	p.t.Helper()
	encoded, err := json.Marshal(args)
	check.OK(p.t, err)
	result, err := p.registry.Call(p.t.Context(), name, tools.Call{Args: encoded})
	check.OK(p.t, err)
	return result
}

// TestResults: what a server answers reaches the caller in its form.
func TestResults(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil)
	p := h.start()
	p.awaitTools("odd_read")
	for _, c := range []struct {
		args                    oddserver.Args
		text, structured, block string // what is in each
	}{
		{oddserver.Args{Action: "image", Bytes: 30, Text: "a picture"}, "a picture", "", `"mimeType":"image/png"`},
		{oddserver.Args{Action: "link", Text: "the report"}, "", "", `"uri":"file:///report.txt"`},
		{oddserver.Args{Action: "structured", Text: "whole"}, "", `{"text":"whole"}`, ""},
		{oddserver.Args{Action: "image", Bytes: 7 << 20, Text: "too large"}, "1 part is left out", "", ""},
	} {
		r := p.result("odd_read", c.args)
		blocks := ""
		for _, b := range r.Blocks {
			blocks += string(b)
		}
		if r.IsError || !strings.Contains(r.Text, c.text) || string(r.Structured) != c.structured || !strings.Contains(blocks, c.block) {
			t.Errorf("%s returns %.200q, %s and %.200s", c.args.Action, r.Text, r.Structured, blocks)
		}
	}
}

// TestServersAskInVain: what servers ask of clients is refused.
func TestServersAskInVain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil)
	p := h.start()
	p.awaitTools("odd_read")
	for method, answer := range map[string]string{
		"sampling/createMessage": `"error"`,
		"elicitation/create":     `"error"`,
		"no/such/method":         `"error"`,
		"roots/list":             `"roots":[]`,
	} {
		if text, failed := p.call("odd_read", oddserver.Args{Action: "ask", Text: method}); failed || !strings.Contains(text, answer) {
			t.Errorf("%s is answered %s", method, text)
		}
	}
}

// TestAnswersOutOfOrder: each call has its own answer.
func TestAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mount("odd", nil)
	p := h.start()
	p.awaitTools("odd_read")
	began := filepath.Join(h.dir, "began")
	late := make(chan string, 1)
	go func() {
		text, _ := p.call("odd_read", oddserver.Args{Action: "late", Text: "first", Log: began})
		late <- text
	}()
	p.await("the server has the first call", func() bool {
		_, err := os.Stat(began)
		return err == nil
	})
	if text, _ := p.call("odd_read", oddserver.Args{Text: "second"}); text != "second" {
		t.Errorf("the second call says %q", text)
	}
	if text := <-late; text != "first" {
		t.Errorf("the first call says %q", text)
	}
}

// TestLongResultsHaveABound: the oldest files make room for new ones, and the newest one stays whatever it takes.
func TestLongResultsHaveABound(t *testing.T) {
	t.Parallel()
	store := &resultStore{
		dir: filepath.Join(t.TempDir(), "results"),
		log: slog.New(slog.DiscardHandler),
		max: 250,
	}
	kept := func(size int, age time.Duration) string {
		t.Helper()
		path, err := store.keep("read", ".txt", make([]byte, size))
		check.OK(t, err)
		at := time.Now().Add(-age)
		check.OK(t, os.Chtimes(path, at, at))
		return path
	}
	first := kept(100, 3*time.Hour)
	second := kept(100, 2*time.Hour)
	third := kept(100, time.Hour)
	want := func(stays ...string) {
		t.Helper()
		for _, path := range []string{first, second, third} {
			_, err := os.Stat(path)
			if (err == nil) != slices.Contains(stays, path) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	want(second, third)
	large := kept(1000, 0)
	want()
	if _, err := os.Stat(large); err != nil {
		t.Error(err)
	}
}
