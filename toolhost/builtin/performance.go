package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"bareclaw/core/tools"
	"bareclaw/internal/schema/value"
)

func performanceTools() []tools.Tool {
	defaults := regressionArgs{Thresholds: thresholds{Percentage: 10, Absolute: 100}}
	return []tools.Tool{define("performance_regression", "Compare measurements of now with those of before, by the median of each metric. More is worse. A change counts if both thresholds are exceeded.", defaults, detectRegression)}
}

type regressionArgs struct {
	Baseline   []sample   `json:"baseline" jsonschema:"measurements of before, each an object of numbers such as {lcp: 1200, cls: 0.02}"`
	Current    []sample   `json:"current" jsonschema:"measurements of now"`
	Thresholds thresholds `json:"thresholds,omitzero"`
}

// A sample has a number or null for each metric.
type sample map[string]any

type thresholds struct {
	Percentage float64 `json:"percentageThreshold,omitempty" min:"0" jsonschema:"percent of the baseline; 10 if absent"`
	Absolute   float64 `json:"absoluteThreshold,omitempty" min:"0" jsonschema:"in the unit of the metric, milliseconds mostly, and in thousandths for cls, which has no unit; 100 if absent"`
}

type regressionResult struct {
	HasRegression bool         `json:"hasRegression"`
	Regressions   []comparison `json:"regressions"`
	Improvements  []comparison `json:"improvements"`
	Stable        []comparison `json:"stable"`
	Uncompared    []string     `json:"uncompared" jsonschema:"metrics that only one side has"`
}

type comparison struct {
	Metric        string   `json:"metric"`
	Baseline      summary  `json:"baseline"`
	Current       summary  `json:"current"`
	Change        float64  `json:"change" jsonschema:"of the median"`
	ChangePercent *float64 `json:"changePercent,omitempty" jsonschema:"absent if the baseline is 0"`
	Severity      string   `json:"severity,omitempty" enum:"warning,critical" jsonschema:"of a regression; critical is more than twice the threshold in percent"`
}

type summary struct {
	Samples int     `json:"samples"`
	Median  float64 `json:"median"`
	P95     float64 `json:"p95" jsonschema:"95 % of the samples are at most this"`
}

func detectRegression(_ context.Context, in regressionArgs) (regressionResult, error) {
	out := regressionResult{Regressions: []comparison{}, Improvements: []comparison{}, Stable: []comparison{}, Uncompared: []string{}}
	baseline, err := byMetric("baseline", in.Baseline)
	if err != nil {
		return out, err
	}
	current, err := byMetric("current", in.Current)
	if err != nil {
		return out, err
	}
	all := maps.Clone(baseline)
	maps.Copy(all, current)
	for _, metric := range slices.Sorted(maps.Keys(all)) {
		if len(baseline[metric]) == 0 || len(current[metric]) == 0 {
			out.Uncompared = append(out.Uncompared, metric)
			continue
		}
		c, weight := in.Thresholds.compare(metric, baseline[metric], current[metric])
		if math.IsInf(c.Change, 0) {
			return out, fmt.Errorf("the numbers of %s are too large to be compared", metric)
		}
		switch {
		case weight > 0:
			out.Regressions = append(out.Regressions, c)
		case weight < 0:
			out.Improvements = append(out.Improvements, c)
		default:
			out.Stable = append(out.Stable, c)
		}
	}
	out.HasRegression = len(out.Regressions) > 0
	return out, nil
}

// byMetric returns the numbers of each metric, sorted.
func byMetric(argument string, samples []sample) (map[string][]float64, error) {
	if len(samples) == 0 {
		return nil, errors.New(argument + " must have a measurement at least")
	}
	all := map[string][]float64{}
	for i, s := range samples {
		for metric, v := range s {
			if v == nil {
				continue
			}
			n, ok := v.(json.Number)
			if !ok {
				return nil, fmt.Errorf("%s[%d].%s must be a number, not %s", argument, i, metric, value.Type(v))
			}
			f, err := n.Float64()
			if err != nil {
				return nil, fmt.Errorf("%s[%d].%s: %w", argument, i, metric, err)
			}
			all[metric] = append(all[metric], f)
		}
	}
	for _, numbers := range all {
		slices.Sort(numbers)
	}
	return all, nil
}

// compare compares sorted numbers of a metric. The weight is above 0 for a regression, below 0 for
// an improvement.
func (t thresholds) compare(metric string, baseline, current []float64) (c comparison, weight int) {
	c = comparison{Metric: metric, Baseline: summarize(baseline), Current: summarize(current)}
	c.Change = c.Current.Median - c.Baseline.Median
	percent := 100 * c.Change / math.Abs(c.Baseline.Median)
	if !math.IsInf(percent, 0) && !math.IsNaN(percent) {
		c.ChangePercent = &percent
	}
	absolute := t.Absolute
	if metric == "cls" {
		absolute /= 1000
	}
	switch {
	case c.Change == 0 || math.Abs(c.Change) <= absolute || math.Abs(percent) <= t.Percentage:
		return c, 0
	case c.Change < 0:
		return c, -1
	}
	c.Severity = "warning"
	if percent > 2*t.Percentage {
		c.Severity = "critical"
	}
	return c, 1
}

func summarize(sorted []float64) summary {
	return summary{len(sorted), quantile(sorted, 0.5), quantile(sorted, 0.95)}
}

// quantile returns the number below which the share q of the sorted numbers lies. Between two
// numbers, quantile interpolates.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	part := at - float64(below)
	return sorted[below]*(1-part) + sorted[above]*part
}
