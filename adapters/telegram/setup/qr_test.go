package setup

import (
	"crypto/rand"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"rsc.io/qr"

	"bareclaw/internal/testkit/check"
)

// TestQRCodeShowsTheLink reads the modules back from the drawing, and holds that of a bot
// with the longest name to a screen of 80 by 24.
func TestQRCodeShowsTheLink(t *testing.T) {
	t.Parallel()
	link := "https://t.me/" + strings.Repeat("b", 29) + "bot?start=" + rand.Text()
	want, err := qr.Encode(link, qr.L)
	check.OK(t, err)
	rows := strings.Split(strings.TrimSuffix(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(drawQR(link), ""), "\n"), "\n")
	if width := utf8.RuneCountInString(rows[0]); width > 80 || len(rows) > 22 {
		t.Errorf("it is %d by %d, too large for a screen and the link above", width, len(rows))
	}
	for y := range want.Size {
		for x := range want.Size {
			cell := []rune(rows[(y+margin)/2])[4+x+margin]
			dark := cell == '█' || cell == '▀' && (y+margin)%2 == 0 || cell == '▄' && (y+margin)%2 == 1
			if dark != want.Black(x, y) {
				t.Fatalf("module %d,%d is %v", x, y, dark)
			}
		}
	}
}
