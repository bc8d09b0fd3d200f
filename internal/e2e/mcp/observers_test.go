package mcp

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// leakyApp returns the address of a web app that shows a password.
func leakyApp(t *testing.T) string {
	t.Helper()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id": 1, "password": "correct horse battery"}`)
	}))
	t.Cleanup(app.Close)
	return app.URL
}

// An inspection is the official inspector at a server.
type inspection struct {
	run     func(args ...string) string
	schemas map[string]json.RawMessage // of results, by tool
}

// decodeFirst reads the document that the inspector has printed, after which it may say more.
func decodeFirst(said string, into any) error {
	return json.NewDecoder(strings.NewReader(said)).Decode(into)
}

// newInspection asks a server for its tools.
func newInspection(t *testing.T, run func(args ...string) string) *inspection {
	t.Helper()
	var list struct {
		Tools []struct {
			Name         string          `json:"name"`
			OutputSchema json.RawMessage `json:"outputSchema"`
		} `json:"tools"`
	}
	check.OK(t, decodeFirst(run("--method", "tools/list"), &list))
	i := &inspection{
		run:     run,
		schemas: map[string]json.RawMessage{},
	}
	for _, tool := range list.Tools {
		i.schemas[tool.Name] = tool.OutputSchema
	}
	return i
}

// call calls a tool and reads what it returns for programs, which fits its schema. Its text is not empty.
func (i *inspection) call(t *testing.T, tool string, into any, args ...string) {
	t.Helper()
	asked := []string{"--method", "tools/call", "--tool-name", tool}
	for _, a := range args {
		asked = append(asked, "--tool-arg", a)
	}
	said := i.run(asked...)
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
	}
	check.OK(t, decodeFirst(said, &result))
	if result.IsError || len(result.Content) == 0 || result.Content[0].Type != "text" || result.Content[0].Text == "" {
		t.Errorf("%s: %s", tool, said)
	}
	if schema, isListed := i.schemas[tool]; !isListed {
		t.Errorf("%s is not listed", tool)
	} else if len(schema) > 0 {
		check.OK(t, tools.NewOutputSchema(schema).Check(t.Context(), tool, result.StructuredContent))
	}
	if strings.Contains(said, "correct horse") {
		t.Errorf("%s shows the password: %s", tool, said)
	}
	if err := json.Unmarshal(result.StructuredContent, into); err != nil {
		t.Fatalf("%s: %v: %s", tool, err, said)
	}
}

// prompt returns the text of a prompt.
func (i *inspection) prompt(t *testing.T, args ...string) string {
	t.Helper()
	var got struct {
		Messages []struct {
			Role    string `json:"role"`
			Content struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
	}
	said := i.run(append([]string{"--method", "prompts/get"}, args...)...)
	check.OK(t, decodeFirst(said, &got))
	if len(got.Messages) != 1 || got.Messages[0].Role != "user" || got.Messages[0].Content.Type != "text" {
		t.Fatalf("prompts/get: %s", said)
	}
	return got.Messages[0].Content.Text
}

// TestInspectorOnObservers: the official inspector calls the tools about an observed app and gets their prompts.
func TestInspectorOnObservers(t *testing.T) {
	modules, node := suites(t)
	m, g := harness.Started(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	settle(m)
	socket := g.OverSocket()
	posted := socket.Must("POST", "/observers", harness.Obj{"dir": m.Path("work"), "target": leakyApp(t)}, 201)
	id := posted.Str("id")
	t.Cleanup(func() { socket.Must("DELETE", "/observers/"+id, nil, 200) })
	i := newInspection(t, func(args ...string) string {
		launcher := filepath.Join(modules, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
		target := []string{launcher, "--cli", g.Base + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + harness.Token}
		return runNode(t, m.Env, node, slices.Concat(target, args)...)
	})
	visit := func() bool {
		answer, err := http.Get(posted.Str("address") + "/users/1")
		check.OK(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		check.OK(t, err)
		check.OK(t, answer.Body.Close())
		return answer.StatusCode == http.StatusOK
	}
	g.Eventually("the app is found", visit)
	g.Eventually("the problem is found", func() bool {
		return strings.Contains(string(socket.Must("GET", "/observers/"+id+"/api/findings", nil, 200).Body), "exposed-secret")
	})

	var found struct {
		Total    int `json:"total"`
		Findings []struct {
			ID       string `json:"id"`
			Rule     string `json:"rule"`
			Endpoint string `json:"endpoint"`
		} `json:"findings"`
	}
	i.call(t, "get_findings", &found, "severity=critical")
	if found.Total != 1 || len(found.Findings) != 1 || found.Findings[0].Rule != "exposed-secret" || found.Findings[0].Endpoint != "GET /users/:id" {
		t.Fatalf("found is %+v", found)
	}
	var endpoints struct {
		Endpoints []struct {
			Endpoint string `json:"endpoint"`
		} `json:"endpoints"`
	}
	i.call(t, "get_endpoints", &endpoints)
	if len(endpoints.Endpoints) != 1 || endpoints.Endpoints[0].Endpoint != "GET /users/:id" {
		t.Errorf("endpoints are %+v", endpoints)
	}
	var detail json.RawMessage
	i.call(t, "get_request_detail", &detail, "endpoint=GET /users/:id")
	if !strings.Contains(string(detail), "[masked:21]") || !strings.Contains(string(detail), "/users/1") {
		t.Errorf("the request is %s", detail)
	}
	var judged struct {
		Replayed int `json:"replayed"`
		Findings []struct {
			Verdict string `json:"verdict"`
		} `json:"findings"`
	}
	i.call(t, "verify_fix", &judged, "finding_id="+found.Findings[0].ID, "replay=true")
	if judged.Replayed == 0 || len(judged.Findings) != 1 || judged.Findings[0].Verdict != "still_present" {
		t.Errorf("the verdict is %+v", judged)
	}
	var report struct {
		Open     map[string]int `json:"open"`
		Critical []struct {
			ID string `json:"id"`
		} `json:"critical"`
	}
	i.call(t, "get_report", &report)
	if report.Open["critical"] != 1 || len(report.Critical) != 1 || report.Critical[0].ID != found.Findings[0].ID {
		t.Errorf("the report is %+v", report)
	}
	if text := i.prompt(t, "--prompt-name", "check-app"); !strings.Contains(text, "get_findings") {
		t.Errorf("check-app is %q", text)
	}
	if text := i.prompt(t, "--prompt-name", "fix-findings", "--prompt-args", "findings="+found.Findings[0].ID); !strings.Contains(text, found.Findings[0].ID) {
		t.Errorf("fix-findings is %q", text)
	}
}
