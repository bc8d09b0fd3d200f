package visible

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"plain", "ls -l\n\tcd ..", "ls -l\n\tcd .."},
		{"zero width", "a\u200bb", `a\u{200B}b`},
		{"word joiner", "rm \u2060/srv/x", `rm \u{2060}/srv/x`},
		{"soft hyphen", "x\u00ad", `x\u{00AD}`},
		{"tags", "hi\U000E003B\U000E0020", `hi\u{E003B}\u{E0020}`},
		{"tags of a flag", "🏴\U000E0067\U000E007F", `🏴\u{E0067}\u{E007F}`},
		{"variation selectors", "hi\ufe01\ufe0f\U000E0100", `hi\u{FE01}\u{FE0F}\u{E0100}`},
		{"fillers", "hi\u3164\u115f\uffa0", `hi\u{3164}\u{115F}\u{FFA0}`},
		{"direction", "ok \u202e; fr\u2066 x\u061c", `ok \u{202E}; fr\u{2066} x\u{061C}`},
		{"control characters", "a\x1b[31m\x7f\u0085\r", `a\u{001B}[31m\u{007F}\u{0085}\u{000D}`},
		{"lines that are none", "a\u2028b\u2029", `a\u{2028}b\u{2029}`},
		{"blanks", "rm\u00a0-rf\u3000/\u2800", `rm\u{00A0}-rf\u{3000}/\u{2800}`},
		{"byte order mark", "\ufeffx", `\u{FEFF}x`},
		{"grapheme joiner", "a\u034fb", `a\u{034F}b`},
		{"joiners between Latin letters", "a\u200cb\u200dc", `a\u{200C}b\u{200D}c`},
		{"joiner at the end of an emoji", "👩\u200d", `👩\u{200D}`},
		{"joiner after a sign", "می;\u200cx", `می;\u{200C}x`},
		{"bytes", "a\xffb", "a\uFFFDb"},
		{"accents", "é e\u0301 å", "é e\u0301 å"},
		{"Arabic", "نص \u0600١", "نص \u0600١"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Hindi", "क्\u200dष", "क्\u200dष"},
		{"family", "👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"},
		{"tone and heart", "👩🏽\u200d❤\ufe0f\u200d👨🏽 ☺\ufe0f ☺\ufe0e", "👩🏽\u200d❤\ufe0f\u200d👨🏽 ☺\ufe0f ☺\ufe0e"},
		{"keycap", "1\ufe0f\u20e3 1\ufe0f", `1` + "\ufe0f\u20e3" + ` 1\u{FE0F}`},
		{"CJK", "日本語、中文", "日本語、中文"},
	} {
		if got := Text(row.text); got != row.want {
			t.Errorf("%s: Text(%+q) = %+q, want %+q", row.name, row.text, got, row.want)
		}
	}
	if got, want := Prose("«\u00a0a\u200b\u202f»"), "«\u00a0a"+`\u{200B}`+"\u202f»"; got != want {
		t.Errorf("Prose = %+q, want %+q", got, want)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u200b👩\u200d👧 می\u200cخ")
	f.Add("\xff\u202e\U000E0041")
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Errorf("Text(%q) is not UTF-8", s)
		}
		if again := Text(got); again != got {
			t.Errorf("Text(%q) = %q, and again %q", s, got, again)
		}
		if strings.ContainsAny(got, "\u200b\u202e\u2060\x1b\r") {
			t.Errorf("Text(%q) = %q hides something", s, got)
		}
	})
}
