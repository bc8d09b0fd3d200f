package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bareclaw/core/tools"
	"bareclaw/internal/plainjson"
)

func reportTools() []tools.Tool {
	return []tools.Tool{
		define("report_summary", "Summarize the results of tests: how many passed, failed and were skipped.", summaryArgs{Format: "text"}, reportSummary),
		define("report_failures", "Report the tests that failed, with their errors.", failuresArgs{Format: "text"}, reportFailures),
		define("report_timing", "Report how long tests took, and the slowest ones. Skipped tests do not count.", timingArgs{ShowSlowest: 5, SortBy: "duration"}, reportTiming),
	}
}

// results are those of a test suite.
type results struct {
	Name  string       `json:"name,omitempty"`
	Tests []testResult `json:"tests"`
}

type testResult struct {
	Name       string  `json:"name"`
	Status     string  `json:"status" enum:"passed,failed,skipped"`
	Duration   float64 `json:"duration,omitempty" min:"0" max:"1e12" jsonschema:"milliseconds"`
	Error      string  `json:"error,omitempty"`
	Screenshot string  `json:"screenshot,omitempty" jsonschema:"path or URL"`
}

func (r results) title() string {
	return oneLine(cmp.Or(r.Name, "Tests"))
}

func (r results) duration() (total float64) {
	for _, t := range r.Tests {
		total += t.Duration
	}
	return total
}

// sorted returns the tests in the order of a comparison.
func (r results) sorted(compare func(a, b testResult) int) []testResult {
	return slices.SortedStableFunc(slices.Values(r.Tests), compare)
}

func slowestFirst(a, b testResult) int { return cmp.Compare(b.Duration, a.Duration) }

type summaryArgs struct {
	Results results `json:"results"`
	Format  string  `json:"format,omitempty" enum:"text,markdown,json" jsonschema:"of the output"`
}

type summaryResult struct {
	Output  string     `json:"output" jsonschema:"the report"`
	Summary runSummary `json:"summary"`
}

type runSummary struct {
	Name          string  `json:"name,omitempty"`
	Status        string  `json:"status" enum:"passed,failed"`
	Total         int     `json:"total"`
	Passed        int     `json:"passed"`
	Failed        int     `json:"failed"`
	Skipped       int     `json:"skipped"`
	PassRate      float64 `json:"passRate" jsonschema:"percent of all tests; 0 without tests"`
	TotalDuration float64 `json:"totalDuration" jsonschema:"milliseconds"`
}

func reportSummary(_ context.Context, in summaryArgs) (summaryResult, error) {
	s := runSummary{Name: in.Results.Name, Status: "passed", Total: len(in.Results.Tests), TotalDuration: in.Results.duration()}
	for _, t := range in.Results.Tests {
		switch t.Status {
		case "passed":
			s.Passed++
		case "failed":
			s.Failed++
			s.Status = "failed"
		case "skipped":
			s.Skipped++
		}
	}
	s.PassRate = 100 * float64(s.Passed) / float64(max(s.Total, 1))
	rows := [][2]string{
		{"Status", s.Status},
		{"Total", strconv.Itoa(s.Total)},
		{"Passed", strconv.Itoa(s.Passed)},
		{"Failed", strconv.Itoa(s.Failed)},
		{"Skipped", strconv.Itoa(s.Skipped)},
		{"Pass rate", fixed(s.PassRate, 1) + " %"},
		{"Duration", fixed(s.TotalDuration/1000, 2) + " s"},
	}
	var b strings.Builder
	switch in.Format {
	case "json":
		b.WriteString(indented(s))
	case "markdown":
		fmt.Fprintf(&b, "# %s\n\n| | |\n|---|---|\n", in.Results.title())
		for _, row := range rows {
			fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
		}
	default:
		fmt.Fprintf(&b, "%s\n\n", in.Results.title())
		for _, row := range rows {
			fmt.Fprintf(&b, "%-10s %s\n", row[0]+":", row[1])
		}
	}
	return summaryResult{b.String(), s}, nil
}

type failuresArgs struct {
	Results            results `json:"results"`
	Format             string  `json:"format,omitempty" enum:"text,markdown,json" jsonschema:"of the output"`
	IncludeScreenshots bool    `json:"includeScreenshots,omitempty"`
}

type failuresResult struct {
	Output       string       `json:"output" jsonschema:"the report"`
	FailureCount int          `json:"failureCount"`
	Failures     []testResult `json:"failures"`
}

func reportFailures(_ context.Context, in failuresArgs) (failuresResult, error) {
	failures := []testResult{}
	for _, t := range in.Results.Tests {
		if t.Status == "failed" {
			if !in.IncludeScreenshots {
				t.Screenshot = ""
			}
			failures = append(failures, t)
		}
	}
	heading := fmt.Sprintf("%s: %d of %d failed", in.Results.title(), len(failures), len(in.Results.Tests))
	var b strings.Builder
	switch in.Format {
	case "json":
		b.WriteString(indented(map[string]any{"failureCount": len(failures), "failures": failures}))
	case "markdown":
		b.WriteString("# " + heading + "\n")
		for _, t := range failures {
			b.WriteString(t.markdown())
		}
	default:
		b.WriteString(heading + "\n")
		for _, t := range failures {
			b.WriteString(t.text())
		}
	}
	return failuresResult{b.String(), len(failures), failures}, nil
}

