package setup

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// margin is the light border in modules. The standard has 4; 2 are enough for phones,
// and leave room for the lines around on a screen of 24.
const margin = 2

// drawQR draws a QR code: with half blocks, two modules to a character, dark on light in
// any colour scheme; or in ASCII, which needs four times the room.
func drawQR(text string, halfBlocks bool) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	glyphs, before, after, rows := [...]string{"  ", "", "", "##"}, "", "\n", 1
	if halfBlocks {
		glyphs, before, after, rows = [...]string{" ", "▄", "▀", "█"}, "    \x1b[30;47m", "\x1b[0m\n", 2
	}
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += rows {
		b.WriteString(before)
		for x := -margin; x < code.Size+margin; x++ {
			glyph := 0
			if code.Black(x, y) { // the upper module
				glyph += 2
			}
			if code.Black(x, y+rows-1) { // the lower module, in ASCII the same
				glyph++
			}
			b.WriteString(glyphs[glyph])
		}
		b.WriteString(after)
	}
	return b.String(), nil
}

// unicodeTerminal reports by the environment whether a terminal shows half blocks and
// colours.
func unicodeTerminal(environ func(string) string) bool {
	if kind := environ("TERM"); kind == "" || kind == "dumb" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // the first non-empty variable decides
		if locale := strings.ToUpper(environ(name)); locale != "" {
			return strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
		}
	}
	return false
}
