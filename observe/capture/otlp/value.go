package otlp

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"bareclaw/observe/capture"
)

// A valueText makes text of a value while a decoder walks through it, and stops at
// capture.MaxSignalText. A value of several parts becomes JSON; one string stays as it is.
type valueText struct {
	text  []byte
	depth int
}

// full reports whether nothing is added any more.
func (v *valueText) full() bool { return len(v.text) >= capture.MaxSignalText || v.depth > maxDepth }

// str adds a string.
func (v *valueText) str(s string) {
	if v.full() {
		return
	}
	s = capture.CutSignalText(s)
	if v.depth == 0 {
		v.text = append(v.text, s...)
		return
	}
	quoted, err := jsontext.AppendQuote(v.text, s)
	if err == nil { // it was made valid
		v.text = quoted
	}
}

// number adds an integer.
func (v *valueText) number(n int64) { v.raw(strconv.FormatInt(n, 10)) }

// float adds a number.
func (v *valueText) float(f float64) { v.raw(strconv.FormatFloat(f, 'g', -1, 64)) }

// boolean adds true or false.
func (v *valueText) boolean(b bool) { v.raw(strconv.FormatBool(b)) }

// raw adds punctuation, or what needs no quotes.
func (v *valueText) raw(s string) {
	if !v.full() {
		v.text = append(v.text, s...)
	}
}

// open begins a value of several parts.
func (v *valueText) open(bracket string) {
	v.raw(bracket)
	v.depth++
}

// next separates a part from the one before.
func (v *valueText) next(index int) {
	if index > 0 {
		v.raw(",")
	}
}

// end ends a value of several parts.
func (v *valueText) end(bracket string) {
	v.depth--
	v.raw(bracket)
}

// String returns the text.
func (v *valueText) String() string { return capture.CutSignalText(string(v.text)) }
