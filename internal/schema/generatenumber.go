package schema

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"bareclaw/internal/schema/value"
)

// number makes a number that has the bounds and is a multiple of what the schemas say, exactly.
// An exclusive bound may be hit.
func (all joint) number(integer bool) (any, error) {
	lows, err := all.rationals("minimum", "exclusiveMinimum")
	if err != nil {
		return nil, err
	}
	highs, err := all.rationals("maximum", "exclusiveMaximum")
	if err != nil {
		return nil, err
	}
	units, err := all.rationals("multipleOf")
	if err != nil {
		return nil, err
	}
	if integer {
		units = append(units, big.NewRat(1, 1))
	}
	free := len(units) == 0
	unit := big.NewRat(1, 100)
	if !free {
		unit = units[0]
		for _, u := range units[1:] {
			unit = commonMultiple(unit, u)
		}
	}
	usual := big.NewRat(1000, 1)
	if unit.Cmp(big.NewRat(1, 1)) > 0 {
		usual.Mul(usual, unit)
	}
	low, high := bounds(lows, highs, usual)
	if v := multipleBetween(low, high, unit); v != nil {
		return v, nil
	}
	middle := new(big.Rat).Mul(new(big.Rat).Add(low, high), big.NewRat(1, 2))
	if !free || low.Cmp(high) > 0 {
		return nil, all[0].fault("", "no number is possible")
	}
	return decimal(middle), nil
}

// rationals returns the numbers that the schemas have for the keywords.
func (all joint) rationals(keywords ...string) (numbers []*big.Rat, err error) {
	for _, n := range all {
		for _, keyword := range keywords {
			if text, ok := n.keywords[keyword].(json.Number); ok {
				r, err := rational(text)
				if err != nil {
					return nil, n.fault(keyword, "%v", err)
				}
				numbers = append(numbers, r)
			}
		}
	}
	return numbers, nil
}

// rational refuses numbers with exponents that would need a large memory.
func rational(text json.Number) (*big.Rat, error) {
	f, err := text.Float64()
	if err != nil || f == 0 && value.Compare(text, "0") != 0 {
		return nil, errors.New("is out of range")
	}
	r, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return nil, fmt.Errorf("%s is not a number", text)
	}
	return r, nil
}

// bounds returns the highest of the lows and the lowest of the highs. A bound that is missing is
// the usual distance away from the other.
func bounds(lows, highs []*big.Rat, usual *big.Rat) (low, high *big.Rat) {
	for _, r := range lows {
		if low == nil || r.Cmp(low) > 0 {
			low = r
		}
	}
	for _, r := range highs {
		if high == nil || r.Cmp(high) < 0 {
			high = r
		}
	}
	switch {
	case low == nil && high == nil:
		return new(big.Rat), usual
	case low == nil:
		return new(big.Rat).Sub(high, usual), high
	case high == nil:
		return low, new(big.Rat).Add(low, usual)
	}
	return low, high
}

// commonMultiple returns the least number that is a multiple of both.
func commonMultiple(a, b *big.Rat) *big.Rat {
	divisor := new(big.Int).GCD(nil, nil, a.Num(), b.Num())
	multiple := new(big.Int).Mul(a.Num(), b.Num())
	return new(big.Rat).SetFrac(multiple.Quo(multiple, divisor), new(big.Int).GCD(nil, nil, a.Denom(), b.Denom()))
}

// multipleBetween returns a random multiple of the unit, or nil if there is none.
func multipleBetween(low, high, unit *big.Rat) any {
	first, last := floor(new(big.Rat).Neg(new(big.Rat).Quo(low, unit))), floor(new(big.Rat).Quo(high, unit))
	first.Neg(first) // rounded up
	count := new(big.Int).Sub(last, first)
	if count.Sign() < 0 {
		return nil
	}
	n, err := rand.Int(rand.Reader, count.Add(count, big.NewInt(1)))
	if err != nil {
		return nil // does not happen
	}
	return decimal(new(big.Rat).Mul(unit, new(big.Rat).SetInt(n.Add(n, first))))
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func decimal(r *big.Rat) json.Number {
	digits, _ := r.FloatPrec()
	return json.Number(r.FloatString(digits))
}
