package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/toolset"
)

// searched returns what tool_search answers to a caller.
func searched(t *testing.T, r *Registry, who Caller, args string) (result searchResult) {
	t.Helper()
	got, err := r.Call(t.Context(), SearchName, Call{Caller: who, Args: json.RawMessage(args)})
	check.OK(t, err)
	if got.IsError {
		t.Fatalf("%s: %s", args, got.Text)
	}
	check.OK(t, json.Unmarshal(got.Structured, &result))
	return result
}

// described returns the names of tools in a result, with a star for those that have a schema.
func described(result searchResult) string {
	var names []string
	for _, f := range result.Tools {
		if f.Schema != nil {
			f.Name += "*"
		}
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}

// withSchema returns a tool whose schema has a size, in bytes.
func withSchema(name string, size int) Tool {
	t := echo(name)
	t.Input = json.RawMessage(`{"type":"object","title":"` + strings.Repeat("x", size) + `"}`)
	return t
}

// TestSearchLimit: a search finds ten tools, or as many as it is asked for, up to thirty.
func TestSearchLimit(t *testing.T) {
	t.Parallel()
	var all []Tool
	for i := range 50 {
		all = append(all, echo(fmt.Sprintf("apple_%d", i)))
	}
	r := registry(t, nil, all...)
	for args, want := range map[string]int{
		`{"query":"apple"}`:              10,
		`{"query":"apple","limit":0}`:    10,
		`{"query":"apple","limit":-3}`:   10,
		`{"query":"apple","limit":3}`:    3,
		`{"query":"apple","limit":30}`:   30,
		`{"query":"apple","limit":1000}`: 30,
		`{"query":"apple_7 pear"}`:       10,
		`{"query":"pear"}`:               0,
		`{"query":""}`:                   52,
		`{"query":"","limit":3}`:         52,
	} {
		result := searched(t, r, Caller{}, args)
		if len(result.Tools) != want {
			t.Errorf("%s finds %d tools, want %d", args, len(result.Tools), want)
		}
		if wantsNote := want == 0 || want > maxFound; wantsNote != (result.Note != "") {
			t.Errorf("%s finds %d tools, with the note %q", args, want, result.Note)
		}
	}
	if first := searched(t, r, Caller{}, `{"query":"apple_7"}`).Tools[0]; first.Name != "apple_7" || first.Source != "dynamic" || first.Schema == nil {
		t.Errorf("apple_7 finds %+v", first)
	}
}

// TestSearchBytes: schemas are in the result as far as there is room, and select gives the others.
func TestSearchBytes(t *testing.T) {
	t.Parallel()
	long := withSchema("apple_long", maxWhole+1)
	long.Description = "Echo apple_long " + strings.Repeat("and so on ", 100)
	r := registry(t, nil, long, withSchema("apple_a", 9000), withSchema("apple_b", 9000), withSchema("apple_c", 9000), withSchema("apple_d", 100))
	result := searched(t, r, Caller{}, `{"query":"apple"}`)
	if got := described(result); got != "apple_a* apple_b* apple_c apple_d* apple_long" {
		t.Errorf("found %s", got)
	}
	if !strings.Contains(result.Note, "select:") {
		t.Errorf("the note is %q", result.Note)
	}
	if last := result.Tools[4]; len(last.Description) > 2*maxBrief || !strings.HasPrefix(last.Description, "Echo apple_long and so on") {
		t.Errorf("the description is %q", last.Description)
	}
	result = searched(t, r, Caller{}, `{"query":"select:apple_long, apple_c"}`)
	if got := described(result); got != "apple_long* apple_c*" || result.Note != "" || result.Tools[0].Description != long.Description {
		t.Errorf("selected %s, %q", got, result.Note)
	}
}

// TestListingBytes: the list of all tools has short descriptions as far as there is room.
func TestListingBytes(t *testing.T) {
	t.Parallel()
	var all []Tool
	for i := range 1000 {
		one := echo(fmt.Sprintf("apple_%d", i))
		one.Description = strings.Repeat("Echo one apple. ", 1000)
		all = append(all, one)
	}
	result := searched(t, registry(t, nil, all...), Caller{}, `{"query":""}`)
	b, err := json.Marshal(result)
	check.OK(t, err)
	if len(result.Tools) != len(all)+2 || result.Tools[0].Description == "" || result.Tools[999].Description != "" || len(b) > 3*maxWhole {
		t.Errorf("%d tools in %d bytes, the first %+v, and %+v", len(result.Tools), len(b), result.Tools[0], result.Tools[999])
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	r := registry(t, nil, echo("apple"), echo("pear"))
	for query, want := range map[string]struct{ tools, note string }{
		"select:pear,apple":                        {"pear* apple*", ""},
		" select: pear , pear, apple,":             {"pear* apple*", ""},
		"select:" + toolset.Prefix + "pear":        {"pear*", ""},
		"select:tool_search":                       {"tool_search*", ""},
		"select:aple,pear":                         {"pear*", `there is no tool "aple"; did you mean apple?`},
		"select:something_else_again":              {"", `there is no tool "something_else_again"; tool_search lists all`},
		"select:" + strings.Repeat("x", 1<<12):     {"", "there is no tool"},
		"select:\"; DROP TABLE tools; --,no\x00ne": {"", "there is no tool"},
	} {
		args, err := json.Marshal(map[string]string{"query": query})
		check.OK(t, err)
		result := searched(t, r, Caller{}, string(args))
		if described(result) != want.tools || !strings.Contains(result.Note, want.note) || want.note == "" && result.Note != "" {
			t.Errorf("%.60q: %s, %q; want %v", query, described(result), result.Note, want)
		}
	}
	for _, query := range []string{"select:", "select: , ", "select:" + strings.Join(manyNames(31), ",")} {
		args, err := json.Marshal(map[string]string{"query": query})
		check.OK(t, err)
		got, err := r.Call(t.Context(), SearchName, Call{Args: args})
		if err != nil || !got.IsError || !strings.Contains(got.Text, "1 to 30 names") {
			t.Errorf("%.60q: %+v, %v", query, got, err)
		}
	}
}

func manyNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	return names
}

// TestSearchObeysView: tools outside of the view take no place, are not listed, and cannot be selected.
func TestSearchObeysView(t *testing.T) {
	t.Parallel()
	var all []Tool
	for _, name := range manyNames(100) {
		one := echo("apple_" + name)
		one.Description = "Apple apple apple"
		all = append(all, one)
	}
	pear := echo("pear")
	pear.Description = "Compare a pear with other fruit, among them an apple"
	r := registry(t, nil, append(all, pear)...)
	who := Caller{View: ViewOf("pear")}
	for args, want := range map[string]string{
		`{"query":"apple"}`:                "pear*",
		`{"query":"appl"}`:                 "pear*",
		`{"query":"apple_t1"}`:             "pear*",
		`{"query":"t1"}`:                   "",
		`{"query":""}`:                     "pear tool_call tool_search",
		`{"query":"select:apple_t1,pear"}`: "pear*",
	} {
		if got := searched(t, r, who, args); described(got) != want || strings.Contains(got.Note, "mean apple") {
			t.Errorf("%s: %s, %q; want %s", args, described(got), got.Note, want)
		}
	}
}

// TestSearchFindsChanges: a search finds the tools of now; the first one makes the index.
func TestSearchFindsChanges(t *testing.T) {
	t.Parallel()
	r := newLists(t, Options{}, echo("apple"))
	finds := func(query, want string) {
		t.Helper()
		if got := described(searched(t, r.Registry, Caller{}, `{"query":"`+query+`"}`)); got != want {
			t.Errorf("%s finds %q, want %q", query, got, want)
		}
	}
	finds("", "apple tool_call tool_search")
	finds("select:apple", "apple*")
	if r.searcher.index != nil {
		t.Error("there is an index before the first search")
	}
	finds("apple", "apple*")
	changed := echo("apple")
	changed.Description = "Peel it"
	check.OK(t, r.dynamic.Replace([]Tool{changed, echo("pear")}))
	finds("peel", "apple*")
	finds("pear", "pear*")
	check.OK(t, r.dynamic.Replace(nil))
	finds("peel", "")
	check.OK(t, ReplaceAll(map[*List][]Tool{r.builtin: {changed}}))
	finds("builtin", "apple*")
	finds("tool_call", "")
}

// TestSearchBesideChanges: searches and changes go on at the same time.
func TestSearchBesideChanges(t *testing.T) {
	t.Parallel()
	r := newLists(t, Options{}, echo("apple"))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 30 {
				found, err := r.Search("apple", View{}, 5)
				if err != nil || !slices.ContainsFunc(found, func(t Tool) bool { return t.Name == "apple" }) {
					t.Errorf("found %v, %v", found, err)
				}
			}
		})
	}
	all.Go(func() {
		for i := range 30 {
			check.OK(t, r.dynamic.Replace([]Tool{echo("apple"), echo(fmt.Sprintf("apple_%d", i))}))
		}
	})
	all.Wait()
}
