package markdown

import "testing"

func TestBuilder(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Text("**not** bold ").Bold("bold").Text(" ").Italic("it").Pre("go", "\n\tx\n").Text("after").Edit("f", "", "x", Excerpt).Text("end")
	const want = `**not** bold bold it
    x
after
Edit: f
+ x
end
13+4 bold "bold"
18+2 italic "it"
21+5 pre(go) "    x"
33+5 bold "Edit:"
39+1 code "f"
41+3 expandable_blockquote "+ x"
`
	d := b.Document()
	checkSplit(t, d, MaxUnits)
	if got := show(d); got != want {
		t.Errorf("document:\n%s\nwant:\n%s", got, want)
	}
}

func edited(file, before, after string) Document {
	var b Builder
	return b.Edit(file, before, after, Excerpt).Document()
}

func written(file, content string) Document {
	var b Builder
	return b.Write(file, content, Excerpt).Document()
}

// TestBuilderHostile puts texts that Telegram would refuse everywhere.
func TestBuilderHostile(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", " ", "\n", "\t\t", "\x00", "\xff", "\u202e", "\u200b", "a\n", "\na", " 👍 ", "a\u030a", "\r\n", "```", "\ud7ff"} {
		checkSplit(t, composed(s), MaxUnits)
		checkSplit(t, composed(s+"x"+s), 7)
		checkSplit(t, edited(s, s, s+s), MaxUnits)
		checkSplit(t, written(s, s), MaxUnits)
	}
}
