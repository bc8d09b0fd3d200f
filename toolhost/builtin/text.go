package builtin

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"

	"bareclaw/core/tools"
	"bareclaw/internal/plainjson"
)

// The bounds of results. Small arguments can make large ones: a long value in many places.
const (
	maxListed = 1000     // differences and matches, of which there is also a count
	maxResult = 10 << 20 // bytes
)

// errTooLarge follows the name of an argument.
var errTooLarge = fmt.Errorf("the result would be larger than %d MiB", maxResult>>20)

func textTools() []tools.Tool {
	return []tools.Tool{
		define("string_diff", "Compare two texts line by line: the lines removed and added, and a unified diff.", diffArgs{Context: 3}, diffStrings),
		define("regex_test", "Match a JavaScript regular expression against a text: all matches with the flag g, otherwise the first.", regexArgs{Flags: "g"}, testRegex),
		define("template_render", "Replace each {{name}} in a text. Strings go in as they are, other values as JSON. {{a.b.0}} reaches into objects and arrays. Placeholders without a value stay, and are listed.", templateArgs{}, renderTemplate),
		define("hash_text", "Hash the UTF-8 bytes of a text.", hashArgs{Algorithm: "sha256"}, hashText),
	}
}

type diffArgs struct {
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	Context  int    `json:"context,omitempty" jsonschema:"how many unchanged lines the unified diff shows around a change" min:"0" max:"1000"`
}

type stringDiff struct {
	Identical bool       `json:"identical"`
	Added     int        `json:"added" jsonschema:"lines that only actual has"`
	Removed   int        `json:"removed" jsonschema:"lines that only expected has"`
	Diffs     []lineDiff `json:"diffs" jsonschema:"the first 1000 lines that are removed or added"`
	Unified   string     `json:"unified"`
}

type lineDiff struct {
	Type string `json:"type" enum:"removed,added"`
	Line int    `json:"line" jsonschema:"its number in expected if removed, in actual if added"`
	Text string `json:"text" jsonschema:"the line without its end"`
}

func diffStrings(_ context.Context, in diffArgs) (stringDiff, error) {
	out := stringDiff{Identical: in.Expected == in.Actual, Diffs: []lineDiff{}}
	unified, err := udiff.ToUnifiedDiff("expected", "actual", in.Expected, udiff.Lines(in.Expected, in.Actual), in.Context)
	if err != nil {
		return out, err
	}
	var text strings.Builder
	if !out.Identical {
		text.WriteString("--- expected\n+++ actual\n")
	}
	for _, hunk := range unified.Hunks {
		out.addHunk(&text, hunk)
	}
	out.Unified = text.String()
	return out, nil
}

// addHunk counts, lists and writes the lines of a hunk. The String method of the library writes
// wrong line numbers for hunks without context.
func (d *stringDiff) addHunk(text *strings.Builder, hunk *udiff.Hunk) {
	var body strings.Builder
	before, after := hunk.FromLine, hunk.ToLine
	for _, l := range hunk.Lines {
		switch l.Kind {
		case udiff.Delete:
			d.add("removed", before, l.Content)
			d.Removed++
			before++
			body.WriteByte('-')
		case udiff.Insert:
			d.add("added", after, l.Content)
			d.Added++
			after++
			body.WriteByte('+')
		default:
			before++
			after++
			body.WriteByte(' ')
		}
		body.WriteString(l.Content)
		if !strings.HasSuffix(l.Content, "\n") {
			body.WriteString("\n\\ No newline at end of file\n")
		}
	}
	fmt.Fprintf(text, "@@ -%s +%s @@\n%s", lineRange(hunk.FromLine, before), lineRange(hunk.ToLine, after), body.String())
}

func (d *stringDiff) add(kind string, line int, content string) {
	if len(d.Diffs) < maxListed {
		d.Diffs = append(d.Diffs, lineDiff{kind, line, strings.TrimSuffix(content, "\n")})
	}
}

// lineRange names the lines from start and before end. No lines are named by the line before them.
func lineRange(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start-1)
	case 1:
		return strconv.Itoa(start)
	default:
		return fmt.Sprintf("%d,%d", start, end-start)
	}
}

type templateArgs struct {
	Template  string         `json:"template"`
	Variables map[string]any `json:"variables"`
}

type rendered struct {
	Result  string   `json:"result"`
	Missing []string `json:"missing" jsonschema:"names without a value, whose placeholders stay"`
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{\s*([^{}\s][^{}]*?)\s*\}\}`)
})

func renderTemplate(_ context.Context, in templateArgs) (rendered, error) {
	var b strings.Builder
	missing, seen, end := []string{}, map[string]bool{}, 0
	for _, at := range placeholder().FindAllStringSubmatchIndex(in.Template, -1) {
		whole, name := in.Template[at[0]:at[1]], in.Template[at[2]:at[3]]
		text, ok := lookUpText(in.Variables, name)
		if !ok {
			text = whole
			if !seen[name] {
				seen[name] = true
				missing = append(missing, name)
			}
		}
		b.WriteString(in.Template[end:at[0]])
		b.WriteString(text)
		if b.Len() > maxResult {
			return rendered{}, fmt.Errorf("template: %w", errTooLarge)
		}
		end = at[1]
	}
	b.WriteString(in.Template[end:])
	return rendered{b.String(), missing}, nil
}

// lookUpText returns the variable with a name: a string as it is, another value as JSON.
func lookUpText(variables map[string]any, name string) (string, bool) {
	value, ok := lookUp(variables, name)
	if text, isText := value.(string); isText || !ok {
		return text, ok
	}
	return string(must(plainjson.Marshal(value))), true // a decoded value can be encoded
}

// lookUp returns the variable with a name, or the one that a path such as a.b.0 leads to.
func lookUp(variables map[string]any, name string) (any, bool) {
	if value, ok := variables[name]; ok {
		return value, true
	}
	var at any = variables
	for step := range strings.SplitSeq(name, ".") {
		switch in := at.(type) {
		case map[string]any:
			value, ok := in[step]
			if !ok {
				return nil, false
			}
			at = value
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			at = in[i]
		default:
			return nil, false
		}
	}
	return at, true
}

type hashArgs struct {
	Text      string `json:"text"`
	Algorithm string `json:"algorithm,omitempty" enum:"md5,sha1,sha256,sha512"`
}

type hashed struct {
	Algorithm string `json:"algorithm"`
	Hash      string `json:"hash" jsonschema:"hexadecimal"`
}

func hashText(_ context.Context, in hashArgs) (hashed, error) {
	var sum []byte
	switch text := []byte(in.Text); in.Algorithm {
	case "md5":
		s := md5.Sum(text)
		sum = s[:]
	case "sha1":
		s := sha1.Sum(text)
		sum = s[:]
	case "sha512":
		s := sha512.Sum512(text)
		sum = s[:]
	default:
		s := sha256.Sum256(text)
		sum = s[:]
	}
	return hashed{in.Algorithm, hex.EncodeToString(sum)}, nil
}
