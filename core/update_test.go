package core

import "testing"

func TestUpdateIDUntil(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id, other UpdateID
		want      bool
	}{
		{UpdateID{1, 1}, UpdateID{1, 2}, true},
		{UpdateID{1, 2}, UpdateID{1, 2}, true},
		{UpdateID{1, 3}, UpdateID{1, 2}, false},
		{UpdateID{1, 1}, UpdateID{2, 2}, false},
		{UpdateID{}, UpdateID{}, false},
	} {
		if got := tc.id.Until(tc.other); got != tc.want {
			t.Errorf("%s until %s: %v", tc.id, tc.other, got)
		}
	}
}

func FuzzParseUpdateID(f *testing.F) {
	for _, s := range []string{"", "-", "1-0", "zz-18446744073709551615", "0-1", "A-1", "a-01", "a-+1", "a--1", "é-1", "a-1 "} {
		f.Add(s)
	}
	f.Add(UpdateID{Stream: 1 << 63, Number: 7}.String())
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseUpdateID(s)
		if err == nil && (id.String() != s || id.IsZero()) || err != nil && !id.IsZero() {
			t.Errorf("%q is %v, %v", s, id, err)
		}
	})
}
