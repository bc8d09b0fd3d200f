package mdtext

import "testing"

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 5, "short"},
		{"one two three four", 15, "one two three…"},
		{"one abcdefghijkl", 10, "one abcde…"},
		{"👍👍👍", 4, "👍…"},
		{"ab🇩🇪x", 5, "ab…"},
		{"👨‍👩‍👧", 4, "…"},
		{"long", 1, "…"},
		{"long", 0, ""},
		{"", 0, ""},
	} {
		if got := Shorten(row.text, row.limit); got != row.want || Units(got) > row.limit {
			t.Errorf("Shorten(%q, %d) = %q, want %q", row.text, row.limit, got, row.want)
		}
	}
}
