package index

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"bareclaw/internal/testkit/check"
)

var compareJSON = Document{
	Name:        "json_diff",
	Description: "Compare two documents",
	Server:      "builtin",
	Input:       json.RawMessage(`{"type":"object","properties":{"left":{"type":"string","description":"The older one"},"ignoreCase":true,"mode":{"enum":["unified",3]}}}`),
}

var getPullRequest = Document{
	Name:        "getPullRequest",
	Description: "Fetch one by its number",
	Server:      "github",
	Input:       json.RawMessage(`{"type":"object"}`),
}

var takeScreenshot = Document{
	Name:        "browser.take-screenshot",
	Description: "Ansicht einer Seite für später, HTTPServer und URLs",
	Server:      "playwright",
	Input:       json.RawMessage(`not a schema`),
}

// newIndex returns an index with documents.
func newIndex(t testing.TB, docs ...Document) *Index {
	t.Helper()
	x := New()
	t.Cleanup(x.Close)
	check.OK(t, x.Replace(docs))
	return x
}

// namesOf returns what a search finds, the best first.
func namesOf(t *testing.T, x *Index, query string) string {
	t.Helper()
	hits, err := x.Search(query, 10, nil)
	check.OK(t, err)
	var names []string
	for _, hit := range hits {
		if hit.Score <= 0 {
			t.Errorf("%q finds %s with a score of %f", query, hit.Name, hit.Score)
		}
		names = append(names, hit.Name)
	}
	return strings.Join(names, " ")
}

