package intent

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/toolset"
)

// TestRecipes holds the file to what the analysis reads: a phrase that no words can be would never be found.
func TestRecipes(t *testing.T) {
	t.Parallel()
	var k knowledge
	decoder := json.NewDecoder(bytes.NewReader(recipesJSON))
	decoder.DisallowUnknownFields()
	check.OK(t, decoder.Decode(&k))
	phrases := slices.Concat(k.Swarm, k.Negations)
	for _, r := range k.Recipes {
		phrases = append(phrases, r.Words...)
		if !slices.Contains(tools.Categories(), r.Domain) || len(r.Words) == 0 || len(r.Steps) == 0 {
			t.Errorf("a recipe is %+v", r)
		}
		for _, s := range r.Steps {
			for _, name := range s {
				if !toolset.IsName(name) {
					t.Errorf("the recipe for %v names the tool %q", r.Words, name)
				}
			}
		}
	}
	for category, named := range k.Domains {
		phrases = append(phrases, named...)
		if !slices.Contains(tools.Categories(), category) {
			t.Errorf("there is no category %s", category)
		}
	}
	for _, phrase := range phrases {
		if wordsOf(phrase).String() != phrase || phrase == "" {
			t.Errorf("the words of %q are %q", phrase, wordsOf(phrase))
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"test_login_flow":       "test login flow",
		"reviewPullRequest":     "review pull request",
		"Don't re-run it, v2.1": "don t re run it v2 1",
		"HTTPServer URL":        "httpserver url",
		" …🦀 ":                  "",
		"Größe_Öl":              "größe öl",
	} {
		if got := wordsOf(text).String(); got != want {
			t.Errorf("the words of %q are %q, want %q", text, got, want)
		}
	}
	w := wordsOf("open the pull requests of a repository")
	for phrase, want := range map[string]int{
		"pull request":    2,
		"open":            0,
		"repository":      6,
		"pull":            2,
		"requests of":     3,
		"repository open": -1,
		"request of":      -1,
	} {
		if got := w.index(phrase); got != want {
			t.Errorf("%q is at %d, want %d", phrase, got, want)
		}
	}
}
