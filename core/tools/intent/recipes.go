package intent

import (
	_ "embed" // for the recipes
	"encoding/json"
	"strings"
	"sync"

	"bareclaw/core/tools"
)

//go:embed recipes.json
var recipesJSON []byte

// A recipe is how something is done that many people ask for.
type recipe struct {
	Domain tools.Category `json:"domain"`
	Words  []string       `json:"words"` // each is one or more words, in lowercase letters, that ask for it
	Steps  []step         `json:"steps"`
}

// A step is one of several tools, the best first, as the text NAME|NAME.
type step []string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *step) UnmarshalText(text []byte) error {
	*s = strings.Split(string(text), "|")
	return nil
}

// knowledge is what the analysis knows of words.
type knowledge struct {
	Recipes   []recipe                    `json:"recipes"`
	Domains   map[tools.Category][]string `json:"domains"`   // words that name a category
	Swarm     []string                    `json:"swarm"`     // words that ask for work in parallel
	Negations []string                    `json:"negations"` // words before these that take them back
}

// known returns what the file says.
var known = sync.OnceValue(func() *knowledge {
	var k knowledge
	if err := json.Unmarshal(recipesJSON, &k); err != nil {
		panic("intent: recipes.json: " + err.Error())
	}
	return &k
})

// askedFor reports whether words ask for work in parallel.
func (k *knowledge) askedFor(w words) bool {
	for _, phrase := range k.Swarm {
		i := w.index(phrase)
		if i >= 0 && !endsWithAny(w[:i], k.Negations) {
			return true
		}
	}
	return false
}

// withoutSwarm returns words without those that ask for work in parallel, which say nothing of the work.
func (k *knowledge) withoutSwarm(w words) words {
	for _, phrase := range k.Swarm {
		w = w.without(phrase)
	}
	return w
}

// endsWithAny reports whether one of some phrases is among the last three words.
func endsWithAny(w words, phrases []string) bool {
	last := w[max(0, len(w)-3):]
	for _, phrase := range phrases {
		if last.has(phrase) {
			return true
		}
	}
	return false
}

// domainsOf returns how many of the words that name a category some words have, by category.
func (k *knowledge) domainsOf(w words) map[tools.Category]int {
	named := map[tools.Category]int{}
	for category, phrases := range k.Domains {
		for _, phrase := range phrases {
			if w.has(phrase) {
				named[category]++
			}
		}
	}
	return named
}

// recipesFor returns the recipes that words ask for, in the order of the words. Words that name other
// categories alone do not ask for a recipe: a login is not always one of a web page.
func (k *knowledge) recipesFor(w words) []*recipe {
	named := k.domainsOf(w)
	found := map[int]*recipe{} // by the place of the words
	for i := range k.Recipes {
		r := &k.Recipes[i]
		if len(named) > 0 && named[r.Domain] == 0 && r.Domain != tools.Utility {
			continue
		}
		for _, phrase := range r.Words {
			at := w.index(phrase)
			if at >= 0 && found[at] == nil {
				found[at] = r
			}
		}
	}
	var list []*recipe
	for at := range w {
		if r := found[at]; r != nil {
			list = append(list, r)
		}
	}
	return list
}
