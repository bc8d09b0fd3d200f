package builtin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"bareclaw/core/tools"
)

func testTools() []tools.Tool {
	return []tools.Tool{
		define("test_flaky_detect", "Find tests that sometimes pass and sometimes fail.", flakyArgs{Threshold: 0.1, MinRuns: 5}, detectFlaky),
		define("test_prioritize", "Rank tests by their risk: those that failed often or lately, are fast or unstable come first.", prioritizeArgs{Weights: weights{FailureRate: 0.4, RecentFailures: 0.3, ExecutionTime: 0.1, Stability: 0.2}}, prioritize),
		define("test_deduplicate", "Find tests that do nearly the same, by the Jaccard similarity of their steps.", deduplicateArgs{Threshold: 0.8}, deduplicate),
		define("test_coverage_gaps", "Find categories that no test touches, by the words in names and steps.", gapsArgs{}, findGaps),
	}
}

// A testHistory is what happened to a test, the oldest run first.
type testHistory struct {
	ID   string    `json:"testId"`
	Name string    `json:"testName,omitempty"`
	Runs []testRun `json:"runs"`
}

type testRun struct {
	Status   string   `json:"status" enum:"passed,failed,skipped"`
	Duration *float64 `json:"duration,omitempty" min:"0" max:"1e12" jsonschema:"milliseconds"`
}

// ended returns the runs that were not skipped.
func (h testHistory) ended() []testRun {
	return slices.DeleteFunc(slices.Clone(h.Runs), func(r testRun) bool { return r.Status == "skipped" })
}

func countFailed(runs []testRun) (n int) {
	for _, r := range runs {
		if r.Status == "failed" {
			n++
		}
	}
	return n
}

// failureRate returns the share of runs that failed, 0 of no runs.
func failureRate(runs []testRun) float64 {
	return float64(countFailed(runs)) / float64(max(len(runs), 1))
}

// inconsistency is 0 if all runs end alike, and 1 if half of them fail.
func inconsistency(runs []testRun) float64 {
	rate := failureRate(runs)
	return 2 * min(rate, 1-rate)
}

type flakyArgs struct {
	History   []testHistory `json:"testHistory"`
	Threshold float64       `json:"flakinessThreshold,omitempty" min:"0" max:"1" jsonschema:"the least score of a flaky test"`
	MinRuns   int           `json:"minRuns,omitempty" min:"1" jsonschema:"a test with fewer runs is not judged; skipped runs do not count"`
}

type flakyResult struct {
	TotalTests  int         `json:"totalTests"`
	StableTests int         `json:"stableTests"`
	TooFewRuns  int         `json:"tooFewRuns" jsonschema:"tests that were not judged"`
	FlakyCount  int         `json:"flakyCount"`
	FlakyTests  []flakyTest `json:"flakyTests" jsonschema:"the flakiest first"`
}

type flakyTest struct {
	ID        string  `json:"testId"`
	Name      string  `json:"testName,omitempty"`
	Score     float64 `json:"flakinessScore" jsonschema:"0 if all runs end alike, 1 if half of them fail"`
	PassCount int     `json:"passCount"`
	FailCount int     `json:"failCount"`
	TotalRuns int     `json:"totalRuns" jsonschema:"without skipped ones"`
	Flips     int     `json:"flips" jsonschema:"how often a run ended otherwise than the one before; 1 suggests that the test was broken or mended once"`
}

func detectFlaky(_ context.Context, in flakyArgs) (flakyResult, error) {
	out := flakyResult{TotalTests: len(in.History), FlakyTests: []flakyTest{}}
	for _, h := range in.History {
		runs := h.ended()
		score, failed := inconsistency(runs), countFailed(runs)
		switch {
		case len(runs) < in.MinRuns:
			out.TooFewRuns++
		case score == 0 || score < in.Threshold:
			out.StableTests++
		default:
			out.FlakyTests = append(out.FlakyTests, flakyTest{h.ID, h.Name, score, len(runs) - failed, failed, len(runs), flips(runs)})
		}
	}
	out.FlakyCount = len(out.FlakyTests)
	slices.SortStableFunc(out.FlakyTests, func(a, b flakyTest) int { return cmp.Compare(b.Score, a.Score) })
	return out, nil
}

func flips(runs []testRun) (n int) {
	for i := 1; i < len(runs); i++ {
		if runs[i].Status != runs[i-1].Status {
			n++
		}
	}
	return n
}

type prioritizeArgs struct {
	History []testHistory `json:"testHistory"`
	Weights weights       `json:"weights,omitzero" jsonschema:"of the factors; those that are absent keep their defaults 0.4, 0.3, 0.1 and 0.2"`
}

type weights struct {
	FailureRate    float64 `json:"failureRate,omitempty" min:"0" max:"1e6"`
	RecentFailures float64 `json:"recentFailures,omitempty" min:"0" max:"1e6"`
	ExecutionTime  float64 `json:"executionTime,omitempty" min:"0" max:"1e6"`
	Stability      float64 `json:"stability,omitempty" min:"0" max:"1e6"`
}

type prioritizeResult struct {
	Prioritized []prioritized `json:"prioritized" jsonschema:"the test to run first comes first"`
}

type prioritized struct {
	ID             string  `json:"testId"`
	Name           string  `json:"testName,omitempty"`
	Score          float64 `json:"priorityScore" jsonschema:"the weighted sum of the factors"`
	Factors        factors `json:"factors"`
	Recommendation string  `json:"recommendation"`
}

type factors struct {
	FailureRate    float64 `json:"failureRate" jsonschema:"share of the runs that failed"`
	RecentFailures float64 `json:"recentFailures" jsonschema:"the same of the last 5 runs"`
	ExecutionTime  float64 `json:"executionTime" jsonschema:"from 1 at once to 0 for a minute or more; 0.5 if unknown"`
	Stability      float64 `json:"stability" jsonschema:"1 if all runs end alike, 0 if half of them fail; adds to the score what is missing from 1"`
}

func prioritize(_ context.Context, in prioritizeArgs) (prioritizeResult, error) {
	out := prioritizeResult{Prioritized: []prioritized{}}
	for _, h := range in.History {
		f := h.factors()
		w := in.Weights
		score := w.FailureRate*f.FailureRate + w.RecentFailures*f.RecentFailures + w.ExecutionTime*f.ExecutionTime + w.Stability*(1-f.Stability)
		out.Prioritized = append(out.Prioritized, prioritized{h.ID, h.Name, score, f, recommend(score)})
	}
	slices.SortStableFunc(out.Prioritized, func(a, b prioritized) int { return cmp.Compare(b.Score, a.Score) })
	return out, nil
}

func (h testHistory) factors() factors {
	const (
		recent  = 5      // runs
		slowest = 60_000 // milliseconds
	)
	runs := h.ended()
	var total, timed float64
	for _, r := range runs {
		if r.Duration != nil {
			total += *r.Duration
			timed++
		}
	}
	speed := 0.5
	if timed > 0 {
		speed = max(0, 1-total/timed/slowest)
	}
	return factors{failureRate(runs), failureRate(runs[max(0, len(runs)-recent):]), speed, 1 - inconsistency(runs)}
}

func recommend(score float64) string {
	switch {
	case score > 0.7:
		return "run first: likely to fail"
	case score > 0.5:
		return "run early: may fail"
	case score < 0.2:
		return "may wait: stable"
	}
	return "run as usual"
}

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
			s.Value = string(must(encode(s.Value)))
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
