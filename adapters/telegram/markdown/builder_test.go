package markdown

import "testing"

func TestBuilder(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Text("**not** bold ").Bold("bold").Text(" ").Italic("it").Code("a*b").Text(" ").Add(Render("[label](https://example.com) [local](http://localhost/)")).Pre("go", "\n\tx\n").Text("after").Quote(true, "quoted").Quote(false, "two\n").Text("end")
	const want = `**not** bold bold ita*b label local (http://localhost/)
    x
after
quoted
two

end
13+4 bold "bold"
18+2 italic "it"
20+3 code "a*b"
24+5 text_link(https://example.com) "label"
56+5 pre(go) "    x"
68+6 expandable_blockquote "quoted"
75+3 blockquote "two"
`
	d := b.Document()
	checkSplit(t, d, MaxUnits)
	if got := show(d); got != want {
		t.Errorf("document:\n%s\nwant:\n%s", got, want)
	}
}

// TestBuilderAdd shows that an added document keeps its formatting, and a block
// its lines.
func TestBuilderAdd(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Text("Tool: ").Add(Render("**a `b`** [c](https://example.com)")).Add(Render("> q **r**")).Add(Render("```sh\nls\n```")).
		Add(Document{}).Bold("end")
	const want = `Tool: a b c
q r
ls
end
6+1 bold "a"
8+1 code "b"
10+1 text_link(https://example.com) "c"
12+3 blockquote "q r"
14+1 bold "r"
16+2 pre(sh) "ls"
19+3 bold "end"
`
	d := b.Document()
	checkSplit(t, d, MaxUnits)
	if got := show(d); got != want {
		t.Errorf("document:\n%s\nwant:\n%s", got, want)
	}
}

// TestBuilderHostile puts texts that Telegram would refuse everywhere.
func TestBuilderHostile(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", " ", "\n", "\t\t", "\x00", "\xff", "\u202e", "\u200b", "a\n", "\na", " 👍 ", "a\u030a", "\r\n", "```", "\ud7ff"} {
		checkSplit(t, composed(s), MaxUnits)
		checkSplit(t, composed(s+"x"+s), 7)
		checkSplit(t, Diff(s, s, s+s), MaxUnits)
		checkSplit(t, Write(s, s), MaxUnits)
	}
}
