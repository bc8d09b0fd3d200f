package builtin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"bareclaw/internal/plainjson"
)

// A describedTest is a test as a list of steps.
type describedTest struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Steps []step `json:"steps,omitempty"`
}

type step struct {
	Action   string `json:"action"`
	Selector string `json:"selector,omitempty"`
	URL      string `json:"url,omitempty"`
	Value    any    `json:"value,omitempty" jsonschema:"what is entered, any value"`
}

type deduplicateArgs struct {
	Tests     []describedTest `json:"tests"`
	Threshold float64         `json:"similarityThreshold,omitempty" min:"0" max:"1" jsonschema:"the least similarity of duplicates"`
}

type deduplicateResult struct {
	TotalTests  int         `json:"totalTests"`
	UniqueTests int         `json:"uniqueTests" jsonschema:"tests that resemble none before them"`
	PairCount   int         `json:"pairCount"`
	Duplicates  []duplicate `json:"duplicates" jsonschema:"the most similar pairs first, at most 1000"`
}

type duplicate struct {
	ID1            string  `json:"testId1,omitempty"`
	Name1          string  `json:"testName1,omitempty"`
	ID2            string  `json:"testId2,omitempty"`
	Name2          string  `json:"testName2,omitempty"`
	Similarity     float64 `json:"similarityScore" jsonschema:"the share of all steps of both that both have, from 0 to 1"`
	Recommendation string  `json:"recommendation"`
}

func deduplicate(ctx context.Context, in deduplicateArgs) (deduplicateResult, error) {
	const mostPairs = 1000
	out := deduplicateResult{TotalTests: len(in.Tests), Duplicates: []duplicate{}}
	steps := numberSteps(in.Tests)
	for i, b := range in.Tests {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		unique := true
		for j, a := range in.Tests[:i] {
			similarity := jaccard(steps[j], steps[i])
			if similarity == 0 || similarity < in.Threshold {
				continue
			}
			unique = false
			out.PairCount++
			out.Duplicates = append(out.Duplicates, duplicate{a.ID, a.Name, b.ID, b.Name, similarity, recommendMerge(similarity)})
		}
		if unique {
			out.UniqueTests++
		}
		if len(out.Duplicates) > 2*mostPairs || i == len(in.Tests)-1 {
			slices.SortStableFunc(out.Duplicates, func(a, b duplicate) int { return cmp.Compare(b.Similarity, a.Similarity) })
			out.Duplicates = out.Duplicates[:min(len(out.Duplicates), mostPairs)]
		}
	}
	return out, nil
}

// numberSteps returns the different steps of each test as sorted numbers. Equal steps have equal
// numbers.
func numberSteps(all []describedTest) [][]int {
	numbers := map[step]int{}
	steps := make([][]int, len(all))
	for i, t := range all {
		for _, s := range t.Steps {
			s.Value = string(must(plainjson.Marshal(s.Value)))
			n, ok := numbers[s]
			if !ok {
				n = len(numbers)
				numbers[s] = n
			}
			steps[i] = append(steps[i], n)
		}
		slices.Sort(steps[i])
		steps[i] = slices.Compact(steps[i])
	}
	return steps
}

// jaccard returns the size of the intersection of two sorted sets, divided by that of their union.
func jaccard(a, b []int) float64 {
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch cmp.Compare(a[i], b[j]) {
		case -1:
			i++
		case 1:
			j++
		default:
			both++
			i++
			j++
		}
	}
	return float64(both) / float64(max(len(a)+len(b)-both, 1))
}

func recommendMerge(similarity float64) string {
	switch {
	case similarity > 0.95:
		return "remove one"
	case similarity > 0.85:
		return "merge them"
	}
	return "compare them"
}

type gapsArgs struct {
	Tests      []describedTest `json:"tests"`
	Categories []string        `json:"categories,omitempty" jsonschema:"authentication, forms, navigation, data, errors, accessibility, security and performance, which are all looked for if absent; another word is looked for as it is"`
}

type gapsResult struct {
	CoveragePercent float64   `json:"coveragePercent" jsonschema:"of the categories"`
	Covered         []covered `json:"covered"`
	Gaps            []gap     `json:"gaps"`
}

