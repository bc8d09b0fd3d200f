package builtin

import (
	"cmp"
	"context"
	"slices"

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
