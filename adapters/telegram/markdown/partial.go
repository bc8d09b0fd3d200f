package markdown

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"bareclaw/internal/dialect"
)

// RenderPartial renders Markdown that is still being received. The document equals
// Render's except at the end, where RenderPartial anticipates the likely completion, to
// keep the appearance of streamed text stable:
//
//   - a last line that consists only of markers (*, #, -, an opening fence, …), and
//     opening markers at the end, are omitted until more text follows;
//   - bold, italic, strikethrough, spoiler and inline code opened in the last paragraph
//     are closed at the end;
//   - a link with an incomplete address is shown as the label.
//
// An open fence needs no special treatment: by CommonMark the code extends to the end. A
// table is text until the line below the header is complete.
func RenderPartial(source string) Document {
	source = withoutMarkers(withoutCutANSI(WithoutANSI(source)))
	source = withoutAddress(withoutRun(source))
	open := openRuns(lastParagraph(source))
	slices.Reverse(open)
	closers := strings.Join(open, "")
	doc := Render(source)
	if closers == "" {
		return doc
	}
	// The closers are right if Render consumed every closer together with the opener.
	closed := Render(strings.TrimRight(source, " \n\r\t") + closers)
	if len(closed.Text) == len(doc.Text)-len(closers) {
		return closed
	}
	return doc
}

// markersOnly matches a last line that has no content yet. A task item needs text after
// the box.
var markersOnly = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?:^|\n)[ \t]*(?:[-+*_=#>`~|!:\\[ \t]+|[-+*] \\[[ xX]?\\]?|[0-9]{1,9}[.)]?)[ \t]*$")
})

// maxTail limits the text examined at the end of a source, in bytes.
const maxTail = 4096

func tail(source string) string { return source[max(0, len(source)-maxTail):] }

// withoutMarkers removes a last line that consists only of markers.
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

// withoutAddress removes an incomplete address at the end, and the brackets around the
// label.
func withoutAddress(source string) string {
	end := lastParagraph(source)
	at := openAddress().FindStringSubmatchIndex(end)
	if at == nil || !strings.Contains(end[at[0]:], "](") {
		return source
	}
	return source[:len(source)-len(end)+at[0]] + end[at[2]:at[3]]
}

func lastParagraph(source string) string {
	end := tail(source)
	return end[1+strings.LastIndex(end, "\n\n"):]
}

// withoutRun removes a run of markers at the end that opens a style, or is an incomplete
// closer.
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

// styleMarkers are the delimiter characters of inline styles.
const styleMarkers = "*_~|`"

// openRuns returns the markers of styles that a paragraph opens but does not close, by a
// heuristic without parsing.
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
		} else if next < len(paragraph) && !isSpace(paragraph[next]) && (i == 0 || !dialect.IsWordByte(paragraph[i-1])) {
			open = append(open, run)
		}
		i = next
	}
	return open
}

// markerRun returns the run of identical markers at the beginning of text.
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
