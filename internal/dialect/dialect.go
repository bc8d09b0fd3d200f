// Package dialect parses the Markdown that Claude writes: CommonMark with tables,
// strikethrough, task lists, formulas and ||spoilers||, minus markup that people and models
// write unintentionally: 2*3*4, snake_case_name, __init__ and a lone ~ stay literal.
package dialect

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdownParser is created on first use, because session hosts run the same binary and
// never parse Markdown. The parser is safe for concurrent use. Package
// goldmark/extension is not used: its expressions for links cost 300 kB in every process.
var markdownParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(append(parser.DefaultBlockParsers(),
			util.Prioritized(numberParser{parser.NewListItemParser()}, 390), // before the parser without numbers
			util.Prioritized(formulaBlockParser{}, 690),
		)...),
		parser.WithInlineParsers(
			util.Prioritized(formulaParser{}, 90),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(taskParser{}, 150),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(&delimiterParser{"*_", 1, 1 << 20, func(n int) ast.Node { return ast.NewEmphasis(n) }}, 500),
			util.Prioritized(&delimiterParser{"~", 2, 2, func(int) ast.Node { return east.NewStrikethrough() }}, 500),
			util.Prioritized(&delimiterParser{"|", 2, 2, func(int) ast.Node { return &Spoiler{} }}, 500),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(tableTransformer{}, 200),
		),
	)
})

// Parse parses Markdown. ok is false for a source with hundreds of nested lists or quotes,
// which would take seconds: show it as plain text. Parse is safe for concurrent use.
func Parse(source []byte) (doc ast.Node, ok bool) {
	if tooDeep().Match(source) {
		return nil, false
	}
	return markdownParser().Parse(text.NewReader(source)), true
}

// MaxDepth limits the quotes and lists opened in a single line. Parsing time grows with
// the square of the depth: a depth of 20,000 takes seconds.
const MaxDepth = 200

