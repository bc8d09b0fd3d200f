package envfile

import (
	"strings"
	"unicode"
)

// find returns the position of the last statement that sets a variable, without the line
// end, and false without such a statement. The text has a valid syntax.
func find(text, name string) (start, end int, ok bool) {
	for at := 0; ; {
		at += len(text[at:]) - len(strings.TrimLeftFunc(text[at:], between))
		if at >= len(text) {
			return start, end, ok
		}
		if text[at] == '#' {
			at += lineLength(text[at:])
			continue
		}
		key, length := statement(text[at:])
		if key == name {
			start, end, ok = at, at+length, true
		}
		at += max(length, 1)
	}
}

// between reports whether a character may stand between statements.
func between(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// statement returns the name and length of the statement at the beginning of a text,
// without a comment, by the grammar of godotenv.
func statement(text string) (name string, length int) {
	sign := strings.IndexAny(text, "=:")
	if sign < 0 {
		return "", lineLength(text)
	}
	name = strings.TrimSpace(text[:sign])
	if word, rest, ok := strings.Cut(name, "export"); ok && word == "" && strings.TrimLeft(rest, " \t") != rest {
		name = strings.TrimSpace(rest)
	}
	rest := text[sign+1:]
	value := strings.TrimLeft(rest, " \t\v\f")
	length = sign + 1 + len(rest) - len(value)
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return name, length + bareLength(value[:lineLength(value)])
	}
	for i := 1; i < len(value); i++ {
		if value[i] == value[0] && value[i-1] != '\\' {
			return name, length + i + 1
		}
	}
	return name, length + len(value)
}

// bareLength is how long a value without quotes is: up to the last # behind a space.
func bareLength(line string) int {
	for i := len(line) - 1; i > 0; i-- {
		if line[i] == '#' && (line[i-1] == ' ' || line[i-1] == '\t') {
			return len(strings.TrimRight(line[:i], " \t"))
		}
	}
	return len(line)
}

// lineLength returns the length of the first line without its end.
func lineLength(text string) int {
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// findExample returns the position after a comment that shows a variable, as in
// .env.example, and false without such a comment.
func findExample(text, name string) (at int, ok bool) {
	for line := range strings.Lines(text) {
		at += len(line)
		shown, isComment := strings.CutPrefix(line, "#")
		if isComment && strings.HasPrefix(strings.TrimLeft(shown, " "), name+"=") && strings.HasSuffix(line, "\n") {
			return at, true
		}
	}
	return 0, false
}
