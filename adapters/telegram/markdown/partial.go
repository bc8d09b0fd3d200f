package markdown

import (
	"regexp"
	"strings"
	"sync"
)

// RenderPartial is Render for Markdown of which more is to come. The document is
// the same except at the end, where it shows what is likely to become of what
// was begun, so that text that is streamed does not change its looks:
//
//   - a last line of nothing but markers (*, #, -, a fence that begins, …), and
//     markers at the end that begin something, are left out until there is more;
//   - bold, italic, strikethrough, spoiler and code within a line that were begun
//     in the last paragraph and not ended are ended there;
//   - a link of which the address is incomplete is its label.
//
// A fence that is open needs no care: it goes to the end, as CommonMark has it. A
// table is text until the line below its header is complete.
func RenderPartial(source string) Document {
	source = withoutMarkers(source)
	source = withoutAddress(withoutRun(source))
	closers := reversed(openRuns(lastParagraph(source)))
	doc := Render(source)
	if closers == "" {
		return doc
	}
	// They are right if each of them, and what they end, is gone.
	closed := Render(strings.TrimRight(source, " \n\r\t") + closers)
	if len(closed.Text) == len(doc.Text)-len(closers) {
		return closed
	}
	return doc
}

// markersOnly is a line that is nothing yet. A box to tick needs its text.
var markersOnly = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?:^|\n)[ \t]*(?:[-+*_=#>`~|!:\\[ \t]+|[-+*] \\[[ xX]?\\]?|[0-9]{1,9}[.)]?)[ \t]*$")
})

// maxTail bounds what is looked at of the end of a text.
const maxTail = 4096

// tail returns the end of a text from which on something may be unfinished.
func tail(source string) string {
	if len(source) <= maxTail {
		return source
	}
	return source[len(source)-maxTail:]
}

// withoutMarkers leaves out a last line of nothing but markers.
func withoutMarkers(source string) string {
	end := tail(source)
	if at := markersOnly().FindStringIndex(end); at != nil && (at[0] > 0 || len(end) == len(source)) {
		return source[:len(source)-len(end)+at[0]]
	}
	return source
}

var openAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`!?\[([^\[\]\n]+)\](?:\([^()\s]*)?$`)
})

// withoutAddress leaves out an address that is incomplete, and the brackets of
// its label.
func withoutAddress(source string) string {
	end := lastParagraph(source)
	at := openAddress().FindStringSubmatchIndex(end)
	if at == nil || !strings.Contains(end[at[0]:], "](") {
		return source
	}
	return source[:len(source)-len(end)+at[0]] + end[at[2]:at[3]]
}

// lastParagraph returns the text behind the last blank line.
func lastParagraph(source string) string {
	end := tail(source)
	return end[1+strings.LastIndex(end, "\n\n"):]
}

// withoutRun leaves out markers at the end that begin something, or are half of
// what ends something.
func withoutRun(source string) string {
	rest := strings.TrimRight(source, source[max(0, len(source)-1):])
	run := source[len(rest):]
	if run == "" || strings.IndexByte(styleMarkers, run[0]) < 0 {
		return source
	}
	if markerRun(run) != "" && (rest == "" || isSpace(rest[len(rest)-1]) || rest[len(rest)-1] == '(') {
		return rest
	}
	open := openRuns(lastParagraph(rest))
	if n := len(open); n > 0 && len(open[n-1]) > len(run) && open[n-1][0] == run[0] {
		return rest
	}
	return source
}

// styleMarkers are what styles within a line begin and end with.
const styleMarkers = "*_~|`"

// openRuns returns the markers of styles that a paragraph begins and does not
// end, as far as one can tell without parsing it.
func openRuns(paragraph string) []string {
	var open []string
	for i := 0; i < len(paragraph); {
		run := markerRun(paragraph[i:])
		switch {
		case run == "" && paragraph[i] == '\\':
			i += 2
			continue
		case run == "":
			i++
			continue
		case run[0] == '`':
			n := strings.Index(paragraph[i+len(run):], run)
			if n < 0 {
				return append(open, run)
			}
			i += n + 2*len(run)
			continue
		}
		next := i + len(run)
		if n := len(open); n > 0 && open[n-1] == run && i > 0 && !isSpace(paragraph[i-1]) {
			open = open[:n-1]
		} else if next < len(paragraph) && !isSpace(paragraph[next]) && (i == 0 || !isWordByte(paragraph[i-1])) {
			open = append(open, run)
		}
		i = next
	}
	return open
}

// markerRun returns the markers that the text begins with, all the same.
func markerRun(text string) string {
	if strings.IndexByte(styleMarkers, text[0]) < 0 {
		return ""
	}
	n := 1
	for n < len(text) && text[n] == text[0] {
		n++
	}
	if (text[0] == '~' || text[0] == '|') && n != 2 {
		return ""
	}
	return text[:n]
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

// reversed returns the runs joined, the last one first.
func reversed(runs []string) string {
	var b strings.Builder
	for i := len(runs) - 1; i >= 0; i-- {
		b.WriteString(runs[i])
	}
	return b.String()
}
