package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestTablesFit(t *testing.T) {
	t.Parallel()
	red := func(s string) string { return "<" + s + ">" }
	table := &table{widest: []int{6}}
	table.add(text("NAME"), text("STATE"), text(""))
	table.add(text("a very long name"), text("ok").painted(red), text("all that is\nto say"))
	table.add(text("日本語日本語"), text("waiting"), text("x"))
	want := []string{"NAME    STATE", "a ver…  <ok>       all t…", "日本…   waiting  x"}
	if got := table.lines(23); !slices.Equal(got, want) {
		t.Errorf("the table is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := table.lines(7); got[1] != "a ver…" {
		t.Errorf("in 7 columns the row is %q", got[1])
	}
}
