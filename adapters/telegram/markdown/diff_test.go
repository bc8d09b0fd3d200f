package markdown

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for range 500 {
		long.WriteString("\tline of a file\n")
	}
	for _, row := range []struct {
		name string
		d    Document
		want string
	}{
		{
			"a change, with context", edited("core/lane.go", "a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nD\ne\nf\ng"),
			"Edit: core/lane.go\n~~b\n~~c\n- d\n+ D\n~~e\n~~f",
		},
		{
			"changes apart", edited("x", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "one\n2\n3\n4\n5\n6\n7\n8\n"),
			"Edit: x\n- 1\n+ one\n~~2\n~~3\n⋯\n~~7\n~~8\n- 9",
		},
		{"something new", edited("x", "", "\tif **a** {\n"), "Edit: x\n+     if **a** {"},
		{"all removed", edited("x", "a\n\nb", ""), "Edit: x\n- a\n- \n- b"},
		{"a line more, none ended", edited("x", "a", "a\nb"), "Edit: x\n~~a\n+ b"},
		{"nothing", edited("x", "a", "a\n"), "Edit: x\nno lines changed"},
		{"a file", written("a b.md", "# T\r\n\r\n\x00"), "Write: a b.md\n+ # T\n+ \n+ \uFFFD"},
		{"an empty file", written("x", ""), "Write: x\nno lines changed"},
		{
			"a long line", written("x", strings.Repeat("x", 5000)),
			"Write: x\n+ " + strings.Repeat("x", maxDiffLineUnits-3) + "…",
		},
		{
			"a long file", written("x", long.String()),
			"Write: x\n" + strings.Repeat("+     line of a file\n", 142) + "… 358 more lines",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.ReplaceAll(row.d.Text, unchanged, "~~"); got != row.want {
				t.Errorf("text:\n%s\nwant:\n%s", got, row.want)
			}
			if messages := checkSplit(t, row.d, MaxUnits); len(messages) != 1 {
				t.Errorf("%d messages", len(messages))
			}
			title, lines, _ := strings.Cut(row.d.Text, "\n")
			what, _, _ := strings.Cut(title, " ")
			if got := row.d.Entities; len(got) != 3 || got[0].Type != "bold" || got[0].Length != Length(what) || got[1].Type != "code" ||
				got[2].Type != "expandable_blockquote" || got[2].Length != Length(lines) {
				t.Errorf("entities of %s", show(row.d))
			}
		})
	}
}

// TestDiffBounds gives it more than anybody would read.
func TestDiffBounds(t *testing.T) {
	t.Parallel()
	var before, after strings.Builder
	for i := range 20000 {
		before.WriteString(strings.Repeat("a", i%50) + "\n")
		after.WriteString(strings.Repeat("b", i%70) + "\n")
	}
	d := edited(strings.Repeat("dir/", 1000), before.String(), after.String())
	if got := len(checkSplit(t, d, MaxUnits)); got != 1 {
		t.Errorf("%d messages", got)
	}
	if n := Length(d.Text); n > 3500 {
		t.Errorf("%d units", n)
	}
}
