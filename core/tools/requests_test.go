package tools_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/mcpservers"
	"bareclaw/toolhost"
)

// A request is a query with the tools that are right for it, any of which counts.
type request struct {
	query string
	tools []string
}

// requests returns the requests of testdata in the words of people, and as queries of a model.
func requests(t *testing.T) (people, models []request) {
	t.Helper()
	content, err := os.ReadFile("testdata/requests.txt")
	check.OK(t, err)
	for line := range strings.Lines(string(content)) {
		both, names, isRequest := strings.Cut(line, " = ")
		if !isRequest {
			continue
		}
		words, query, _ := strings.Cut(both, " | ")
		people = append(people, request{words, strings.Fields(names)})
		models = append(models, request{query, strings.Fields(names)})
	}
	return people, models
}

// mounted returns the recorded tools of a server, with the names that they have if it is mounted.
func mounted(t *testing.T, server string) tools.Source {
	t.Helper()
	var all []tools.Tool
	for _, listed := range mcpservers.Recorded(t, server) {
		name := listed.Name
		if !strings.HasPrefix(name, server+"_") {
			name = server + "_" + name
		}
		all = append(all, tools.Tool{
			Name:        name,
			Description: listed.Description,
			Input:       listed.InputSchema,
			Handle:      unused,
		})
	}
	return tools.Fixed(server, all...)
}

func unused(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil }

// TestSearchFindsMountedTools measures the search by requests, over the program's tools and those of
// mounted servers. Models search, and name what a tool does. In the words of people one request in seven has
// no word of a right tool, and cannot find it.
func TestSearchFindsMountedTools(t *testing.T) {
	t.Parallel()
	keeper := toolhost.New(toolhost.Options{
		ToolsDir: t.TempDir(),
		Log:      slog.New(slog.DiscardHandler),
	})
	sources := append(ownTools(), keeper.Sources()...)
	for _, server := range mcpservers.Names() {
		sources = append(sources, mounted(t, server))
	}
	people, models := requests(t)
	if len(people) != 200 {
		t.Errorf("%d requests", len(people))
	}
	wantRecall(t, sources, people, 0.64)
	wantRecall(t, sources, models, 0.95)
}
