// Package value compares JSON values: nil, bool, json.Number, string, []any and map[string]any.
// Numbers are compared as they are written, without loss of digits.
package value

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bareclaw/internal/plainjson"
)

// Type returns the name of a value's type in JSON Schema, with "number" also for integers.
func Type(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return fmt.Sprintf("%T", v)
}

// Equal reports whether two values are the same. Numbers are the same if they denote the same
// number: 1, 1.0 and 10e-1.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && Compare(a, b) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// Brief returns a value as JSON for a message, shortened to 200 characters.
func Brief(v any) string {
	const most = 200
	b, err := plainjson.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return Shorten(string(b), most)
}

// Shorten returns a text with at most so many characters, and … where some were left out.
func Shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// Key returns a text that only equal values share.
func Key(v any) string {
	var b strings.Builder
	writeKey(&b, v)
	return b.String()
}

func writeKey(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case json.Number:
		d := parse(v)
		fmt.Fprintf(b, "%t %s %d", d.negative, d.digits, d.exponent)
	case string:
		b.WriteString(strconv.Quote(v))
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			writeKey(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Quote(name))
			b.WriteByte(':')
			writeKey(b, v[name])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}

// A decimal is 0.digits × 10^exponent. The digits begin and end with none of the zeros that could
// be left out; no digits are the number 0. A decimal is as short as its text, also of 1e-999999999.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

func parse(n json.Number) decimal {
	text, negative := strings.CutPrefix(string(n), "-")
	var exponent int64
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, _ = strconv.ParseInt(text[i+1:], 10, 48) // at worst the largest there is
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent += int64(len(whole) - (len(whole) + len(fraction) - len(digits)))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}
	}
	return decimal{negative, digits, exponent}
}

// Compare returns -1 if a is less than b, 0 if they denote the same number, and 1 if a is greater.
func Compare(a, b json.Number) int {
	x, y := parse(a), parse(b)
	if x.sign() != y.sign() {
		return cmp.Compare(x.sign(), y.sign())
	}
	return x.sign() * x.compareSize(y)
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func (d decimal) compareSize(e decimal) int {
	return cmp.Or(cmp.Compare(d.exponent, e.exponent), strings.Compare(d.digits, e.digits))
}

// IsInteger reports whether a number has no fraction.
func IsInteger(n json.Number) bool {
	d := parse(n)
	return int64(len(d.digits)) <= max(d.exponent, 0)
}

// IsMultiple reports whether n divided by unit is an integer. Unit must not be 0.
func IsMultiple(n, unit json.Number) bool {
	x, y := parse(n), parse(unit)
	if x.digits == "" {
		return true
	}
	// As integers without zeros at the end, times powers of ten.
	shift := x.exponent - int64(len(x.digits)) - (y.exponent - int64(len(y.digits)))
	if shift < 0 {
		return false
	}
	a, _ := new(big.Int).SetString(x.digits, 10)
	b, _ := new(big.Int).SetString(y.digits, 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(shift), b)
	return a.Mul(a, power).Mod(a, b).Sign() == 0
}
