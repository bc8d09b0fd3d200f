package claude

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// errJSON reports bytes without exactly one JSON value of the expected kind.
var errJSON = errors.New("invalid JSON")

// maxNesting is the depth limit of encoding/json too. It bounds the stack for hostile
// lines.
const maxNesting = 10000

// visitor receives one member of an object: the decoded key and the raw value, valid as
// long as the scanned bytes.
type visitor func(key, value []byte)

// eachField validates b as one JSON object and calls visit for each of its top-level
// members in order, so that the last of duplicate keys wins. It accepts the same bytes as
// encoding/json.Valid, in one pass and without allocating.
func eachField(b []byte, visit visitor) error { return each(b, '{', visit) }

// eachElement validates b as one JSON array and calls visit for each element.
func eachElement(b []byte, visit func(value []byte)) error {
	return each(b, '[', func(_, value []byte) { visit(value) })
}

func each(b []byte, opening byte, visit visitor) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != opening {
		return errJSON
	}
	i = scanMembers(b, i, 1, visit)
	if i < 0 || skipSpace(b, i) != len(b) {
		return errJSON
	}
	return nil
}

// validJSON reports whether b is exactly one JSON value.
func validJSON(b []byte) bool {
	i := scanValue(b, skipSpace(b, 0), 0)
	return i >= 0 && skipSpace(b, i) == len(b)
}

// The scan functions below take the index of their part's start and return the index after
// the part, or -1 for invalid bytes. A nil visit only validates.

// scanMembers starts at the opening bracket of an object or an array.
func scanMembers(b []byte, i, depth int, visit visitor) int {
	closing := b[i] + 2 // of [ and {, in ASCII
	if depth > maxNesting {
		return -1
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == closing {
		return i + 1
	}
	for {
		var key []byte // quoted; none in an array
		if closing == '}' {
			start := i
			if i = scanString(b, i); i < 0 {
				return -1
			}
			key = b[start:i]
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i = skipSpace(b, i+1)
		}
		value := i
		if i = scanValue(b, i, depth); i < 0 {
			return -1
		}
		if visit != nil {
			visit(keyOf(key), b[value:i])
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == closing {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

// scanValue starts at the first byte of a value depth levels deep.
func scanValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return scanString(b, i)
	case '{', '[':
		return scanMembers(b, i, depth+1, nil)
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	default:
		return scanNumber(b, i)
	}
}

func scanWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// scanString starts at the opening quote.
func scanString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; ; {
		if i = plainRun(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			if i = scanEscape(b, i+1); i < 0 {
				return -1
			}
		default: // a control character must be escaped
			return -1
		}
	}
}

// plainRun returns the index of the first quote, backslash or control character at or after
// i. It looks at eight bytes a time: most of claude's output is the inside of strings.
func plainRun(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// Each term has the high bit set in a zero byte (or a byte below 0x20); a borrow
		// can only spoil bytes above the first such byte.
		if hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// scanEscape starts after the backslash.
func scanEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		var code [2]byte
		if len(b)-i < 5 {
			return -1
		}
		if _, err := hex.Decode(code[:], b[i+1:i+5]); err != nil {
			return -1
		}
		return i + 5
	}
	return -1
}

// scanNumber follows the grammar of RFC 8259, section 6.
func scanNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i = scanDigits(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = scanDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i
}

func scanDigits(b []byte, i int) int {
	start := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// keyOf returns the decoded key of a quoted one, nil for the element of an array; only an escaped key costs an allocation,
// and claude writes none.
func keyOf(quoted []byte) []byte {
	switch {
	case quoted == nil:
		return nil
	case bytes.IndexByte(quoted, '\\') >= 0:
		return []byte(text(quoted))
	}
	return quoted[1 : len(quoted)-1]
}

// The functions below decode values that the scanner has validated. A value of another kind
// counts as absent.

// text decodes a JSON string, "" for anything else. Like encoding/json it turns invalid
// UTF-8 and lone surrogates into U+FFFD.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	s := value[1 : len(value)-1]
	if bytes.IndexByte(s, '\\') >= 0 {
		s = unescape(s)
	}
	if s != nil && utf8.Valid(s) {
		return string(s)
	}
	var slow string
	_ = json.Unmarshal(value, &slow) // cannot fail
	return slow
}

// unescape resolves the usual escapes, whole runs at a time: turns are mostly prose with few
// escapes. The result is nil for a string with \u.
func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(out, s...)
		}
		which := strings.IndexByte(`"\/bfnrt`, s[i+1])
		if which < 0 {
			return nil
		}
		out = append(append(out, s[:i]...), "\"\\/\b\f\n\r\t"[which])
		s = s[i+2:]
	}
}

func boolean(value []byte) bool { return string(value) == "true" }

// integer reads a JSON number, 0 for anything else. claude writes some counts as fractions.
func integer(value []byte) int64 {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n
	}
	return int64(number(value))
}

func number(value []byte) float64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return 0
	}
	return f
}

// texts reads the strings of an array.
func texts(value []byte) []string {
	var all []string
	_ = eachElement(value, func(v []byte) { // not an array: none
		if v[0] == '"' {
			all = append(all, text(v))
		}
	})
	return all
}

// member reads one string member of an object, "" if absent.
func member(object []byte, name string) string {
	var s string
	_ = eachField(object, func(key, value []byte) { // not an object: ""
		if string(key) == name {
			s = text(value)
		}
	})
	return s
}
