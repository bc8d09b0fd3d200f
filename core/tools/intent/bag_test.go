package intent_test

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/core/tools/intent"
	"bareclaw/internal/testkit/check"
)

// A bag is what curate_tool_bag returns.
type bag struct {
	Tools []struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		Category    tools.Category `json:"category"`
		Schema      map[string]any `json:"inputSchema"`
	} `json:"tools"`
	Reason   string `json:"reason"`
	Excluded int    `json:"excludedCount"`
	Note     string `json:"note"`
}

func curated(t *testing.T, r *tools.Registry, request string) (b bag, names []string) {
	t.Helper()
	result := called(t, r, tools.View{}, intent.CurateName, request)
	if result.IsError {
		t.Fatalf("%s: %s", request, result.Text)
	}
	check.OK(t, json.Unmarshal(result.Structured, &b))
	for _, one := range b.Tools {
		names = append(names, one.Name)
	}
	return b, names
}

// TestCurate: a bag has the tools of its domain and those that check and make data, and none that is unrelated.
func TestCurate(t *testing.T) {
	t.Parallel()
	r := registry(t, realBrowser, realFiles, realGitHub)
	all := len(r.List(tools.View{}))
	for _, c := range []struct {
		request string
		has     string
		lacks   []tools.Category
		reason  string
	}{
		{
			request: `{"tool":"browser_click","args":{"target":"#a"}}`,
			has:     "browser_click browser_navigate browser_tabs browser_take_screenshot assert_equals",
			lacks:   []tools.Category{tools.GitHub, tools.Filesystem, tools.Orchestration},
			reason:  "A simple request, mainly of the domain browser: 25 of its 25 tools",
		},
		{
			request: `{"text":"Open an issue about the crash and create a pull request"}`,
			has:     "github_create_issue github_create_pull_request github_push_files assert_contains",
			lacks:   []tools.Category{tools.Browser, tools.Filesystem, tools.Orchestration},
			reason:  "mainly of the domain github",
		},
		{
			request: `{"text":"Compare the JSON documents and tell the people in the chat"}`,
			has:     "object_diff push_send assert_equals",
			lacks:   []tools.Category{tools.Browser, tools.GitHub, tools.Filesystem},
			reason:  "and what serves it of orchestration",
		},
	} {
		b, names := curated(t, r, c.request)
		if len(names) > intent.MaxBag || b.Excluded != all-len(names) || !strings.Contains(b.Reason, c.reason) {
			t.Errorf("%s: %d tools, %d others, %s", c.request, len(names), b.Excluded, b.Reason)
		}
		for _, name := range append(strings.Fields(c.has), tools.SearchName, tools.CallName) {
			if !slices.Contains(names, name) {
				t.Errorf("%s: the bag lacks %s: %v", c.request, name, names)
			}
		}
		for _, one := range b.Tools {
			if slices.Contains(c.lacks, one.Category) || one.Description == "" || one.Category == "" {
				t.Errorf("%s: the bag has %+v", c.request, one)
			}
		}
		if slices.Sort(names); len(slices.Compact(names)) != len(b.Tools) {
			t.Errorf("%s: the bag has a tool twice: %v", c.request, names)
		}
	}
}

// TestLargeDomain: of a domain with more tools than a bag those come first that suit the request.
func TestLargeDomain(t *testing.T) {
	t.Parallel()
	many := server{category: tools.Docker}
	for _, what := range []string{"start", "stop", "remove", "inspect", "list", "tag"} {
		for _, of := range []string{"container", "image", "volume", "network", "stack", "secret", "node", "service"} {
			many.names += " " + what + "_" + of
		}
	}
	b, names := curated(t, registry(t, many, realFiles), `{"text":"inspect the docker network"}`)
	if len(names) != intent.MaxBag {
		t.Errorf("the bag has %d tools", len(names))
	}
	if names[2] != "inspect_network" || !slices.Contains(names, "tag_network") || !slices.Contains(names, "assert_equals") {
		t.Errorf("the bag has %v", names)
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "filesystem_") }) {
		t.Errorf("the bag has unrelated tools: %v", names)
	}
	if b.Note != "" {
		t.Errorf("the bag is not whole: %s", b.Note)
	}
}

// TestLargeSchemas: schemas come as far as there is room, and a note says how to get the others.
func TestLargeSchemas(t *testing.T) {
	t.Parallel()
	large := realBrowser.tools(t)
	for i := range large {
		large[i].Input = json.RawMessage(`{"type":"object","title":"` + strings.Repeat("x", 3000) + `"}`)
	}
	dynamic := tools.NewList("dynamic")
	r, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{tools.Dispatchers(), intent.Source(), dynamic},
	})
	check.OK(t, err)
	check.OK(t, dynamic.Replace(large))
	result := called(t, r, tools.View{}, intent.CurateName, `{"tool":"browser_click"}`)
	if size := len(result.Structured); size < 20_000 || size > 30_000 {
		t.Errorf("the result has %d bytes", size)
	}
	b, names := curated(t, r, `{"tool":"browser_click"}`)
	if len(names) != len(large)+2 || b.Tools[2].Schema == nil || b.Tools[len(names)-1].Schema != nil || !strings.Contains(b.Note, "select:NAME,NAME of tool_search") {
		t.Errorf("%d tools, %s", len(names), b.Note)
	}
}

// TestNothingFits: a request that no tool has a word of suggests none, and says so. A beginning of a word is none.
func TestNothingFits(t *testing.T) {
	t.Parallel()
	r := registry(t, realBrowser, realFiles, realGitHub, realGit)
	for _, text := range []string{"Tell Ann that dinner is at eight", "Ann", "Book a flight to Paris", "What is the weather in Oslo?"} {
		request := `{"text":"` + text + `"}`
		a := analyzed(t, r, request)
		if len(a.SuggestedTools) > 0 || !strings.HasPrefix(a.Note, "No domain and no tool fits") {
			t.Errorf("%s: %q, %v", text, a.Note, a.SuggestedTools)
		}
		b, names := curated(t, r, request)
		slices.Sort(names)
		if !slices.Equal(names, []string{tools.CallName, tools.SearchName}) || b.Reason != a.Note || b.Excluded == 0 {
			t.Errorf("%s: the bag has %v: %s", text, names, b.Reason)
		}
	}
	if a := analyzed(t, r, `{"text":"schedules"}`); len(a.SuggestedTools) == 0 || a.Note != "" { // a form of a word
		t.Errorf("schedules suggest %v: %s", a.SuggestedTools, a.Note)
	}
}
