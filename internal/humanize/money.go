// Package humanize writes amounts of USD, durations, sizes and times for people.
package humanize

import (
	"math"
	"strconv"
	"strings"
)

const (
	usual = 2 // decimals
	most  = 9 // less is the noise of sums of amounts
)

// USD writes an amount with two decimals, or as many more as a small one needs for two
// digits.
func USD(usd float64) string { return write(round(usd, places(usd)), usual) }

// USDOfLimit writes an amount spent and the limit. The limit is exact, and rounding never
// reverses the order of the two amounts, nor makes both equal below the limit.
func USDOfLimit(spent, limit float64) (spentText, limitText string) {
	spent, limit = round(spent, most), round(limit, most)
	exact := strings.TrimRight(strconv.FormatFloat(limit, 'f', most, 64), "0")
	_, decimals, _ := strings.Cut(exact, ".")
	n := max(len(decimals), places(spent))
	shown := round(spent, n)
	for ; spent < limit && shown >= limit && n < most; n++ {
		shown = round(spent, n+1)
	}
	return write(shown, usual), write(limit, usual)
}

// places is how many decimals an amount is rounded to by itself.
func places(usd float64) int {
	n := usual
	for small := usd; small > 0 && small < 0.1 && n < most; small *= 10 {
		n++
	}
	return n
}

// RoundUSD removes the rounding noise of a sum of amounts.
func RoundUSD(usd float64) float64 { return math.Round(usd*1e9) / 1e9 }

func round(usd float64, decimals int) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(usd, 'f', decimals, 64), 64)
	if err != nil { // no number can be read back differently
		return usd
	}
	return f
}

// write writes a rounded amount with at least so many decimals, and without further zeros.
func write(usd float64, least int) string {
	text := strconv.FormatFloat(math.Abs(usd), 'f', most, 64)
	whole, decimals, _ := strings.Cut(text, ".")
	for len(decimals) > least && strings.HasSuffix(decimals, "0") {
		decimals = decimals[:len(decimals)-1]
	}
	sign := ""
	if usd < 0 {
		sign = "-"
	}
	return sign + "$" + whole + "." + decimals
}
