package dialect

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxFormula and maxFormulaLines limit the length of a formula, in bytes, and the lines of a
// formula within a paragraph. They bound the search for the end of each of many openers.
const (
	maxFormula      = 2000
	maxFormulaLines = 30
)

// mathFences are the openers and closers of formulas, longer openers first.
var mathFences = []struct{ open, close string }{{`$$`, `$$`}, {`\[`, `\]`}, {`\(`, `\)`}, {`$`, `$`}}

// formulaAt returns the length of the formula at the beginning of a text, or 0. A single $
// is an amount of money unless it encloses a backslash within a line. Escaped brackets
// around words stay escapes.
func formulaAt(s []byte) int {
	for _, f := range mathFences {
		if !bytes.HasPrefix(s, []byte(f.open)) {
			continue
		}
		rest := s[len(f.open):min(len(s), maxFormula)]
		n := closerAt(rest, f.close)
		if n <= 0 {
			return 0
		}
		content, after := rest[:n], rest[n+len(f.close):]
		if f.open == "$" && !isInlineMath(content, after) || f.open[0] == '\\' && words().Match(content) {
			return 0
		}
		return len(f.open) + n + len(f.close)
	}
	return 0
}

// closerAt returns the offset of a closer in a text before a blank line, or -1. A backslash
// escapes the character that follows.
func closerAt(s []byte, closer string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case bytes.HasPrefix(s[i:], []byte(closer)):
			return i
		case s[i] == '\\':
			i++
		case s[i] == '\n' && len(bytes.TrimLeft(s[i+1:], " \t")) > 0 && bytes.TrimLeft(s[i+1:], " \t")[0] == '\n':
			return -1
		}
	}
	return -1
}

// isInlineMath reports whether the text between two dollar signs is a formula.
func isInlineMath(content, after []byte) bool {
	first, last := content[0], content[len(content)-1]
	return bytes.IndexByte(content, '\\') >= 0 && !bytes.ContainsAny(content, "\n`") && !isSpace(first) && !isSpace(last) &&
		(len(after) == 0 || after[0] < '0' || after[0] > '9')
}

// words matches words, which are no formula.
var words = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\pL[\pL'’]+(?:[\s,.;:!?]+[\pL'’]+)*[.!?…]*\s*$`)
})

// A formulaParser parses formulas: $…$, $$…$$, \(…\) and \[…\]. They are shown as they are
// written, with their backslashes.
type formulaParser struct{}

// Trigger implements parser.InlineParser.
func (formulaParser) Trigger() []byte { return []byte(`$\`) }

// Parse implements parser.InlineParser.
func (formulaParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	at, segment := block.Position()
	var rest []byte
	for range maxFormulaLines {
		line, _ := block.PeekLine()
		if line == nil || len(rest) >= maxFormula {
			break
		}
		rest = append(rest, line[:min(len(line), maxFormula)]...)
		block.AdvanceLine()
	}
	block.SetPosition(at, segment)
	n := formulaAt(rest)
	if n == 0 {
		return nil
	}
	formula := rest[:n]
	for line, _ := block.PeekLine(); n > len(line); line, _ = block.PeekLine() {
		n -= len(line)
		block.AdvanceLine()
	}
	block.Advance(n)
	return ast.NewString(formula)
}

// A formulaBlockParser parses formulas that begin a line and end on a later line: their lines
// may look like the items of a list. The renderer shows an HTML block as it is written.
type formulaBlockParser struct{}

// Trigger implements parser.BlockParser.
func (formulaBlockParser) Trigger() []byte { return []byte(`$\`) }

// Open implements parser.BlockParser.
func (formulaBlockParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	start := pc.BlockOffset()
	if start < 0 || !bytes.HasPrefix(line[start:], []byte("$$")) && !bytes.HasPrefix(line[start:], []byte(`\[`)) {
		return nil, parser.NoChildren
	}
	n := formulaAt(reader.Source()[segment.Start+start-segment.Padding:])
	if n <= len(bytes.TrimRight(line[start:], "\n")) {
		return nil, parser.NoChildren // the inline parser's
	}
	node := ast.NewHTMLBlock(ast.HTMLBlockType7)
	node.Lines().Append(segment)
	reader.AdvanceToEOL()
	return node, parser.NoChildren
}

// Continue implements parser.BlockParser.
func (formulaBlockParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	lines := node.Lines()
	first, last := lines.At(0), lines.At(lines.Len()-1)
	opener := bytes.TrimLeft(first.Value(reader.Source()), " \t")[:2]
	closer := map[byte]string{'$': "$$", '\\': `\]`}[opener[0]]
	content := last.Value(reader.Source())
	if lines.Len() == 1 {
		content = content[bytes.Index(content, opener)+len(opener):]
	}
	if closerAt(content, closer) >= 0 {
		return parser.Close
	}
	line, segment := reader.PeekLine()
	if line == nil {
		return parser.Close
	}
	node.Lines().Append(segment)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

// Close implements parser.BlockParser.
func (formulaBlockParser) Close(ast.Node, text.Reader, parser.Context) {}

// CanInterruptParagraph implements parser.BlockParser.
func (formulaBlockParser) CanInterruptParagraph() bool { return true }

// CanAcceptIndentedLine implements parser.BlockParser.
func (formulaBlockParser) CanAcceptIndentedLine() bool { return false }

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }
