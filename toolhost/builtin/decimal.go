package builtin

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// A decimal is the exact value of a JSON number, 0.digits × 10^exponent. The digits neither begin
// nor end with 0, so equal numbers are equal decimals: 100, 1e2 and 100.0 are the same.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// maxExponent bounds exponents, so that sums of them are no overflow.
const maxExponent = 1 << 40

func parseDecimal(n json.Number) decimal {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, power := text, "0"
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa, power = text[:at], text[at+1:]
	}
	exponent, _ := strconv.Atoi(power) // the error is a range; the value is the nearest
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	digits := strings.TrimLeft(all, "0")
	leading := len(all) - len(digits)
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}
	}
	return decimal{negative, digits, min(max(exponent, -maxExponent), maxExponent) + len(whole) - leading}
}

// compare returns -1, 0 or 1 as d is less than, equal to or more than other.
func (d decimal) compare(other decimal) int {
	if s := cmp.Compare(d.sign(), other.sign()); s != 0 || d.digits == "" {
		return s
	}
	return d.sign() * cmp.Or(cmp.Compare(d.exponent, other.exponent), strings.Compare(d.digits, other.digits))
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// places returns how many digits the number has behind its point; fewer than 0 if it ends with
// zeros before the point.
func (d decimal) places() int { return len(d.digits) - d.exponent }

// scaled returns the number × 10^places. Places must not be fewer than the number has.
func (d decimal) scaled(places int) *big.Int {
	i, _ := new(big.Int).SetString("0"+d.digits, 10)
	i.Mul(i, powerOfTen(places-d.places()))
	if d.negative {
		i.Neg(i)
	}
	return i
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// String returns a text that equal numbers share.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + "0." + d.digits + "e" + strconv.Itoa(d.exponent)
}
