package humanize

import (
	"strconv"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	for usd, want := range map[float64]string{
		0: "$0.00", 20: "$20.00", 1.005: "$1.00", 0.5: "$0.50", 0.25: "$0.25", 0.01: "$0.01", 0.0123: "$0.012", 0.0496: "$0.05",
		0.00005: "$0.00005", 0.000034: "$0.000034", 123456.789: "$123456.79", 0.1 + 0.2: "$0.30", 1e-12: "$0.00",
	} {
		if got := USD(usd); got != want {
			t.Errorf("%v is shown as %s, want %s", usd, got, want)
		}
	}
}

func TestOfLimit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		spent, limit float64
		want         string
	}{
		{0.0154, 0.0149, "$0.0154 of $0.0149"}, // was $0.02 of $0.01
		{0.0154, 0.015, "$0.015 of $0.015"},
		{0.02, 0.01, "$0.02 of $0.01"}, // two turns at once
		{0.01, 0.01, "$0.01 of $0.01"},
		{0.1 + 0.2, 0.3, "$0.30 of $0.30"},
		{0.999, 1, "$0.999 of $1.00"},
		{0.99999, 1, "$0.99999 of $1.00"},
		{0, 5, "$0.00 of $5.00"},
		{0.0023, 5, "$0.0023 of $5.00"},
		{1.5, 1, "$1.50 of $1.00"},
		{12.3456, 20, "$12.35 of $20.00"},
		{0.6, 0.5, "$0.60 of $0.50"},
	} {
		spent, limit := USDOfLimit(row.spent, row.limit)
		if got := spent + " of " + limit; got != row.want {
			t.Errorf("%v of %v is shown as %s, want %s", row.spent, row.limit, got, row.want)
		}
	}
}

// FuzzOfLimit holds what is shown to the order of the amounts.
func FuzzOfLimit(f *testing.F) {
	f.Add(0.0154, 0.0149)
	f.Add(0.999999999, 1.0)
	f.Fuzz(func(t *testing.T, spent, limit float64) {
		if !(spent >= 0 && spent <= 1e6 && limit > 1e-9 && limit <= 1e6) {
			t.Skip()
		}
		value := func(s string) float64 {
			v, err := strconv.ParseFloat(strings.TrimPrefix(s, "$"), 64)
			if err != nil {
				t.Fatalf("%s: %v", s, err)
			}
			return v
		}
		a, b := USDOfLimit(spent, limit)
		spent, limit = round(spent, most), round(limit, most)
		if value(b) != limit || spent < limit && value(a) >= value(b) || spent >= limit && value(a) < value(b) {
			t.Errorf("%v of %v is shown as %s of %s", spent, limit, a, b)
		}
	})
}
