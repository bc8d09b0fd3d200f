package intent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/core/tools/gateway"
	"bareclaw/core/tools/intent"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/mcpservers"
	"bareclaw/toolhost/builtin"
)

// A server is a server of tools that somebody has mounted.
type server struct {
	category tools.Category
	prefix   string // of the names
	names    string // of tools without arguments
	recorded string // a real server whose tools these are; empty: none
}

// Servers with the names that recipes prefer, and real ones.
var (
	seedBrowser = server{
		category: tools.Browser,
		names:    "browser_launch browser_navigate browser_type browser_click browser_screenshot assert_visible assert_url",
	}
	realBrowser = server{
		category: tools.Browser,
		recorded: "browser",
	}
	realFiles = server{
		category: tools.Filesystem,
		prefix:   "filesystem_",
		recorded: "filesystem",
	}
	realGitHub = server{
		category: tools.GitHub,
		prefix:   "github_",
		recorded: "github",
	}
	realGit = server{
		category: tools.GitHub,
		recorded: "git",
	}
)

// tools returns the tools of the server, which do nothing.
func (s server) tools(t testing.TB) (all []tools.Tool) {
	t.Helper()
	for name := range strings.FieldsSeq(s.names) {
		all = append(all, tools.Tool{
			Name:        s.prefix + name,
			Description: "Tool to " + strings.ReplaceAll(name, "_", " "),
			Input:       json.RawMessage(`{"type":"object"}`),
			Category:    s.category,
			Handle:      unused,
		})
	}
	if s.recorded == "" {
		return all
	}
	for _, listed := range mcpservers.Recorded(t, s.recorded) {
		all = append(all, tools.Tool{
			Name:        s.prefix + listed.Name,
			Description: listed.Description,
			Input:       listed.InputSchema,
			Category:    s.category,
			ChecksArgs:  true, // as mounted tools
			Handle:      unused,
		})
	}
	return all
}

func unused(context.Context, tools.Call) (tools.Result, error) { return tools.Result{}, nil }

// registry returns a registry with the tools of the program and those of servers.
func registry(t testing.TB, servers ...server) *tools.Registry {
	t.Helper()
	sources := []tools.Source{
		tools.Dispatchers(),
		intent.Source(),
		gateway.Source(gateway.Options{}),
	}
	for _, s := range servers {
		sources = append(sources, tools.Fixed("mounted", s.tools(t)...))
	}
	sources = append(sources, tools.Fixed("builtin", builtin.Tools()...))
	r, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: sources,
	})
	check.OK(t, err)
	return r
}

// called returns the result of a tool, for a client with a view.
func called(t *testing.T, r *tools.Registry, v tools.View, tool, args string) tools.Result {
	t.Helper()
	result, err := r.Call(t.Context(), tool, tools.Call{
		Caller: tools.Caller{View: v},
		Args:   json.RawMessage(args),
	})
	check.OK(t, err)
	return result
}

// analyzed returns what analyze_intent says of a request.
func analyzed(t *testing.T, r *tools.Registry, request string) (a intent.Analysis) {
	t.Helper()
	result := called(t, r, tools.View{}, intent.AnalyzeName, request)
	if result.IsError {
		t.Fatalf("%s: %s", request, result.Text)
	}
	check.OK(t, json.Unmarshal(result.Structured, &a))
	return a
}

// TestExamples holds the analyses of two requests, for a server whose tools the recipes are named after, and for
// one that many people use.
func TestExamples(t *testing.T) {
	t.Parallel()
	const click = `{"tool":"browser_click","args":{"selector":"#submit"}}`
	const login = `{"tool":"test_login_flow","args":{"url":"https://app.com"}}`
	const clicked = `{"primaryDomain":"browser","secondaryDomains":[],"complexity":"simple","suggestedTools":["browser_click"],"parallelizable":false,"estimatedSteps":1}`
	for _, c := range []struct {
		browser       server
		request, want string
	}{
		{seedBrowser, click, clicked},
		{seedBrowser, login, `{"primaryDomain":"browser","secondaryDomains":["utility"],"complexity":"compound",` +
			`"suggestedTools":["browser_launch","browser_navigate","browser_type","browser_click","browser_screenshot","assert_visible","assert_url"],` +
			`"parallelizable":false,"estimatedSteps":7}`},
		{realBrowser, login, `{"primaryDomain":"browser","secondaryDomains":["utility"],"complexity":"compound",` +
			`"suggestedTools":["browser_navigate","browser_snapshot","browser_type","browser_click","browser_wait_for","browser_take_screenshot","assert_truthy","assert_contains"],` +
			`"parallelizable":false,"estimatedSteps":8}`},
	} {
		got := called(t, registry(t, c.browser), tools.View{}, intent.AnalyzeName, c.request)
		if string(got.Structured) != c.want {
			t.Errorf("%s:\n%s%s, want\n%s", c.request, got.Structured, got.Text, c.want)
		}
	}
}