// tooDeep matches a line that opens more than MaxDepth quotes and lists.
var tooDeep = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:[ \t]*(?:>|(?:[-+*]|[0-9]+[.)])[ \t])){` + strconv.Itoa(MaxDepth+1) + `}`)
})

// A Spoiler is text enclosed in double bars: ||text||.
type Spoiler struct{ ast.BaseInline }

// kindSpoiler is allocated with the parser, because goldmark numbers kinds globally in
// order of creation.
var kindSpoiler = sync.OnceValue(func() ast.NodeKind { return ast.NewNodeKind("Spoiler") })

// Kind implements ast.Node.
func (*Spoiler) Kind() ast.NodeKind { return kindSpoiler() }

// Dump implements ast.Node.
func (n *Spoiler) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// A delimiterParser parses runs of characters that may open or close a style. A single ~ or |
// is literal: ~ means "about", and | means "or".
type delimiterParser struct {
	chars    string
	min, max int // length of a run
	node     func(length int) ast.Node
}

// Trigger implements parser.InlineParser.
func (p *delimiterParser) Trigger() []byte { return []byte(p.chars) }

// IsDelimiter implements parser.DelimiterProcessor.
func (p *delimiterParser) IsDelimiter(c byte) bool { return bytes.IndexByte([]byte(p.chars), c) >= 0 }

// CanOpenCloser implements parser.DelimiterProcessor.
func (p *delimiterParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

// OnMatch implements parser.DelimiterProcessor.
func (p *delimiterParser) OnMatch(length int) ast.Node { return p.node(length) }

// Parse implements parser.InlineParser. Parse follows CommonMark, except that no style
// begins within a word, an address or a file name pattern: 2*3*4, a||b||c and *.go stay
// literal, and __init__ is a name.
func (p *delimiterParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	if n := dunder(line); n > 0 && before != '_' {
		block.Advance(n)
		return ast.NewTextSegment(segment.WithStop(segment.Start + n))
	}
	d := parser.ScanDelimiter(line, before, p.min, p)
	if d == nil || d.OriginalLength > p.max || before == rune(line[0]) {
		return nil
	}
	n := d.OriginalLength
	if n < len(line) && (inWord(before, line[n], p.max == 2) || inPattern(before, line, n) || inAddress(block.Source()[:segment.Start])) {
		d.CanOpen = false
	}
	d.Segment = segment.WithStop(segment.Start + n)
	block.Advance(n)
	pc.PushDelimiter(d)
	return d
}

// inWord reports whether delimiters between the characters before and after are inside a
// word. Non-ASCII letters never count as part of a word, because many scripts do not
// separate words by spaces. If code is set, a closing bracket counts as a letter.
func inWord(before rune, after byte, code bool) bool {
	if before < 0 || before > 0x7F {
		return false
	}
	if code && (before == ')' || before == ']') {
		return true
	}
	return IsWordByte(byte(before)) && (code || IsWordByte(after))
}

// inPattern reports whether the first n characters of the line are part of a file name
// pattern, such as /tmp/*.log, *.go or **/*.go.
func inPattern(before rune, line []byte, n int) bool {
	rest := line[n:]
	return line[0] == '*' && (before == '/' || n == 1 && rest[0] == '.' || bytes.HasPrefix(rest, []byte("/*")))
}

// inAddress reports whether a text ends within an address, such as https://a.example/b.
func inAddress(text []byte) bool {
	word := text[1+bytes.LastIndexAny(text, " \t\n(<"):]
	return bytes.Contains(word, []byte("://")) || bytes.HasPrefix(word, []byte("www."))
}

// dunder returns the length of a name such as __init__ at the beginning of the line, or
// 0.
func dunder(line []byte) int {
	if !bytes.HasPrefix(line, []byte("__")) {
		return 0
	}
	end := 2
	for end < len(line) && (IsWordByte(line[end]) || line[end] == '_') {
		end++
	}
	name := line[2:end]
	if len(name) < 3 || name[0] == '_' || !bytes.HasSuffix(name, []byte("__")) {
		return 0
	}
	return end
}

// A numberParser parses list items and keeps their numbers.
type numberParser struct{ parser.BlockParser }

// Open implements parser.BlockParser.
func (p numberParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	node, state := p.BlockParser.Open(parent, reader, pc)
	if item, ok := node.(*ast.ListItem); ok {
		digits := bytes.TrimLeft(line, " \t")
		digits = digits[:len(digits)-len(bytes.TrimLeft(digits, "0123456789"))]
		number, _ := strconv.Atoi(string(digits)) // 0 without digits: of a bullet
		item.SetAttributeString(numberAttribute, number)
	}
	return node, state
}

const numberAttribute = "number"

// Numbers returns the numbers of a list's items as they are written. A list that repeats one
// number counts on from there.
func Numbers(n *ast.List) []int {
	var numbers []int
	same := true
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		written, _ := item.AttributeString(numberAttribute)
		number, _ := written.(int)
		numbers = append(numbers, number)
		same = same && number == n.Start
	}
	for i := range numbers {
		if same {
			numbers[i] = n.Start + i
		}
	}
	return numbers
}

const bullet = "• "

// Marker returns the bullet or number of a list item, and the check box of a task, which
// replaces a bullet.
func Marker(n *ast.List, number int, item ast.Node) string {
	marker, box := bullet, ""
	if first := item.FirstChild(); first != nil {
		if task, ok := first.FirstChild().(*east.TaskCheckBox); ok {
			marker, box = "", "☐ "
			if task.IsChecked {
				box = "☑ "
			}
		}
	}
	if n.IsOrdered() {
		marker = strconv.Itoa(number) + string(rune(n.Marker)) + " "
	}
	return marker + box
}

var taskBox = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[([ xX])\]\s*`) })

// A taskParser parses the check box of a task: [ ] or [x] at the beginning of a list item.
type taskParser struct{}

// Trigger implements parser.InlineParser.
func (taskParser) Trigger() []byte { return []byte("[") }

// Parse implements parser.InlineParser.
func (taskParser) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := block.PeekLine()
	box := taskBox().FindSubmatch(line)
	if box == nil {
		return nil
	}
	block.Advance(len(box[0]))
	return east.NewTaskCheckBox(box[1][0] != ' ')
}

// IsWordByte reports whether c is an ASCII letter or digit.
func IsWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
