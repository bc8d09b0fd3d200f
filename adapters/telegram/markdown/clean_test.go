package markdown

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":                  "plain\ttext\n",
		"a\x00b\x1b[31mred\x7f\u0085c":   `a\u{0000}b\u{001B}[31mred\u{007F}\u{0085}c`,
		"\xff\xc3(\xed\xa0\x80":          "\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD",
		"a\rb\r\nc\r\r\nd\u2028e\u2029f": "a\nb\nc\n\nd\ne\nf",
		"rm \u202etxt.exe\u2066x\u2069":  `rm \u{202E}txt.exe\u{2066}x\u{2069}`,
		"a\u030angstro\u0308m":           "ångstro\u0308m",
		"U\u030ax\u030a\u030a y\u033f":   `Ůx\u{030A}\u{030A} y\u{033F}`,
		"\u030a\u0333":                   `\u{030A}\u{0333}`,
		"زن\u200cها \u200f👨\u200d👩":      "زن\u200cها \u200f👨\u200d👩",
	} {
		got := Clean(in)
		if got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
		if Clean(got) != got || validText(strings.ReplaceAll(got, "\t", "")) != nil {
			t.Errorf("Clean(%q) = %q is not clean", in, got)
		}
	}
}

// TestCleanAfterParsing shows that characters are dealt with that Markdown
// itself lets in.
func TestCleanAfterParsing(t *testing.T) {
	t.Parallel()
	if got, want := Render("&#x202e;a&#27;b a&#x30a; `x\ty`\tz &#10;w").Text, `\u{202E}a\u{001B}b å x   y z `+"\nw"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestBlankIsNoMessage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{" ", "\n", "", "\u200b\u2800\u3164\u00a0", "\ufe0f\u200d", "\U000E0041"} {
		for _, d := range []Document{Plain(text), Render(text), Render("~~" + text + "~~"), Render("```\n" + text + "\n```")} {
			if !isBlank(strings.ReplaceAll(d.Text, "~", "")) || len(d.Entities) > 0 {
				t.Errorf("%q became %s", text, show(d))
			}
		}
		if m := Plain(text).Split(0); m != nil {
			t.Errorf("%q is %d messages", text, len(m))
		}
	}
}
