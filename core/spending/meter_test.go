package spending

import (
	"testing"

	"bareclaw/core"
)

// TestMeter: results cost what the session's total grows by, whatever a predecessor saved.
func TestMeter(t *testing.T) {
	t.Parallel()
	type result struct {
		total, cost float64 // as reported
		replayed    bool
		want, sum   float64 // the cost, and the corrected total
	}
	for name, c := range map[string]struct {
		begin   func(*Meter)
		results []result
		process float64
	}{
		"a new session":                      {func(m *Meter) { m.Launch("s", 0) }, []result{{1, 1, false, 1, 1}, {3, 2, false, 2, 3}, {0, 0, false, 0, 3}, {4, 1, false, 1, 4}}, 4},
		"a resumed session":                  {func(m *Meter) { m.Launch("s", 5) }, []result{{7, 2, false, 2, 7}}, 2},
		"the predecessor saved no total":     {func(m *Meter) { m.Launch("s", 5) }, []result{{2, 2, false, 2, 2}, {3, 1, false, 1, 3}}, 3},
		"the ledger is behind":               {func(m *Meter) { m.Launch("s", 0); m.Add(&core.Result{TotalCost: 4, Cost: 4}, false); m.Launch("s", 1) }, []result{{6, 2, false, 2, 6}}, 2},
		"another gateway, recorded before":   {func(m *Meter) { m.Attach("s", 5) }, []result{{3, 1, true, 1, 5}, {7, 2, false, 2, 7}}, 0},
		"another gateway, more than its own": {func(m *Meter) { m.Attach("s", 5) }, []result{{9, 1, false, 4, 9}}, 0},
		"cleared":                            {func(m *Meter) { m.Launch("s", 5); m.Clear("t") }, []result{{2, 2, false, 2, 2}}, 2},
	} {
		var m Meter
		c.begin(&m)
		for i, r := range c.results {
			got := core.Result{TotalCost: r.total, Cost: r.cost}
			if cost := m.Add(&got, r.replayed); cost != r.want || got.TotalCost != r.sum {
				t.Errorf("%s: result %d costs %v of %v, want %v of %v", name, i, cost, got.TotalCost, r.want, r.sum)
			}
		}
		if c.process > 0 && m.InProcess() != c.process {
			t.Errorf("%s: %v in the process, want %v", name, m.InProcess(), c.process)
		}
	}
	var m Meter
	m.Note(&core.Result{})
	if m.Exhausted() {
		t.Error("nothing is exhausted")
	}
	if m.Note(&core.Result{Code: core.CodeMaxBudget}); !m.Exhausted() {
		t.Error("the budget is exhausted")
	}
	if m.Launch("s", 1); m.Exhausted() {
		t.Error("a new process has a new budget")
	}
}
