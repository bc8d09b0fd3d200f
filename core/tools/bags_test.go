package tools

import (
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/toolset"
)

// categorized returns a tool of a category.
func categorized(name string, c Category) Tool {
	t := echo(name)
	t.Category = c
	return t
}

// seen returns the names of the tools of a view.
func seen(r *Registry, v View) string {
	var names []string
	for _, t := range r.List(v) {
		if !isDispatcher(t.Name) {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, " ")
}

// TestBags: a bag is a category, all tools, or what the user has named, and always has the tools that search
// and call.
func TestBags(t *testing.T) {
	t.Parallel()
	named := map[string][]string{
		"review":  {"github_*", "assert_*", "exact"},
		"ends":    {"*_list", "a*b*c"},
		"browser": {"*"}, // a category has the name
		"a bag":   {"*"},
		"bad":     {"x y"},
		"none":    {},
	}
	r := newLists(t, Options{Bags: func() map[string][]string { return named }},
		categorized("browser_click", Browser), categorized("assert_url", Browser), categorized("github_list", GitHub), echo("exact"), echo("a1b2c"))
	for bag, want := range map[string]string{
		"browser": "browser_click",
		"github":  "github_list",
		"docker":  "",
		"utility": "a1b2c assert_url exact",
		"all":     "a1b2c assert_url browser_click exact github_list",
		"review":  "assert_url exact github_list",
		"ends":    "a1b2c github_list",
		"none":    "",
	} {
		v, ok := r.Bag(bag)
		if got := seen(r.Registry, v); !ok || got != want {
			t.Errorf("the bag %s has %q, %v; want %q", bag, got, ok, want)
		}
		if !v.MayHave(SearchName) || !v.Has(&Tool{Name: CallName}) {
			t.Errorf("the bag %s has no tool that searches or calls", bag)
		}
		if other := r.Named(v.Name); seen(r.Registry, other) != want || other.Name != v.Name {
			t.Errorf("the view %s by name has %q", v.Name, seen(r.Registry, other))
		}
		if _, err := toolset.Parse(v.Name); err == nil {
			t.Errorf("the view of the bag %s has the name of a set of tools", bag)
		}
	}
	for _, bag := range []string{"a bag", "bad", "", "exact", "Browser"} {
		v, ok := r.Bag(bag)
		if got := seen(r.Registry, v); ok || got != "" {
			t.Errorf("there is no bag %q, and it has %q", bag, got)
		}
	}
	if got, want := strings.Join(r.Bags(), " "), "all browser database github docker filesystem orchestration meta utility ends none review"; got != want {
		t.Errorf("the bags are %s, want %s", got, want)
	}
}

// TestBagsChange: a view follows its bag, and who watches the registry hears of changes.
func TestBagsChange(t *testing.T) {
	t.Parallel()
	named := map[string][]string{"mine": {"a"}}
	r := newLists(t, Options{Bags: func() map[string][]string { return named }}, echo("a"), echo("b"))
	v, _ := r.Bag("mine")
	watch, other := r.Watch(), r.Watch()
	r.Unwatch(other)
	version := r.Version()
	for _, c := range []struct {
		named map[string][]string
		want  string
	}{
		{map[string][]string{"mine": {"b"}}, "b"},
		{nil, ""},
		{map[string][]string{"mine": {"*"}}, "a b"},
	} {
		named = c.named
		r.BagsChanged()
		if got := seen(r.Registry, v); got != c.want {
			t.Errorf("%v: the bag has %q", c.named, got)
		}
		<-watch
	}
	if r.Version() != version+3 {
		t.Error("the version counts other changes")
	}
	select {
	case <-other:
		t.Error("who does not watch any more hears of changes")
	default:
	}
}

// TestCategoryView: a tool of another category is neither found nor called through the view of a bag.
func TestCategoryView(t *testing.T) {
	t.Parallel()
	r := newLists(t, Options{}, categorized("browser_click", Browser), categorized("browse_issues", GitHub))
	v, _ := r.Bag("browser")
	if got := described(searched(t, r.Registry, Caller{View: v}, `{"query":"browse browser"}`)); got != "browser_click*" {
		t.Errorf("a search finds %q", got)
	}
	_, err := r.Call(t.Context(), "browse_issues", Call{Caller: Caller{View: v}})
	if err == nil || !strings.Contains(err.Error(), "no such tool") {
		t.Errorf("the call of another category's tool: %v", err)
	}
	_, err = r.Call(t.Context(), "browser_click", Call{Caller: Caller{View: v}})
	check.OK(t, err)
}

func TestCheckBag(t *testing.T) {
	t.Parallel()
	many := make([]string, maxPatterns)
	for i := range many {
		many[i] = fmt.Sprint("tool_", i)
	}
	check.OK(t, CheckBag("my-bag_1", append([]string{"a.b", "*"}, many[2:]...)))
	for _, c := range []struct {
		name     string
		patterns []string
	}{
		{"", nil},
		{"a/b", nil},
		{"a:b", nil},
		{"all", nil},
		{"utility", nil},
		{strings.Repeat("x", 65), nil},
		{"a", []string{""}},
		{"a", []string{"[a]"}},
		{"a", []string{"a?"}},
		{"a", []string{strings.Repeat("x", maxPattern+1)}},
		{"a", slices.Concat(many, []string{"a"})},
		{"a", slices.Repeat([]string{"a*"}, maxWild+1)},
	} {
		if err := CheckBag(c.name, c.patterns); err == nil || len(err.Error()) > 300 {
			t.Errorf("CheckBag(%.80q, …) = %v", c.name, err)
		}
	}
}

// TestPatternsMatch: a star stands for any characters, as in the package path.
func TestPatternsMatch(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, length := range []int{0, 1, 2, 3, 4, 5} {
		texts = append(texts, textsOf("ab*", length)...)
	}
	for _, pattern := range texts {
		if !strings.Contains(pattern, "*") {
			continue
		}
		compiled := compile([]string{pattern})
		for _, name := range texts {
			if strings.Contains(name, "*") {
				continue
			}
			want, err := path.Match(pattern, name)
			check.OK(t, err)
			if got := compiled.match(name); got != want {
				t.Errorf("%q and the pattern %q: %v", name, pattern, got)
			}
		}
	}
}

// textsOf returns all texts of a length with some letters.
func textsOf(letters string, length int) []string {
	if length == 0 {
		return []string{""}
	}
	var all []string
	for _, text := range textsOf(letters, length-1) {
		for _, letter := range letters {
			all = append(all, text+string(letter))
		}
	}
	return all
}

// TestViewsWithoutLock: a look at the tools of a view does not hold up who changes them.
func TestViewsWithoutLock(t *testing.T) {
	t.Parallel()
	l := newLists(t, Options{}, echo("a"), echo("b"))
	looks := 0
	v := View{Name: "slow"}
	v.names = func(string) bool {
		looks++
		check.OK(t, l.dynamic.Replace([]Tool{echo("a"), echo("b")}))
		return true
	}
	if got := seen(l.Registry, v); got != "a b" || looks == 0 {
		t.Errorf("the view has %q after %d looks", got, looks)
	}
}

// BenchmarkViewOfBag measures the list of a bag of 500 names among 1,000 tools.
func BenchmarkViewOfBag(b *testing.B) {
	var names []string
	dynamic := NewList("dynamic")
	r, err := NewRegistry(Options{
		Log:     slog.New(slog.DiscardHandler),
		Sources: []Source{dynamic},
		Bags:    func() map[string][]string { return map[string][]string{"mine": names} },
	})
	check.OK(b, err)
	var all []Tool
	for i := range 1000 {
		all = append(all, echo(fmt.Sprint("tool_", i)))
		if i < 500 {
			names = append(names, fmt.Sprint("tool_", i))
		}
	}
	check.OK(b, dynamic.Replace(all))
	r.BagsChanged()
	v, _ := r.Bag("mine")
	for b.Loop() {
		if len(r.List(v)) != 500 {
			b.Fatal("the bag has other tools")
		}
	}
}
