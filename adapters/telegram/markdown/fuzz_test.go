package markdown

import (
	"testing"

	"bareclaw/internal/mdtext"
)

// seeds are sources with something of everything.
func seeds() []string {
	return []string{
		"# a\n\n## b `c` **d**\n\ntext *it **both** it* ~~s~~ ||sp|| [l](https://a.bc/d) ![i](https://a.bc/e)\n",
		"- a\n  - b\n    1. c\n- [ ] d\n- [x] e\n\n1) f\n\n2) g\n",
		"> a\n> > b\n> ```go\n>     x := 1\n> ```\n\n---\n",
		"| a | b |\n|:-:|--:|\n| 日本 | 👍🏽 |\n| `x\\|y` | [l](http://x.yz) |\n",
		"```sh\necho $$ $& $'\n", "2*3*4 __init__ snake_case_name a||b||c ~5", "<b>x</b> &amp; &#0; &#x202e; <std::string>",
		"**a *b*** *c*[**d** e `f`](https://g.hi)**[j](https://k.lm) n**", "[a]: http://b.cd\n[e]: http://f.gh\n[a]",
		"\x00\xff\r\n\ta\u202eb\u2028c a\u030a \U0001F468\u200d\U0001F469\u200d\U0001F467", "`a`" + "`b` `c`\n\n    d\n",
		"[x](javascript:alert(1)) [y](http://localhost:80) [z](tg://user?id=1) <a@b.cd> [](http://a.bc)",
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		checkSplit(t, Render(source), MaxUnits)
		checkSplit(t, RenderPartial(source), MaxUnits)
		checkSplit(t, Plain(source), MaxUnits)
		checkSplit(t, RenderWhole(source), MaxUnits)
		checkSplit(t, composed(source), MaxUnits)
		checkSplit(t, edited(source, source, source[len(source)/2:]), MaxUnits)
	})
}

func FuzzSplit(f *testing.F) {
	for i, s := range seeds() {
		f.Add(s, uint16(i*7))
	}
	f.Fuzz(func(t *testing.T, source string, limit uint16) {
		limit = min(max(limit, minLimit), MaxUnits)
		d := Render(source)
		checkSplit(t, d, int(limit))
		if Length(mdtext.Shorten(source, int(limit))) > int(limit) {
			t.Errorf("%q is longer than %d", mdtext.Shorten(source, int(limit)), limit)
		}
	})
}

// composed puts a text into everything that a Builder has.
func composed(s string) Document {
	var b Builder
	b.Text(s).Bold(s).Italic(s)
	for _, address := range []string{s, "https://example.com/" + s} {
		b.link(address, s, func() { b.write(s) })
	}
	b.Pre(s, s).Edit(s, "", s, Excerpt)
	b.Text(s).Write(s, s, Whole).Text(s)
	return b.Document()
}