// TestComplexity holds when a request is one call, several steps, or work for several agents.
func TestComplexity(t *testing.T) {
	t.Parallel()
	r := registry(t, realBrowser, realFiles, realGitHub, realGit)
	for _, c := range []struct {
		request string
		want    intent.Complexity
		domain  tools.Category
		steps   int
		first   string // suggested
	}{
		// one call
		{`{"tool":"json_format","args":{"json":"{}"}}`, intent.Simple, tools.Utility, 1, "json_format"},
		{`{"tool":"json_format"}`, intent.Simple, tools.Utility, 1, "json_format"},
		{`{"tool":" mcp__bareclaw__json_format "}`, intent.Simple, tools.Utility, 1, "json_format"},
		{`{"tool":"create_issue","args":{"owner":"a","repo":"b","title":"It fails and then crashes, for each of these"}}`, intent.Simple, tools.GitHub, 1, "github_create_issue"},
		{`{"tool":"array_operations","args":{"operation":"unique","array":["a","b","c","d"]}}`, intent.Simple, tools.Utility, 1, "array_operations"},
		{`{"tool":"test_flaky_detect"}`, intent.Simple, tools.Utility, 1, "test_flaky_detect"},
		{`{"tool":"browser_click","text":"Click the submit button"}`, intent.Simple, tools.Browser, 1, "browser_click"},
		{`{"tool":"json_format","text":"Format the JSON of the github repository"}`, intent.Simple, tools.Utility, 1, "json_format"},

		// several steps
		{`{"tool":"test_and_report"}`, intent.Compound, tools.Utility, 2, "test_deduplicate"},
		{`{"tool":"reviewPullRequest"}`, intent.Compound, tools.GitHub, 4, "github_get_pull_request"},
		{`{"text":"Open an issue about the crash, then create a pull request"}`, intent.Compound, tools.GitHub, 5, "github_search_issues"},
		{`{"text":"Compare the two JSON documents and tell the people"}`, intent.Compound, tools.Utility, 2, "object_diff"},
		{`{"tool":"browser_click","text":"Click the button, then write the page to a file"}`, intent.Compound, tools.Browser, 3, "browser_click"},
		{`{"tool":"json_format","args":{"goal":"make this JSON pretty for people"}}`, intent.Compound, tools.Utility, 2, "json_format"},
		{`{"tool":"format_things","args":{"what":"make this JSON document pretty"}}`, intent.Compound, tools.Utility, 2, "json_format"},
		{`{"text":"Get the login of the github user"}`, intent.Compound, tools.GitHub, 1, "github_search_users"},
		{`{"text":"Commit the changes and push the branch"}`, intent.Compound, tools.GitHub, 5, "git_status"},
		{`{"text":"qwertz"}`, intent.Compound, tools.Utility, 1, ""},
		{`{"text":"Do not use a swarm: format the JSON"}`, intent.Compound, tools.Utility, 2, ""},
		{`{"text":"Read /srv/a.txt and /srv/b.txt"}`, intent.Compound, tools.Filesystem, 1, "filesystem_read_file"},

		// work for several agents
		{`{"tool":"swarm_screenshots"}`, intent.Swarm, tools.Browser, 3, "browser_navigate"},
		{`{"text":"Format all of these JSON files in parallel"}`, intent.Swarm, tools.Utility, 1, "json_format"},
		{`{"text":"Take screenshots of https://a.com, https://b.com and https://c.com."}`, intent.Swarm, tools.Browser, 9, "browser_navigate"},
		{`{"tool":"read_everything","args":{"paths":["/srv/a","/srv/b","/srv/c","/srv/c"]}}`, intent.Swarm, tools.Filesystem, 3, "filesystem_read_file"},
		{`{"tool":"browser_screenshots","args":{"of":[{"id":1},{"id":2},{"id":3},{"id":4}]}}`, intent.Swarm, tools.Browser, 12, "browser_navigate"},
	} {
		got := analyzed(t, r, c.request)
		first := ""
		if len(got.SuggestedTools) > 0 {
			first = got.SuggestedTools[0]
		}
		if got.Complexity != c.want || got.PrimaryDomain != c.domain || got.EstimatedSteps != c.steps || c.first != "" && first != c.first {
			t.Errorf("%s: %+v; want %s, %s, %d steps, first %s", c.request, got, c.want, c.domain, c.steps, c.first)
		}
		if got.Parallelizable != (got.Complexity == intent.Swarm) {
			t.Errorf("%s: %+v", c.request, got)
		}
		for _, name := range got.SuggestedTools {
			if _, ok := r.Find(name); !ok || name == intent.AnalyzeName || name == intent.CurateName {
				t.Errorf("%s: %s is suggested", c.request, name)
			}
		}
	}
}