func TestSearch(t *testing.T) {
	t.Parallel()
	x := newIndex(t, compareJSON, getPullRequest, takeScreenshot)
	for query, want := range map[string]string{
		"":                        "",
		"  ?! ":                   "",
		"json":                    "json_diff",
		"JSON_DIFF":               "json_diff",
		"json-diff":               "json_diff",
		"jsonDiff":                "json_diff",
		"comparing a document":    "json_diff",
		"older":                   "json_diff",
		"left":                    "json_diff",
		"case":                    "json_diff",
		"ignorecase":              "json_diff",
		"unified":                 "json_diff",
		"3":                       "",
		"builtin":                 "json_diff",
		"pull":                    "getPullRequest",
		"requests":                "getPullRequest",
		"getpullrequest":          "getPullRequest",
		"get_pull_request":        "getPullRequest",
		"github pulls":            "getPullRequest",
		"browser.take-screenshot": "browser.take-screenshot",
		"screenshot":              "browser.take-screenshot",
		"screens":                 "browser.take-screenshot", // the beginning of a word
		"fur":                     "browser.take-screenshot",
		"http server":             "browser.take-screenshot",
		"schema":                  "", // of a text that is not a schema
		"object":                  "",
		"take json":               "json_diff browser.take-screenshot",
	} {
		if got := namesOf(t, x, query); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// TestQueriesAreSentences holds that a sentence is looked for by the words in it that say something.
func TestQueriesAreSentences(t *testing.T) {
	t.Parallel()
	chatter := Document{Name: "chatter", Description: "Ask what the server's state is, why it's so, and don't do it"}
	x := newIndex(t, compareJSON, chatter)
	for query, want := range map[string]string{
		"what's json?":          "json_diff",
		"What’s it, json":       "json_diff",
		"don't you have json":   "json_diff",
		"is it (json) or what?": "json_diff",
		"JSON's mode":           "json_diff",
		"what is it?":           "chatter",
		"'s":                    "chatter",
		"servers' state":        "chatter",
	} {
		if got := namesOf(t, x, query); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// TestQueriesAreWords holds that the syntax of FTS5 means nothing in a query.
func TestQueriesAreWords(t *testing.T) {
	t.Parallel()
	x := newIndex(t, compareJSON, getPullRequest, takeScreenshot)
	for query, want := range map[string]string{
		`json NOT json`:       "json_diff",
		`json AND github`:     "json_diff getPullRequest",
		`NEAR(json github)`:   "json_diff getPullRequest",
		`name : json`:         "json_diff",
		`{name mode}: json`:   "json_diff",
		`-json`:               "json_diff",
		`^diff`:               "json_diff",
		`"json`:               "json_diff",
		`json"*`:              "json_diff",
		`json + diff`:         "json_diff",
		"json\x00diff":        "json_diff",
		"json\xff":            "json_diff",
		`'; DROP TABLE tools`: "",
		`*`:                   "",
	} {
		if got := namesOf(t, x, query); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if got := namesOf(t, x, strings.Repeat("nothing ", 10_000)+"json"); got != "" {
		t.Errorf("the end of a long query finds %q", got)
	}
	if got := namesOf(t, x, "json "+strings.Repeat("nothing", 10_000)); got != "json_diff" {
		t.Errorf("the beginning of a long query finds %q", got)
	}
}

// TestWeights holds that a word counts more in a name than in a server, there more than in a description,
// and there more than in a parameter.
func TestWeights(t *testing.T) {
	t.Parallel()
	x := newIndex(t,
		Document{Name: "a", Description: "one", Server: "two", Input: json.RawMessage(`{"properties":{"apple":{}}}`)},
		Document{Name: "b", Description: "one", Server: "apple", Input: json.RawMessage(`{"properties":{"two":{}}}`)},
		Document{Name: "c", Description: "apple", Server: "two", Input: json.RawMessage(`{"properties":{"one":{}}}`)},
		Document{Name: "apple", Description: "one", Server: "two", Input: json.RawMessage(`{"properties":{"two":{}}}`)},
		Document{Name: "e"}, Document{Name: "f"}, Document{Name: "g"}, Document{Name: "h"}, Document{Name: "i"},
	)
	if got := namesOf(t, x, "apples"); got != "apple c b a" {
		t.Errorf("found %q", got)
	}
}

// TestReplace holds that a search finds the documents of now, and that only the others are written.
func TestReplace(t *testing.T) {
	t.Parallel()
	x := newIndex(t, compareJSON, getPullRequest)
	changed := getPullRequest
	changed.Description = "Fetch an apple"
	written := func() int64 { return totalChanges(t, x) }
	before := written()
	check.OK(t, x.Replace([]Document{compareJSON, getPullRequest}))
	if n := written() - before; n != 0 {
		t.Errorf("%d rows are written for the same documents", n)
	}
	check.OK(t, x.Replace([]Document{compareJSON, changed, takeScreenshot}))
	for query, want := range map[string]string{"apple": "getPullRequest", "number": "", "pull": "getPullRequest", "json": "json_diff", "browser": "browser.take-screenshot"} {
		if got := namesOf(t, x, query); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	check.OK(t, x.Replace([]Document{changed}))
	if got := namesOf(t, x, "json browser pull"); got != "getPullRequest" {
		t.Errorf("found %q", got)
	}
	check.OK(t, x.Replace(nil))
	if got := namesOf(t, x, "pull"); got != "" {
		t.Errorf("found %q", got)
	}
	x.Close()
	if got := namesOf(t, x, "pull"); got != "" {
		t.Errorf("a closed index finds %q", got)
	}
	check.OK(t, x.Replace([]Document{changed}))
	if got := namesOf(t, x, "pull"); got != "getPullRequest" {
		t.Errorf("found %q", got)
	}
}

// totalChanges returns the number of rows that were ever written to the tables of the index.
func totalChanges(t testing.TB, x *Index) int64 { return number(t, x, `SELECT total_changes()`) }

// number returns the result of a query of the database.
func number(t testing.TB, x *Index, query string) (n int64) {
	t.Helper()
	prepared, err := x.db.conn.Prepare(query)
	check.OK(t, err)
	check.OK(t, statement{prepared}.each("", func(row []driver.Value) bool {
		n, _ = row[0].(int64)
		return false
	}))
	check.OK(t, prepared.Close())
	return n
}

// TestLimit holds that the best are kept, of those that count.
func TestLimit(t *testing.T) {
	t.Parallel()
	x := newIndex(t, manyTools(300)...)
	all, err := x.Search("create issue", 300, nil)
	check.OK(t, err)
	if len(all) < 20 {
		t.Fatalf("only %d hits", len(all))
	}
	few, err := x.Search("create issue", 5, nil)
	check.OK(t, err)
	if !slices.Equal(few, all[:5]) {
		t.Errorf("the best five are %v, want %v", few, all[:5])
	}
	kept, err := x.Search("create issue", 5, func(name string) bool { return name > all[0].Name })
	check.OK(t, err)
	want := slices.DeleteFunc(slices.Clone(all), func(h Hit) bool { return h.Name <= all[0].Name })
	if !slices.Equal(kept, want[:min(len(want), 5)]) {
		t.Errorf("the best five of some are %v, want %v", kept, want)
	}
	for _, limit := range []int{0, -1} {
		if none, err := x.Search("create issue", limit, nil); err != nil || len(none) > 0 {
			t.Errorf("at most %d: %v, %v", limit, none, err)
		}
	}
}

// TestOrderDoesNotTellThePast holds that an index that was changed finds what a new one does.
func TestOrderDoesNotTellThePast(t *testing.T) {
	t.Parallel()
	docs := manyTools(200)
	old := newIndex(t, docs[100:]...)
	check.OK(t, old.Replace(docs[:150]))
	check.OK(t, old.Replace(docs))
	fresh := newIndex(t, docs...)
	for _, query := range []string{"create issue", "search", "weather", "list the files of a repository"} {
		before, err := old.Search(query, 10, nil)
		check.OK(t, err)
		after, err := fresh.Search(query, 10, nil)
		check.OK(t, err)
		if len(after) == 0 || !slices.Equal(before, after) {
			t.Errorf("%q finds %v, and in a new index %v", query, before, after)
		}
	}
}

// TestChangesDoNotGrow holds that an index does not grow with the number of changes.
func TestChangesDoNotGrow(t *testing.T) {
	t.Parallel()
	docs := manyTools(100)
	x := newIndex(t, docs...)
	first := number(t, x, `PRAGMA page_count`)
	for round := range 50 {
		for i := range docs {
			docs[i].Description = fmt.Sprintf("%d %s", round, manyTools(1)[0].Description)
		}
		check.OK(t, x.Replace(docs))
	}
	if last := number(t, x, `PRAGMA page_count`); last > 4*first+50 {
		t.Errorf("the index has grown from %d pages to %d", first, last)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	docs := manyTools(60)
	x := newIndex(t, docs...)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 20 {
				if i == 0 {
					check.OK(t, x.Replace(docs[n:]))
				}
				if _, err := x.Search("create issue", 10, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func FuzzSearch(f *testing.F) {
	for _, query := range []string{"json", `"json" OR name:x*`, "NEAR(a b, 2)", "\x00", "jsonDiff é 数据 ½ e\u0301", "\u0301 A A", "\u200b", "what's 's don’t", "\u0301's", strings.Repeat("a ", 2000)} {
		f.Add(query)
	}
	x := newIndex(f, compareJSON, getPullRequest, takeScreenshot)
	f.Fuzz(func(t *testing.T, query string) {
		hits, err := x.Search(query, 2, nil)
		if err != nil || len(hits) > 2 {
			t.Errorf("%q: %v, %v", query, hits, err)
		}
		if len(hits) > 0 && !HasWords(query) {
			t.Errorf("%q has no words, and finds %v", query, hits)
		}
		if terms := termsOf(query); len(terms) > maxTerms || len(terms) > 0 != HasWords(query) {
			t.Errorf("of %q %q is looked for", query, terms)
		}
	})
}

// FuzzDocument holds that any document can be found by its name.
func FuzzDocument(f *testing.F) {
	f.Add("json_diff", "Compare\x00 two", `{"properties":{"a":{"description":"b"}}}`)
	f.Add("a", strings.Repeat("é", 10_000), `{"properties":{"a":1,"b":{"description":7,"enum":"x"}}}`)
	f.Fuzz(func(t *testing.T, name, description, schema string) {
		x := newIndex(t, Document{Name: name, Description: description, Server: name, Input: json.RawMessage(schema)})
		hits, err := x.Search(name, 1, nil)
		if err != nil || len(hits) == 0 && HasWords(name) {
			t.Errorf("%q finds %v, %v", name, hits, err)
		}
	})
}

// manyTools returns n documents like those of MCP servers, always the same.
func manyTools(n int) []Document {
	random := rand.New(rand.NewPCG(1, 2))
	verbs := strings.Fields("create list get update delete search read write move copy merge close open fetch push send upload download parse convert validate run start stop restart inspect")
	nouns := strings.Fields("issue repository branch commit file directory page element screenshot tab request response message channel user comment label release workflow container image volume network table row column query index schema event calendar contact invoice payment order product customer report chart weather forecast route distance translation document paragraph note task project board card sprint secret token certificate log metric alert dashboard")
	fillers := strings.Fields("the a of in with for by and or from to which that is are returns given specified optional all new existing one current default when if not be used name id")
	common := slices.Concat(verbs, nouns)
	ranks := rand.NewZipf(random, 1.1, 100, 3000) // a common word is in one of seven documents
	word := func() string {
		if random.IntN(3) == 0 {
			return fillers[random.IntN(len(fillers))]
		}
		if rank := int(ranks.Uint64()); rank >= len(common) {
			return fmt.Sprintf("%s%d", common[rank%len(common)][:3], rank)
		} else {
			return common[rank]
		}
	}
	sentence := func(words int) string {
		all := make([]string, words)
		for i := range all {
			all[i] = word()
		}
		return strings.Join(all, " ")
	}
	docs := make([]Document, n)
	for i := range docs {
		properties := map[string]any{}
		for range 1 + random.IntN(7) {
			properties[word()+"_"+nouns[random.IntN(len(nouns))]] = map[string]any{
				"type":        "string",
				"description": sentence(4 + random.IntN(12)),
			}
		}
		input, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
		docs[i] = Document{
			Name:        fmt.Sprintf("%s_%s_%d", verbs[random.IntN(len(verbs))], nouns[random.IntN(len(nouns))], i),
			Description: sentence(6 + random.IntN(40)),
			Server:      fmt.Sprintf("server%d", i/40),
			Input:       input,
		}
	}
	return docs
}
