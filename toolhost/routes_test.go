package toolhost

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/toolhost/api"
)

// ask sends a request to the paths of the tool host.
func (r *running) ask(method, path, body string) (status int, answer string) {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.Handler(r.registry).ServeHTTP(w, httptest.NewRequestWithContext(r.t.Context(), method, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// plans are the rights of a gateway with the mode plan and a channel that may do everything.
type plans struct{}

func (plans) HasRule(core.ChannelKey, string) bool { return false }
func (plans) View(core.ChannelKey) tools.View      { return tools.View{} }
func (plans) Mode(core.ChannelKey) string          { return "plan" }
func (plans) OwnModes() map[core.ChannelKey]string {
	return map[core.ChannelKey]string{"boss": "bypassPermissions"}
}

// TestCallsOverTheSocket has a tool made for all channels by a request over the gateway's socket, which
// claude's own commands reach, and by one of the user.
func TestCallsOverTheSocket(t *testing.T) {
	t.Parallel()
	r := prepareFor(t, plans{})
	r.settle()
	for _, c := range []struct {
		ctx  context.Context
		says string
	}{
		{core.WithLocal(t.Context()), "is refused: it concerns all channels; a call that does not come from a session"},
		{t.Context(), "created successfully"},
	} {
		w := httptest.NewRecorder()
		body := `{"tool":"dynamic_tool_create","args":{"name":"made","description":"d","schema":{"type":"object"},"code":"return 1"}}`
		r.Handler(r.registry).ServeHTTP(w, httptest.NewRequestWithContext(c.ctx, "POST", api.PathCall, strings.NewReader(body)))
		if !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("got %d %s, want %q in it", w.Code, w.Body, c.says)
		}
	}
}

// TestRoutes holds the shapes of the six paths.
func TestRoutes(t *testing.T) {
	t.Parallel()
	r := prepare(t)
	for _, request := range []string{"GET /health", "GET /tools", "POST /call", "POST /reload", "POST /shutdown", "DELETE /tools/x"} {
		method, path, _ := strings.Cut(request, " ")
		if status, answer := r.ask(method, path, ""); status != http.StatusServiceUnavailable || !strings.Contains(answer, `"error":"The tool host is starting."`) {
			t.Errorf("%s before the start: %d %s", request, status, answer)
		}
	}
	r.write("mine.ts", file("mine", "Mine", "if (args.fail) throw new Error('Something went wrong'); return { got: args };"))
	r.run()
	<-r.Settled()
	for _, c := range []struct {
		golden, method, path, body string
		status                     int
	}{
		{"health.json", "GET", "/health", "", 200},
		{"call.json", "POST", "/call", `{"tool":"mine","args":{"a":"<&"}}`, 200},
		{"call_text.json", "POST", "/call", `{"tool":"dynamic_tool_create","args":{"name":"made","description":"d","schema":{"type":"object"},"code":"return '<made>'"}}`, 200},
		{"call_error.json", "POST", "/call", `{"tool":"mine","args":{"fail":true}}`, 200},
		{"call_unknown.json", "POST", "/call", `{"tool":"none"}`, 200},
		{"call_foreign.json", "POST", "/call", `{"tool":"worker_status"}`, 200},
		{"call_no_tool.json", "POST", "/call", `{}`, 400},
		{"call_no_json.json", "POST", "/call", `{`, 400},
		{"delete.json", "DELETE", "/tools/mine", "", 200},
		{"delete_unknown.json", "DELETE", "/tools/mine", "", 400},
		{"delete_protected.json", "DELETE", "/tools/hello_world", "", 400},
		{"delete_foreign.json", "DELETE", "/tools/worker_status", "", 400},
	} {
		status, answer := r.ask(c.method, c.path, c.body)
		if status != c.status {
			t.Errorf("%s %s %s: status %d, want %d", c.method, c.path, c.body, status, c.status)
		}
		golden(t, c.golden, answer)
	}
	r.listsTools()
	r.shutsDown()
}

// listsTools holds the answers that name all tools.
func (r *running) listsTools() {
	r.t.Helper()
	_, answer := r.ask("GET", "/tools", "")
	var list []map[string]any
	check.OK(r.t, json.Unmarshal([]byte(answer), &list))
	var names []string
	for _, tool := range list {
		names = append(names, tool["name"].(string))
		if schema, ok := tool["inputSchema"].(map[string]any); !ok || schema["type"] != "object" || tool["description"] == "" {
			r.t.Errorf("%v has no schema or description", tool)
		}
		if tool["name"] == api.CreateTool && !strings.HasPrefix(tool["description"].(string), "Make a tool") {
			r.t.Errorf("%v", tool["description"])
		}
	}
	status, answer := r.ask("POST", "/reload", "")
	var reloaded api.Reloaded
	check.OK(r.t, json.Unmarshal([]byte(answer), &reloaded))
	if status != 200 || !reloaded.Success || strings.Join(reloaded.Loaded, " ") != strings.Join(names, " ") {
		r.t.Errorf("reload answers %d %s; the tools are %v", status, answer, names)
	}
}

// shutsDown holds that /shutdown restarts the tool host, soon and without counting a crash.
func (r *running) shutsDown() {
	r.t.Helper()
	before := r.now().PID
	status, answer := r.ask("POST", "/shutdown", "")
	if status != 200 || answer != "{\"success\":true}\n" {
		r.t.Errorf("shutdown answers %d %s", status, answer)
	}
	r.eventually("a new process", func() bool { s := r.now(); return s.Healthy && s.PID != before })
	if s := r.now(); s.RestartCount != 0 {
		r.t.Errorf("the state is %+v", s)
	}
}
