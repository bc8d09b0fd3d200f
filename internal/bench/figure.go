package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A figure is one measured value of one target.
type figure struct {
	id    string // stable, for goals and JSON
	name  string // for people
	unit  string
	value float64
	note  string // instead of a value: why there is none
}

func (f figure) String() string {
	if f.note != "" {
		return f.note
	}
	if f.unit == "" { // it was counted
		return strconv.Itoa(int(f.value))
	}
	return round(f.value) + " " + f.unit
}

// medians makes one figure of those with the same id, in the order of the first
// ones. One without a value stands for all.
func medians(figures []figure) (out []figure) {
	values := map[string][]float64{}
	for _, f := range figures {
		if len(values[f.id]) == 0 {
			out = append(out, f)
		}
		values[f.id] = append(values[f.id], f.value)
	}
	for i, f := range out {
		all := values[f.id]
		slices.Sort(all)
		out[i].value = (all[(len(all)-1)/2] + all[len(all)/2]) / 2
	}
	return out
}

// round writes a value with about three significant digits.
func round(v float64) string {
	switch abs := math.Abs(v); {
	case abs >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// A row is a figure of all targets.
type row struct {
	ours, baseline *figure
}

// any returns the figure of either target.
func (r row) any() figure {
	if r.ours != nil {
		return *r.ours
	}
	return *r.baseline
}

// ratio is ours by the baseline's; ok is false where there is none.
func (r row) ratio() (ratio float64, ok bool) {
	if r.ours == nil || r.baseline == nil || r.ours.note != "" || r.baseline.note != "" || r.baseline.value <= 0 {
		return 0, false
	}
	return r.ours.value / r.baseline.value, true
}

// A goal is what a figure shall be. Zero fields ask nothing.
type goal struct {
	most       float64 // in the figure's unit
	mostRatio  float64 // of the baseline's
	leastRatio float64
	answered   bool // any value, but a value
	none       bool // 0
}

// goals are the project's, by figure.
func goals() map[string]goal {
	return map[string]goal{
		"start.p50":           {most: 50},
		"warm.p50":            {mostRatio: 0.5},
		"warm.p99":            {mostRatio: 0.5},
		"cold.p50":            {most: 15},
		"load.1.rate":         {leastRatio: 2},
		"load.10.rate":        {leastRatio: 3},
		"load.100.rate":       {leastRatio: 5},
		"load.100.p99":        {mostRatio: 0.4},
		"memory.daemon.0":     {most: 25},
		"memory.daemon.200":   {most: 40},
		"memory.hostpss.200":  {most: 4},
		"events.wall":         {mostRatio: 1},
		"restart.watched.max": {most: 100},
		"reclaim.processes":   {none: true},
		"known.processes":     {none: true},
		"sizes.in.10":         {answered: true},
		"sizes.out.10":        {answered: true},
	}
}

// text says the goal in the words of a table; empty if there is none.
func (g goal) text(unit string) string {
	switch {
	case g.most > 0:
		return fmt.Sprintf("≤ %g %s", g.most, unit)
	case g.mostRatio > 0:
		return fmt.Sprintf("≤ %g×", g.mostRatio)
	case g.leastRatio > 0:
		return fmt.Sprintf("≥ %g×", g.leastRatio)
	case g.answered:
		return "answered"
	case g.none:
		return "none"
	}
	return ""
}

// verdict says whether the row meets the goal: yes, no, or nothing if that
// cannot be told.
func (g goal) verdict(r row) string {
	ratio, known := r.ratio()
	switch {
	case g == goal{} || r.ours == nil:
		return ""
	case g.answered:
		return yes(r.ours.note == "")
	case g.none:
		return yes(r.ours.note == "" && r.ours.value == 0)
	case g.most > 0:
		return yes(r.ours.note == "" && r.ours.value <= g.most)
	case !known:
		return ""
	case g.mostRatio > 0:
		return yes(ratio <= g.mostRatio)
	}
	return yes(ratio >= g.leastRatio)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
