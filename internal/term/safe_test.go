package term

import "testing"

func TestNothingOfATextCommandsTheTerminal(t *testing.T) {
	t.Parallel()
	rows := []struct{ in, text, line string }{
		{"two\nlines\twith a tab", "two\nlines\twith a tab", "two lines with a tab"},
		{"\x1b]0;title\x07red\x1b[31m", "\uFFFD]0;title\uFFFDred\uFFFD[31m", "\uFFFD]0;title\uFFFDred\uFFFD[31m"},
		{"over\rwritten\u202eback", "over\uFFFDwritten\uFFFDback", "over\uFFFDwritten\uFFFDback"},
		{"bad \xff byte \u009b", "bad \uFFFD byte \uFFFD", "bad \uFFFD byte \uFFFD"},
		{"größer ≤ 日本", "größer ≤ 日本", "größer ≤ 日本"},
	}
	for in, want := range map[string]string{
		`["plain", "größer"]`:                    `["plain", "größer"]`,
		"{\"a\x7f\":\n\"\u009b2J\u202e\xff\"}\n": "{\"a\\u007f\":\n\"\\u009b2J\\u202e\uFFFD\"}\n",
	} {
		if got := string(SafeJSON([]byte(in))); got != want {
			t.Errorf("JSON(%q) = %q, want %q", in, got, want)
		}
	}
	if got := SafeSentence("is it so?"); got != "Is it so?" {
		t.Errorf("a question becomes %q", got)
	}
	for _, row := range rows {
		if got := Safe(row.in); got != row.text {
			t.Errorf("Text(%q) = %q, want %q", row.in, got, row.text)
		}
		if got, want := SafeSentence("a "+row.in), "A "+row.line+"."; got != want {
			t.Errorf("Sentence(%q) = %q, want %q", row.in, got, want)
		}
		if got := SafeLine(row.in); got != row.line {
			t.Errorf("Line(%q) = %q, want %q", row.in, got, row.line)
		}
	}
}
