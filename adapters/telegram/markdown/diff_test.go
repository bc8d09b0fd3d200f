package markdown

import (
	"fmt"
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
		{"nothing", edited("x", "a", "a"), "Edit: x\nno lines changed"},
		{"a line end", edited("x", "a", "a\n"), "Edit: x\nonly the end of the last line changes"},
		{"hidden characters", edited("x", "a\nb", "a\nb\u200b"), "Edit: x\n~~a\n- b\n+ b\\u{200B}"},
		{"an escape becomes what it stands for", edited("x", `b\u{200B}`, "b\u200b"), "Edit: x\n- b\\u{200B}\n+ b\\u{200B}"},
		{"empty lines", edited("x", "a", "a\n"+strings.Repeat("\n", 900)+"b"), "Edit: x\n~~a\n+ ⏎×900\n+ b"},
		{"a name of two lines", written("x\nEdit: y\u2060", "a"), `Write: x\u{000A}Edit: y\u{2060}` + "\n+ a"},
		{"a file", written("a b.md", "# T\r\n\r\n\x00"), `Write: a b.md` + "\n" + `+ # T\u{000D}` + "\n" + `+ \u{000D}` + "\n" + `+ \u{0000}`},
		{"an empty file", written("x", ""), "Write: x\nnothing: the file is empty"},
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

// TestWholeDiff holds that nothing is left out or folded.
func TestWholeDiff(t *testing.T) {
	t.Parallel()
	var before, after, want strings.Builder
	for i := range 600 {
		fmt.Fprintf(&before, "line %d\n", i)
		fmt.Fprintf(&after, "line %d%s\n", i, strings.Repeat("!", i%599/598*1000))
	}
	before.WriteString("\t" + strings.Repeat("x", 5000))
	for i := range 600 {
		if i == 598 {
			fmt.Fprintf(&want, "- line %d\n+ line %d%s\n", i, i, strings.Repeat("!", 1000))
			continue
		}
		fmt.Fprintf(&want, "~~line %d\n", i)
	}
	want.WriteString("-     " + strings.Repeat("x", 5000))
	var b Builder
	d := b.Edit("/x", before.String(), after.String(), Whole).Document()
	if got := strings.ReplaceAll(d.Text, unchanged, "~~"); got != "Edit: /x\n"+want.String() {
		t.Errorf("text:\n%s", got)
	}
	if last := d.Entities[len(d.Entities)-1]; last.Type != "blockquote" {
		t.Errorf("the diff is a %s", last.Type)
	}
	checkSplit(t, d, MaxUnits)
}
