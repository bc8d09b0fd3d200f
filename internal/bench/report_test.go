package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func sampleReport() report {
	r := report{machine: machine{CPU: "CPU", Cores: 2, System: "Linux", Go: "go1", FileSystem: "ext4"}, began: time.Unix(0, 0).UTC()}
	r.add(target{baseline: true}, []figure{
		{id: "warm.p50", name: "warm", unit: "ms", value: 1},
		{id: "load.10.rate", name: "rate", unit: "/s", value: 1000},
		{id: "sizes.in.10", name: "in", unit: "ms", note: "refused: 413"},
	})
	r.add(target{}, []figure{
		{id: "warm.p50", name: "warm", unit: "ms", value: 0.4},
		{id: "load.10.rate", name: "rate", unit: "/s", value: 2500},
		{id: "sizes.in.10", name: "in", unit: "ms", value: 123.4},
		{id: "cold.p50", name: "cold", unit: "ms", value: 15.5},
	})
	return r
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	var out bytes.Buffer
	if err := r.markdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| warm | 1.00 ms | 0.40 ms | 0.40× | ≤ 0.5× | yes |\n",
		"| rate | 1000 /s | 2500 /s | 2.50× | ≥ 3× | no |\n",
		"| in | refused: 413 | 123 ms |  | answered | yes |\n",
		"| cold | – | 15.5 ms |  | ≤ 15 ms | no |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, c := range []struct {
		samples []time.Duration
		q       float64
		want    time.Duration
	}{
		{nil, 0.5, 0}, {[]time.Duration{7}, 0.99, 7}, {[]time.Duration{3, 1, 2}, 0.5, 2},
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
	} {
		if got := quantile(c.samples, c.q); got != c.want {
			t.Errorf("quantile %g of %d samples = %d, want %d", c.q, len(c.samples), got, c.want)
		}
	}
}

func TestMedians(t *testing.T) {
	t.Parallel()
	got := medians([]figure{{id: "a", value: 3}, {id: "b", value: 5}, {id: "a", value: 1}, {id: "a", value: 2}, {id: "b", value: 7}})
	if want := []figure{{id: "a", value: 2}, {id: "b", value: 6}}; !slices.Equal(got, want) {
		t.Errorf("medians = %v, want %v", got, want)
	}
}