// TestDomainWithoutTools: a request is about a domain also if there are no tools of it, and of the steps those
// are suggested for which there are tools.
func TestDomainWithoutTools(t *testing.T) {
	t.Parallel()
	got := analyzed(t, registry(t), `{"text":"Log in"}`)
	if got.PrimaryDomain != tools.Browser || !slices.Equal(got.SuggestedTools[:2], []string{"assert_truthy", "assert_contains"}) {
		t.Errorf("a login: %+v", got)
	}
	other := server{
		category: tools.Browser,
		names:    "puppeteer_navigate puppeteer_screenshot",
	}
	got = analyzed(t, registry(t, other), `{"text":"Take a screenshot of the page"}`)
	if got.PrimaryDomain != tools.Browser || got.SuggestedTools[0] != "puppeteer_screenshot" {
		t.Errorf("a screenshot, of a server that no recipe knows: %+v", got)
	}
	got = analyzed(t, registry(t), `{"text":"Log in to the postgres database"}`)
	if got.PrimaryDomain != tools.Database {
		t.Errorf("the login of a database: %+v", got)
	}
}

// TestOneServerForARecipe: the steps of a recipe are those of one of two servers that have them.
func TestOneServerForARecipe(t *testing.T) {
	t.Parallel()
	few := server{
		category: tools.Browser,
		prefix:   "a_",
		names:    "browser_click browser_navigate",
	}
	r, err := tools.NewRegistry(tools.Options{
		Log: slog.New(slog.DiscardHandler),
		Sources: []tools.Source{
			intent.Source(),
			tools.Fixed("few", few.tools(t)...),
			tools.Fixed("many", realBrowser.tools(t)...),
		},
	})
	check.OK(t, err)
	for _, name := range analyzed(t, r, `{"text":"log in"}`).SuggestedTools {
		if strings.HasPrefix(name, "a_") {
			t.Errorf("%s is suggested, of another server than the other steps", name)
		}
	}
}

// TestViews: nothing is suggested that the caller does not see, also of what was analyzed for somebody else.
func TestViews(t *testing.T) {
	t.Parallel()
	r := registry(t, realBrowser)
	const login = `{"text":"log in"}`
	if got := analyzed(t, r, login); len(got.SuggestedTools) < 3 {
		t.Fatalf("%+v", got)
	}
	few := tools.ViewOf("browser_click,json_format,analyze_intent,curate_tool_bag")
	got := called(t, r, few, intent.AnalyzeName, login)
	if want := `"suggestedTools":["browser_click"]`; !strings.Contains(string(got.Structured), want) {
		t.Errorf("%s, want %s", got.Structured, want)
	}
	bag := called(t, r, few, intent.CurateName, login)
	var said struct {
		Tools    []struct{ Name string }
		Excluded int `json:"excludedCount"`
	}
	check.OK(t, json.Unmarshal(bag.Structured, &said))
	if got := fmt.Sprint(said.Tools, said.Excluded); got != "[{tool_call} {tool_search} {browser_click}] 3" {
		t.Errorf("the bag is %s", got)
	}
}

// TestRefused holds what a request lacks.
func TestRefused(t *testing.T) {
	t.Parallel()
	r := registry(t)
	for _, tool := range []string{intent.AnalyzeName, intent.CurateName} {
		for request, want := range map[string]string{
			`{}`:                       "give tool, text, or both",
			`{"args":{"a":1}}`:         "give tool, text, or both",
			`{"text":" "}`:             "give tool, text, or both",
			`{"tool":7}`:               "do not fit its schema",
			`{"tool":"a","args":[1]}`:  "do not fit its schema",
			`{"text":{"what":"this"}}`: "do not fit its schema",
		} {
			if got := called(t, r, tools.View{}, tool, request); !got.IsError || !strings.Contains(got.Text, want) {
				t.Errorf("%s %s: %+v", tool, request, got)
			}
		}
	}
}

