package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"

	"bareclaw/internal/plainjson"
)

type statsArgs struct {
	Data        []json.Number `json:"data"`
	Percentiles []json.Number `json:"percentiles,omitempty" jsonschema:"each from 0 to 100"`
}

type stats struct {
	Count          int                    `json:"count"`
	Sum            json.Number            `json:"sum"`
	Mean           json.Number            `json:"mean"`
	Median         json.Number            `json:"median"`
	Mode           []json.Number          `json:"mode" jsonschema:"the most frequent numbers; none if no number occurs twice"`
	Min            json.Number            `json:"min"`
	Max            json.Number            `json:"max"`
	Range          json.Number            `json:"range"`
	Variance       json.Number            `json:"variance" jsonschema:"of the data as a whole population"`
	StdDev         json.Number            `json:"stdDev"`
	SampleVariance json.Number            `json:"sampleVariance,omitempty" jsonschema:"of the data as a sample, of 2 numbers or more"`
	SampleStdDev   json.Number            `json:"sampleStdDev,omitempty"`
	Percentiles    map[string]json.Number `json:"percentiles" jsonschema:"by names such as p95"`
}

// numbers are exact: integers, each divided by the same scale.
type numbers struct {
	sorted []*big.Int
	scale  *big.Int
}

// computeStats computes with integers, so that only what is no integer is rounded, once.
func computeStats(ctx context.Context, in statsArgs) (stats, error) {
	if len(in.Data) == 0 {
		return stats{}, errors.New("data: there must be a number at least")
	}
	n, err := newNumbers(in.Data)
	if err != nil {
		return stats{}, err
	}
	sum, squares := new(big.Int), new(big.Int)
	for _, v := range n.sorted {
		if ctx.Err() != nil {
			return stats{}, context.Cause(ctx)
		}
		sum.Add(sum, v)
		squares.Add(squares, new(big.Int).Mul(v, v))
	}
	count := big.NewInt(int64(len(n.sorted)))
	// The sum of squared distances from the mean, times count.
	spread := new(big.Int).Sub(squares.Mul(squares, count), new(big.Int).Mul(sum, sum))
	least, most := n.sorted[0], n.sorted[len(n.sorted)-1]

	var p printer
	out := stats{
		Count:       len(n.sorted),
		Sum:         p.print(n.ratio(sum)),
		Mean:        p.print(n.ratio(sum, count)),
		Median:      p.print(n.percentile(big.NewRat(50, 1))),
		Mode:        []json.Number{},
		Min:         p.print(n.ratio(least)),
		Max:         p.print(n.ratio(most)),
		Range:       p.print(n.ratio(new(big.Int).Sub(most, least))),
		Variance:    p.print(n.ratio(spread, count, count, n.scale)),
		StdDev:      p.printRoot(n.ratio(spread, count, count, n.scale)),
		Percentiles: map[string]json.Number{},
	}
	if len(n.sorted) > 1 {
		others := new(big.Int).Sub(count, big.NewInt(1))
		out.SampleVariance = p.print(n.ratio(spread, count, others, n.scale))
		out.SampleStdDev = p.printRoot(n.ratio(spread, count, others, n.scale))
	}
	for _, v := range n.modes() {
		out.Mode = append(out.Mode, p.print(n.ratio(v)))
	}
	for i, percent := range in.Percentiles {
		rat, name, err := parsePercent(percent)
		if err != nil {
			return stats{}, fmt.Errorf("percentiles[%d]: %w", i, err)
		}
		out.Percentiles[name] = p.print(n.percentile(rat))
	}
	if p.overflow {
		return stats{}, errors.New("data: the numbers are too large for their statistics")
	}
	return out, nil
}

func newNumbers(data []json.Number) (numbers, error) {
	n := numbers{make([]*big.Int, len(data)), big.NewInt(1)}
	exact, rest := make([]*big.Rat, len(data)), new(big.Int)
	for i, text := range data {
		r, ok := parseExact(text)
		if !ok {
			return numbers{}, fmt.Errorf("data[%d]: %.40s is out of range", i, text)
		}
		if rest.Rem(n.scale, r.Denom()).Sign() != 0 {
			common := rest.GCD(nil, nil, n.scale, r.Denom())
			n.scale.Mul(n.scale, new(big.Int).Quo(r.Denom(), common))
		}
		exact[i] = r
	}
	for i, r := range exact {
		n.sorted[i] = new(big.Int).Mul(r.Num(), new(big.Int).Quo(n.scale, r.Denom()))
	}
	slices.SortFunc(n.sorted, (*big.Int).Cmp)
	return n, nil
}

// parseExact takes numbers in the range of floating-point numbers. Smaller ones are 0: a few
// characters such as 1e-999999999 must not become a fraction of as many digits.
func parseExact(text json.Number) (*big.Rat, bool) {
	switch f, err := text.Float64(); {
	case err != nil:
		return nil, false
	case f == 0:
		return new(big.Rat), true
	}
	return new(big.Rat).SetString(string(text))
}

// ratio returns a scaled integer divided by the scale and the divisors.
func (n numbers) ratio(v *big.Int, divisors ...*big.Int) *big.Rat {
	divisor := new(big.Int).Set(n.scale)
	for _, d := range divisors {
		divisor.Mul(divisor, d)
	}
	return new(big.Rat).SetFrac(v, divisor)
}

// percentile returns the value below which so many percent of the numbers are. Between two numbers
// it interpolates linearly.
func (n numbers) percentile(percent *big.Rat) *big.Rat {
	last := int64(len(n.sorted) - 1)
	at := new(big.Rat).Mul(percent, big.NewRat(last, 100))
	below := new(big.Int).Quo(at.Num(), at.Denom())
	i := below.Int64()
	low, high := n.ratio(n.sorted[i]), n.ratio(n.sorted[min(i+1, last)])
	part := at.Sub(at, new(big.Rat).SetInt(below))
	return high.Add(low, high.Mul(part, high.Sub(high, low)))
}

// modes returns the most frequent numbers, in order.
func (n numbers) modes() (modes []*big.Int) {
	most := 2
	for i := 0; i < len(n.sorted); {
		end := i + 1
		for end < len(n.sorted) && n.sorted[end].Cmp(n.sorted[i]) == 0 {
			end++
		}
		if end-i > most {
			most, modes = end-i, nil
		}
		if end-i == most {
			modes = append(modes, n.sorted[i])
		}
		i = end
	}
	return modes
}

// parsePercent returns a percentile and its name, such as p99.9.
func parsePercent(text json.Number) (*big.Rat, string, error) {
	percent, err := text.Float64()
	if err != nil || percent < 0 || percent > 100 {
		return nil, "", fmt.Errorf("%s is not from 0 to 100", text)
	}
	name := strconv.FormatFloat(percent, 'f', -1, 64)
	rat, _ := new(big.Rat).SetString(name)
	return rat, "p" + name, nil
}

// A printer prints integers with all digits and other numbers as the nearest floating-point number.
type printer struct {
	overflow bool // whether a number was too large
}

func (p *printer) print(r *big.Rat) json.Number {
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	f, _ := r.Float64()
	return p.printFloat(f)
}

func (p *printer) printRoot(r *big.Rat) json.Number {
	root := new(big.Float).SetPrec(256).SetRat(r)
	f, _ := root.Sqrt(root).Float64()
	return p.printFloat(f)
}

func (p *printer) printFloat(f float64) json.Number {
	if math.IsInf(f, 0) {
		p.overflow = true
		return "0"
	}
	return json.Number(must(plainjson.Marshal(f)))
}
