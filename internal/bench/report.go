package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
)

// A report is what one run found.
type report struct {
	machine machine
	disk    disk
	began   time.Time
	took    time.Duration
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

// markdown writes the report as text for docs/performance.md.
func (r *report) markdown(w io.Writer) error {
	var b strings.Builder
	m := r.machine
	fmt.Fprintf(&b, "%s, %d cores, %s, %s, %s; load average before %s; fdatasync of 4 KiB p50 %s ms, p99 %s ms; %s, %.0f s\n\n",
		m.CPU, m.Cores, m.System, m.Go, m.FileSystem, cmp.Or(m.Load, "unknown"), round(milliseconds(r.disk.p50)), round(milliseconds(r.disk.p99)),
		today(r.began), r.took.Seconds())
	b.WriteString("| figure | baseline | bareclaw | ratio | goal | met |\n|---|---|---|---|---|---|\n")
	for _, id := range r.ids {
		row, g := r.rows[id], goals()[id]
		f := row.any()
		ratio := ""
		if v, ok := row.ratio(); ok {
			ratio = round(v) + "×"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.name, cell(row.baseline), cell(row.ours), ratio, g.text(f.unit), g.verdict(row))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func cell(f *figure) string {
	if f == nil {
		return "–"
	}
	return f.String()
}