// TestLargeRequests: whatever a request has, the analysis ends soon and suggests few tools.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	r := registry(t, realBrowser)
	var urls []string
	for i := range 20_000 {
		urls = append(urls, fmt.Sprint("https://example.com/", i))
	}
	list, err := json.Marshal(urls)
	check.OK(t, err)
	for name, request := range map[string]string{
		"text":   `{"text":"` + strings.Repeat("click the button and log in, then ", 20_000) + `"}`,
		"name":   `{"tool":"` + strings.Repeat("a_and_", 20_000) + `"}`,
		"urls":   `{"tool":"check","args":{"urls":` + string(list) + `}}`,
		"depth":  `{"tool":"check","args":{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`,
		"marks":  `{"text":"\u0000 \ud800 \" OR NEAR( * ^ ~ 🦀🦀🦀"}`,
		"quotes": `{"text":"https:// / ~/ // ./ ... ,,, ;;;"}`,
	} {
		got := analyzed(t, r, request)
		if len(got.SuggestedTools) > 15 || got.EstimatedSteps > 50_000 || got.EstimatedSteps < 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestCache: an analysis counts until the tools change, and of many the latest are kept.
func TestCache(t *testing.T) {
	t.Parallel()
	dynamic := tools.NewList("dynamic")
	r, err := tools.NewRegistry(tools.Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []tools.Source{dynamic},
	})
	check.OK(t, err)
	counted := &countingCatalog{Registry: r}
	a := intent.New(counted)
	analyze := func(text string, searches int64, suggested string) {
		t.Helper()
		before := counted.searches.Load()
		got, err := a.Analyze(t.Context(), intent.Request{Text: text}, tools.View{})
		check.OK(t, err)
		if made := counted.searches.Load() - before; made != searches || fmt.Sprint(got.SuggestedTools) != suggested {
			t.Errorf("%s: %v after %d searches, want %s after %d", text, got.SuggestedTools, made, suggested, searches)
		}
	}
	analyze("peel apple", 1, "[]")
	analyze("peel apple", 0, "[]")
	analyze(" peel apple\n", 0, "[]")
	check.OK(t, dynamic.Replace(server{names: "apple_peel"}.tools(t)))
	analyze("peel apple", 1, "[apple_peel]")
	analyze("peel apple", 0, "[apple_peel]")
	for i := range 300 {
		analyze(fmt.Sprint("peel apple ", i), 1, "[apple_peel]")
	}
	analyze("peel apple 299", 0, "[apple_peel]")
	analyze("peel apple 0", 1, "[apple_peel]")

	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 50 {
				_, err := a.Analyze(t.Context(), intent.Request{Text: fmt.Sprint("peel apple ", i)}, tools.View{})
				check.OK(t, err)
				if n == 0 {
					check.OK(t, dynamic.Replace(server{names: "apple_peel " + fmt.Sprint("pear_", i)}.tools(t)))
				}
			}
		})
	}
	all.Wait()
}

// A countingCatalog counts searches.
type countingCatalog struct {
	*tools.Registry
	searches atomic.Int64
}

// SearchWords implements intent.Catalog.
func (c *countingCatalog) SearchWords(query string, v tools.View, limit int) ([]tools.Tool, error) {
	c.searches.Add(1)
	return c.Registry.SearchWords(query, v, limit)
}

// BenchmarkAnalyze measures an analysis that is kept, and one that is made, among 1,000 tools.
func BenchmarkAnalyze(b *testing.B) {
	many := server{category: tools.GitHub}
	for i := range 920 {
		many.names += fmt.Sprint(" compare_documents_", i)
	}
	r := registry(b, realBrowser, many)
	a := intent.New(r)
	analyze := func(text string) {
		_, err := a.Analyze(b.Context(), intent.Request{Text: text}, tools.View{})
		check.OK(b, err)
	}
	analyze("compare the documents, then take a screenshot")
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			analyze("compare the documents, then take a screenshot")
		}
	})
	b.Run("made", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			analyze(fmt.Sprint("compare the documents, then take a screenshot of page ", n))
		}
	})
}
