package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A figure is one measured value of one target.
type figure struct {
	id    string // stable, for goals
	name  string // for people
	unit  string
	value float64
	note  string // instead of a value: why there is none
}

// ms is a figure of time, and mib one of size.
func ms(id, name string, d time.Duration) figure {
	return figure{id: id, name: name, unit: "ms", value: milliseconds(d)}
}

func mib(id, name string, bytes float64) figure {
	return figure{id: id, name: name, unit: "MiB", value: bytes / (1 << 20)}
}

func kib(id, name string, bytes int) figure {
	return figure{id: id, name: name, unit: "KiB", value: float64(bytes) / (1 << 10)}
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

// medians replaces the figures of each id by one with the median of their values, in
// the order in which the ids come first. The note is that of the first figure.
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

// quantile returns the smallest sample that a share of q (0 to 1) of all
// samples does not exceed; 0 of none. The samples are sorted in place.
func quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	i := int(q*float64(len(samples)) + 0.999999)
	return samples[min(max(i, 1), len(samples))-1]
}

func median(samples []time.Duration) time.Duration { return quantile(samples, 0.5) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// round writes a value with about three significant digits.
func round(v float64) string {
	decimals := 2
	switch abs := math.Abs(v); {
	case abs >= 100:
		decimals = 0
	case abs >= 10:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// A row is a figure of all targets.
type row struct{ ours, baseline *figure }

// ratio is ours by the baseline's; ok is false where there is none.
func (r row) ratio() (ratio float64, ok bool) {
	if r.ours == nil || r.baseline == nil || r.ours.note != "" || r.baseline.note != "" || r.baseline.value <= 0 {
		return 0, false
	}
	return r.ours.value / r.baseline.value, true
}

// A goal is what a figure shall be: at most, or at least, a value or a ratio to the
// baseline's. One of neither asks for any value.
type goal struct {
	sign    string // "≤" or "≥"
	limit   float64
	isRatio bool
}

// goals are the project's, by figure.
var goals = map[string]goal{
	"start.p50":           {"≤", 50, false},
	"warm.p50":            {"≤", 0.5, true},
	"warm.p99":            {"≤", 0.5, true},
	"cold.p50":            {"≤", 15, false},
	"load.1.rate":         {"≥", 2, true},
	"load.10.rate":        {"≥", 3, true},
	"load.100.rate":       {"≥", 5, true},
	"load.100.p99":        {"≤", 0.4, true},
	"turns.1.cpu":         {"≤", 0.6, true},
	"turns.10.cpu":        {"≤", 0.35, true},
	"turns.100.cpu":       {"≤", 0.3, true},
	"memory.own.0":        {"≤", 7, false},
	"memory.own.200":      {"≤", 22, false},
	"known.after":         {"≤", 25, false},
	"memory.hostpss.200":  {"≤", 4, false},
	"events.wall":         {"≤", 1, true},
	"restart.watched.max": {"≤", 100, false},
	"chatmemory.after":    {"≤", 64, false},
	"tools.call.p50":      {"≤", 5, false},
	"tools.list.p50":      {"≤", 10, false},
	"bags.all.p50":        {"≤", 10, false},
	"bags.list.p50":       {"≤", 1, false},
	"tools.list.ratio":    {"≤", 1.5, false},
	"toolhost.made.p50":   {"≤", 50, false},
	"toolhost.start.p50":  {"≤", 100, false},
	"toolhost.pss":        {"≤", 25, false},
	"observe.added.p50":   {"≤", 0.3, false},
	"observe.rate":        {"≥", 0.8, false},
	"observe.cpu":         {"≤", 1.25, false},
	"observe.spans":       {"≥", 10_000, false},
	"observe.rss":         {"≤", 64, false},

	"observe.get_findings":       {"≤", 20, false},
	"observe.get_endpoints":      {"≤", 20, false},
	"observe.get_request_detail": {"≤", 20, false},
	"observe.verify_fix":         {"≤", 20, false},
	"observe.get_report":         {"≤", 20, false},

	"reclaim.processes": {"≤", 0, false},
	"known.processes":   {"≤", 0, false},
	"sizes.in.10":       {},
	"sizes.out.10":      {},
}

// text says the goal in the words of a table.
func (g goal) text(unit string) string {
	switch {
	case g.sign == "":
		return "answered"
	case g.limit == 0:
		return "none"
	case g.isRatio:
		unit = "×"
	default:
		unit = " " + unit
	}
	return fmt.Sprintf("%s %g%s", g.sign, g.limit, unit)
}

// verdict says whether the row meets the goal: yes, no, or nothing if that cannot be told.
func (g goal) verdict(r row) string {
	if r.ours == nil {
		return ""
	}
	value, known := r.ours.value, r.ours.note == ""
	if g.isRatio {
		if value, known = r.ratio(); !known {
			return ""
		}
	}
	if known && (g.sign == "" || g.sign == "≤" && value <= g.limit || g.sign == "≥" && value >= g.limit) {
		return "yes"
	}
	return "no"
}

// A report is what one run found.
type report struct {
	machine machine
	syncs   []time.Duration // how long it takes to make one page durable
	began   time.Time
	ids     []string // of the rows, in order
	rows    map[string]row
}

// add puts the figures of one target into their rows.
func (r *report) add(t target, figures []figure) {
	if r.rows == nil {
		r.rows = map[string]row{}
	}
	for _, f := range figures {
		row, known := r.rows[f.id]
		if !known {
			r.ids = append(r.ids, f.id)
		}
		if t.baseline {
			row.baseline = &f
		} else {
			row.ours = &f
		}
		r.rows[f.id] = row
	}
}

// markdown returns the report as text for docs/performance.md.
func (r *report) markdown() string {
	var b strings.Builder
	m := r.machine
	fmt.Fprintf(&b, "%s, %d cores, %s, %s, %s; load average before %s; fdatasync of 4 KiB p50 %s ms, p99 %s ms; %s, %.0f s\n\n",
		m.cpu, m.cores, m.system, m.goVersion, m.fileSystem, cmp.Or(m.load, "unknown"), round(milliseconds(median(r.syncs))), round(milliseconds(quantile(r.syncs, 0.99))),
		r.began.Format(time.DateOnly), time.Since(r.began).Seconds())
	b.WriteString("| figure | baseline | bareclaw | ratio | goal | met |\n|---|---|---|---|---|---|\n")
	for _, id := range r.ids {
		row := r.rows[id]
		f := cmp.Or(row.ours, row.baseline)
		ratio, want, met := "", "", ""
		if v, ok := row.ratio(); ok {
			ratio = round(v) + "×"
		}
		if g, ok := goals[id]; ok {
			want, met = g.text(f.unit), g.verdict(row)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.name, cell(row.baseline), cell(row.ours), ratio, want, met)
	}
	return b.String()
}

func cell(f *figure) string {
	if f == nil {
		return "–"
	}
	return f.String()
}
