package setup

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"rsc.io/qr"

	"bareclaw/internal/testkit/check"
)

// TestQRCodeShowsTheLink reads the modules back from both drawings, and holds that of a
// bot with the longest name to a screen of 80 by 24.
func TestQRCodeShowsTheLink(t *testing.T) {
	t.Parallel()
	link := "https://t.me/" + strings.Repeat("b", 29) + "bot?start=" + newCode()
	want, err := qr.Encode(link, qr.L)
	check.OK(t, err)
	half, err := drawQR(link, true)
	check.OK(t, err)
	ascii, err := drawQR(link, false)
	check.OK(t, err)
	rows := strings.Split(strings.TrimSuffix(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(half, ""), "\n"), "\n")
	if width := utf8.RuneCountInString(rows[0]); width > 80 || len(rows) > 22 {
		t.Errorf("it is %d by %d, too large for a screen and the link above", width, len(rows))
	}
	lines := strings.Split(ascii, "\n")
	for y := range want.Size {
		for x := range want.Size {
			cell := []rune(rows[(y+margin)/2])[4+x+margin]
			dark := cell == '█' || cell == '▀' && (y+margin)%2 == 0 || cell == '▄' && (y+margin)%2 == 1
			if dark != want.Black(x, y) {
				t.Fatalf("module %d,%d is %v with half blocks", x, y, dark)
			}
			if dark := lines[y+margin][2*(x+margin)] == '#'; dark != want.Black(x, y) {
				t.Fatalf("module %d,%d is %v in ASCII", x, y, dark)
			}
		}
	}
}

func TestHalfBlocksOnlyWhereTheyAreShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}, true},
		{map[string]string{"TERM": "xterm", "LC_CTYPE": "C.utf8", "LANG": "C"}, true},
		{map[string]string{"TERM": "xterm", "LC_ALL": "C", "LANG": "en_GB.UTF-8"}, false},
		{map[string]string{"TERM": "dumb", "LANG": "en_GB.UTF-8"}, false},
		{map[string]string{"LANG": "en_GB.UTF-8"}, false},
		{map[string]string{"TERM": "xterm"}, false},
	} {
		if got := unicodeTerminal(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}
