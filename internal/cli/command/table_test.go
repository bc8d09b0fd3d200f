package command

import (
	"slices"
	"strings"
	"testing"

	"bareclaw/internal/term"
)

func TestTablesFit(t *testing.T) {
	t.Parallel()
	table := &Table{Widest: []int{6}}
	table.Add(Text("NAME"), Text("STATE"), Text(""))
	table.Add(Text("a very long name"), Text("ok").Painted(term.Red), Text("all that is\nto say"))
	table.Add(Text("日本語日本語"), Text("waiting"), Text("x"))
	table.Add(Text(""), Text(""), Text("a\u200b"))
	want := []string{"NAME    STATE", "a ver…  \x1b[31mok\x1b[0m       all t…", "日本…   waiting  x", `                 a\u{2…`}
	if got := table.Lines(term.Palette{On: true}, 23); !slices.Equal(got, want) {
		t.Errorf("the table is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := table.Lines(term.Palette{On: true}, 12); got[1] != "a ver…  \x1b[31mok\x1b[0m …" {
		t.Errorf("in 12 columns the row is %q", got[1])
	}
}
