package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/go-sourcemap/sourcemap"
)

// maxFrames bounds the lines of a stack that people see.
const maxFrames = 20

// frame finds a position in a line of a stack.
var frame = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<eval>:(\d+):(\d+)`) })

// sourceStack returns a stack of the machine with positions in the file, without the frames of
// the shims, and the first of these positions, which is 0, 0 if there is none.
func (p *program) sourceStack(stack string) (out string, line, column int) {
	if !strings.Contains(stack, "<eval>") {
		return stack, 0, 0
	}
	positions := newPositions(p.sourceMap)
	var lines []string
	for text := range strings.SplitSeq(stack, "\n") {
		if strings.Contains(text, "at __host (native)") {
			continue
		}
		if at := frame().FindStringSubmatchIndex(text); at != nil {
			l, _ := strconv.Atoi(text[at[2]:at[3]])
			c, _ := strconv.Atoi(text[at[4]:at[5]])
			if l, c = positions.find(l, c-1); l == 0 {
				continue
			}
			if line == 0 {
				line, column = l, c
			}
			text = text[:at[0]] + p.place(l, c) + text[at[1]:]
		}
		if len(lines) == maxFrames {
			lines = append(lines, "    ...")
			break
		}
		lines = append(lines, text)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n"), line, column
}

// place returns how people find a position in the file. Who has made the tool knows the code, not the file.
func (p *program) place(line, column int) string {
	place := fmt.Sprintf("%s:%d:%d", p.file, line, column)
	if p.before > 0 && line > p.before {
		place = fmt.Sprintf("code:%d:%d, %s", line-p.before, column, place)
	}
	return place
}

// positions finds positions of code in the source.
type positions struct{ consumer *sourcemap.Consumer }

func newPositions(sourceMap []byte) positions {
	c, _ := sourcemap.Parse("", sourceMap) // esbuild's maps can be parsed; else positions are unknown
	return positions{c}
}

// find returns the position in the source, counted from 1, of a position in the code whose line
// counts from 1 and whose column counts from 0. find returns 0, 0 if there is none.
func (p positions) find(line, column int) (int, int) {
	if p.consumer == nil {
		return 0, 0
	}
	_, _, line, column, ok := p.consumer.Source(line, column)
	if !ok {
		return 0, 0
	}
	return line, column + 1
}

// positionOf returns the line and column, counted from 1, of an offset.
func positionOf(source string, offset int) (line, column int) {
	before := source[:offset]
	return 1 + strings.Count(before, "\n"), offset - strings.LastIndexByte(before, '\n')
}

// utf16Len returns the length of a text in the units that columns of source maps count.
func utf16Len(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
