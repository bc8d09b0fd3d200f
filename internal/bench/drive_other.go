//go:build !linux

package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// drive sends each request on a connection of its own, again and again for some
// time: each waits for its answer before it is sent anew, and is sent at least
// once. It returns all times and how long it really was.
func drive(ctx context.Context, addr string, requests [][]byte, d time.Duration) ([]time.Duration, time.Duration, error) {
	times, errs := make([][]time.Duration, len(requests)), make([]error, len(requests))
	began := time.Now()
	var all sync.WaitGroup
	for i, request := range requests {
		all.Go(func() {
			c, err := dial(addr)
			for again := err == nil; again; again = err == nil && ctx.Err() == nil && time.Since(began) < d {
				var took time.Duration
				took, err = c.ask(request, okText, askTimeout)
				times[i] = append(times[i], took)
			}
			if errs[i] = err; c != nil {
				_ = c.Close()
			}
		})
	}
	all.Wait()
	return slices.Concat(times...), time.Since(began), errors.Join(context.Cause(ctx), errors.Join(errs...))
}