func (t testResult) markdown() string {
	// A fence is longer than all in the text.
	fence := "```"
	for strings.Contains(t.Error, fence) {
		fence += "`"
	}
	out := fmt.Sprintf("\n## %s\n\nDuration: %s ms\n\n%s\n%s\n%s\n", oneLine(t.Name), number(t.Duration), fence, cmp.Or(t.Error, "no error is known"), fence)
	if t.Screenshot != "" {
		out += "\nScreenshot: " + oneLine(t.Screenshot) + "\n"
	}
	return out
}

func (t testResult) text() string {
	out := fmt.Sprintf("\n%s (%s ms)\n  %s\n", oneLine(t.Name), number(t.Duration), strings.ReplaceAll(cmp.Or(t.Error, "no error is known"), "\n", "\n  "))
	if t.Screenshot != "" {
		out += "  Screenshot: " + oneLine(t.Screenshot) + "\n"
	}
	return out
}

type timingArgs struct {
	Results     results `json:"results"`
	ShowSlowest int     `json:"showSlowest,omitempty" min:"0" jsonschema:"how many"`
	SortBy      string  `json:"sortBy,omitempty" enum:"name,duration,status" jsonschema:"order of the slowest"`
}

type timingResult struct {
	Output          string       `json:"output" jsonschema:"the report"`
	TotalDuration   float64      `json:"totalDuration" jsonschema:"milliseconds, as all durations"`
	AverageDuration float64      `json:"averageDuration"`
	MedianDuration  float64      `json:"medianDuration"`
	P95Duration     float64      `json:"p95Duration" jsonschema:"95 % of the tests took at most this"`
	Slowest         []testTiming `json:"slowest"`
	Fastest         []testTiming `json:"fastest" jsonschema:"at most 3, the fastest first"`
}

type testTiming struct {
	Name     string  `json:"name"`
	Status   string  `json:"status"`
	Duration float64 `json:"duration"`
	Percent  float64 `json:"percent" jsonschema:"of the total"`
}

func reportTiming(_ context.Context, in timingArgs) (timingResult, error) {
	const mostFastest = 3
	bySpeed := slices.DeleteFunc(in.Results.sorted(slowestFirst), func(t testResult) bool { return t.Status == "skipped" }) // which took no time
	out := timingResult{TotalDuration: in.Results.duration(), Slowest: []testTiming{}, Fastest: []testTiming{}}
	var durations []float64
	for _, t := range slices.Backward(bySpeed) {
		durations = append(durations, t.Duration)
		if len(out.Fastest) < mostFastest {
			out.Fastest = append(out.Fastest, out.timing(t))
		}
	}
	if len(durations) > 0 {
		out.AverageDuration = out.TotalDuration / float64(len(durations))
		out.MedianDuration, out.P95Duration = quantile(durations, 0.5), quantile(durations, 0.95)
	}
	for _, t := range in.order(bySpeed[:min(in.ShowSlowest, len(bySpeed))]) {
		out.Slowest = append(out.Slowest, out.timing(t))
	}
	var b strings.Builder
	ran := strconv.Itoa(len(bySpeed))
	if skipped := len(in.Results.Tests) - len(bySpeed); skipped > 0 {
		ran += fmt.Sprintf(" (and %d skipped)", skipped)
	}
	fmt.Fprintf(&b, "%s: %s in %s s\n\n", in.Results.title(), ran, fixed(out.TotalDuration/1000, 2))
	fmt.Fprintf(&b, "Average %s ms, median %s ms, 95 %% at most %s ms\n", fixed(out.AverageDuration, 0), fixed(out.MedianDuration, 0), fixed(out.P95Duration, 0))
	for _, list := range []struct {
		title string
		tests []testTiming
	}{{"Slowest", out.Slowest}, {"Fastest", out.Fastest}} {
		if len(list.tests) > 0 {
			fmt.Fprintf(&b, "\n%s:\n", list.title)
		}
		for i, t := range list.tests {
			fmt.Fprintf(&b, "  %d. %s: %s ms, %s %%, %s\n", i+1, oneLine(t.Name), number(t.Duration), fixed(t.Percent, 1), t.Status)
		}
	}
	out.Output = b.String()
	return out, nil
}

// order returns the slowest tests in the order that was asked for.
func (in timingArgs) order(slowest []testResult) []testResult {
	switch in.SortBy {
	case "name":
		slices.SortStableFunc(slowest, func(a, b testResult) int { return cmp.Compare(a.Name, b.Name) })
	case "status":
		slices.SortStableFunc(slowest, func(a, b testResult) int { return cmp.Compare(a.Status, b.Status) })
	}
	return slowest
}

func (out *timingResult) timing(t testResult) testTiming {
	percent := 0.0
	if out.TotalDuration > 0 {
		percent = 100 * t.Duration / out.TotalDuration
	}
	return testTiming{t.Name, t.Status, t.Duration, percent}
}

// fixed returns a number with so many digits behind the point; a half is rounded up.
func fixed(f float64, digits int) string {
	unit := math.Pow10(digits)
	if scaled := f * unit; math.Abs(scaled) < 1<<52 {
		f = math.Floor(scaled+0.5) / unit
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func indented(v any) string {
	var b bytes.Buffer
	if err := json.Indent(&b, must(plainjson.Marshal(v)), "", "  "); err != nil {
		panic(err) // what encode returns is JSON
	}
	return b.String()
}