type covered struct {
	Category string `json:"category"`
	Tests    int    `json:"tests" jsonschema:"that touch it"`
}

type gap struct {
	Category       string   `json:"category"`
	Severity       string   `json:"severity" enum:"high,medium,low"`
	Description    string   `json:"description"`
	SuggestedTests []string `json:"suggestedTests"`
}

func findGaps(_ context.Context, in gapsArgs) (gapsResult, error) {
	out := gapsResult{Covered: []covered{}, Gaps: []gap{}}
	categories := in.Categories
	if len(categories) == 0 {
		categories = strings.Fields("authentication forms navigation data errors accessibility security performance")
	}
	words := make([]map[string]bool, len(in.Tests))
	for i, t := range in.Tests {
		words[i] = t.words()
	}
	for _, name := range categories {
		c := categoryOf(name)
		touching := 0
		for _, of := range words {
			if slices.ContainsFunc(c.words, func(w string) bool { return of[w] }) {
				touching++
			}
		}
		if touching > 0 {
			out.Covered = append(out.Covered, covered{name, touching})
		} else {
			out.Gaps = append(out.Gaps, gap{name, c.severity, "No test touches " + name + ".", c.suggested})
		}
	}
	out.CoveragePercent = 100 * float64(len(out.Covered)) / float64(len(categories))
	return out, nil
}

// words returns the words in the name and the steps of a test, in lower case, also two that follow
// each other as one: "sign in" is "signin".
func (t describedTest) words() map[string]bool {
	all := map[string]bool{}
	add := func(text string) {
		last := ""
		for _, w := range splitWords(text) {
			all[w] = true
			all[last+w] = true
			last = w
		}
	}
	add(t.Name)
	for _, s := range t.Steps {
		add(s.Action)
		add(s.Selector)
		add(s.URL)
		if text, ok := s.Value.(string); ok {
			add(text)
		}
	}
	return all
}

// splitWords splits a text where it has neither letters nor digits, and camelCase before the
// capitals.
func splitWords(text string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		} else if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.Fields(b.String())
}

// A category is a part of an application that tests should touch.
type category struct {
	severity  string
	words     []string // of which a test has one
	suggested []string
}

func newCategory(severity, words, suggested string) category {
	return category{severity, strings.Fields(words), strings.Split(suggested, "; ")}
}

func categoryOf(name string) category {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "authentication":
		return newCategory("high", "authentication authenticate auth login logout signin signout signup logon password session sso oauth mfa 2fa otp credentials",
			"log in with a right and with a wrong password; log out, and use the page of before; let the session expire")
	case "forms":
		return newCategory("medium", "form forms submit fill input checkbox radio select dropdown textarea field fields validation",
			"submit a form with all fields; leave required fields empty; enter texts that are too long")
	case "navigation":
		return newCategory("low", "navigation navigate goto visit open back forward link links menu breadcrumb redirect route",
			"follow the links of the menu; go back and forward; open a deep link directly")
	case "data":
		return newCategory("medium", "data create update delete edit save import export upload download search filter sort crud",
			"create, change and delete a record; search without results; sort and filter a long list")
	case "errors":
		return newCategory("high", "error errors fail fails failure invalid alert warning exception timeout offline retry 400 403 404 500 503",
			"open a page that does not exist; answer a request with status 500; cut the network")
	case "accessibility":
		return newCategory("medium", "accessibility accessible a11y aria keyboard focus contrast screenreader wcag axe alt",
			"use the page with the keyboard alone; check names and roles of controls; check the contrast")
	case "security":
		return newCategory("high", "security xss csrf sql injection sanitize escape permission permissions unauthorized forbidden cors clickjacking",
			"enter a script into each field; call an API without permission; send a request without its CSRF token")
	case "performance":
		return newCategory("low", "performance perf speed slow latency load lighthouse benchmark throughput stress lcp fcp cls ttfb tti tbt",
			"measure the time to the largest paint; open a list of thousands; use a slow network")
	}
	return category{"medium", []string{strings.Join(splitWords(name), "")}, []string{"use " + name + " as intended", "use " + name + " with wrong input"}}
}
