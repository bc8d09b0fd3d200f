package main

import (
	"slices"
	"time"
)

// quantile returns the smallest sample that a share of q (0 to 1) of all
// samples does not exceed; 0 of none. The samples are sorted in place.
func quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	i := int(q*float64(len(samples)) + 0.999999)
	return samples[min(max(i, 1), len(samples))-1]
}

func median(samples []time.Duration) time.Duration { return quantile(samples, 0.5) }

// mean returns the average, 0 of none.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// mebibytes converts from bytes.
func mebibytes(bytes float64) float64 { return bytes / (1 << 20) }
