package setup

import (
	"strings"

	"rsc.io/qr"

	"bareclaw/internal/steps"
)

// margin is the light border in modules. The standard has 4; 2 are enough for phones,
// and leave room for the lines around on a screen of 24.
const margin = 2

// drawQR draws a QR code with half blocks, two modules to a character, dark on light in any
// colour scheme.
func drawQR(link string) string {
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		return "" // the link does
	}
	glyphs := [...]string{" ", "▄", "▀", "█"}
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += 2 {
		b.WriteString(steps.Indent + "\x1b[30;47m")
		for x := -margin; x < code.Size+margin; x++ {
			glyph := 0
			if code.Black(x, y) {
				glyph += 2
			}
			if code.Black(x, y+1) {
				glyph++
			}
			b.WriteString(glyphs[glyph])
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String()
}
