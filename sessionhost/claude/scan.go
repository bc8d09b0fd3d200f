package claude

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// errJSON reports bytes without exactly one JSON value of the expected kind.
var errJSON = errors.New("invalid JSON")

// maxNesting is the depth limit of encoding/json too. It bounds the stack for hostile
// lines.
const maxNesting = 10000

// visitor receives one member of an object: the decoded key and the raw value, valid as
// long as the scanned bytes.
type visitor func(key, value []byte)

// Fields calls visit for each top-level member of a JSON object, in order, with the decoded
// key and the raw value, valid as long as the object. It fails for anything but one valid
// JSON object.
func Fields(object []byte, visit func(key, value []byte)) error { return eachField(object, visit) }

// eachField validates b as one JSON object and calls visit for each of its top-level
// members in order, so that the last of duplicate keys wins. It accepts the same bytes as
// encoding/json.Valid, in one pass and without allocating.
func eachField(b []byte, visit visitor) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errJSON
	}
	i = scanObject(b, i+1, 1, visit)
	if i < 0 || skipSpace(b, i) != len(b) {
		return errJSON
	}
	return nil
}

// eachElement validates b as one JSON array and calls visit for each element.
func eachElement(b []byte, visit func(value []byte)) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return errJSON
	}
	i = scanArray(b, i+1, 1, visit)
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

// scanObject starts after the opening brace.
func scanObject(b []byte, i, depth int, visit visitor) int {
	if depth > maxNesting {
		return -1
	}
	if i = skipSpace(b, i); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		key := i
		if i = scanString(b, i); i < 0 {
			return -1
		}
		keyEnd := i
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		value := skipSpace(b, i+1)
		if i = scanValue(b, value, depth); i < 0 {
			return -1
		}
		if visit != nil {
			visit(keyOf(b[key:keyEnd]), b[value:i])
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

// scanArray starts after the opening bracket.
func scanArray(b []byte, i, depth int, visit func(value []byte)) int {
	if depth > maxNesting {
		return -1
	}
	if i = skipSpace(b, i); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		value := i
		if i = scanValue(b, i, depth); i < 0 {
			return -1
		}
		if visit != nil {
			visit(b[value:i])
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		if b[i] == ']' {
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
	case '{':
		return scanObject(b, i+1, depth+1, nil)
	case '[':
		return scanArray(b, i+1, depth+1, nil)
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
		if len(b)-i < 5 || hex4(b[i+1:]) < 0 {
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

// keyOf returns the decoded key of a quoted one; only an escaped key costs an allocation,
// and claude writes none.
func keyOf(quoted []byte) []byte {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return []byte(text(quoted))
}
