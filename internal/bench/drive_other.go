//go:build !linux

package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// drive sends each request on a connection of its own, again and again for some
// time: each waits for its answer before it is sent anew, and is sent at least
// once. It returns all times and how long it really was.
func drive(ctx context.Context, addr string, requests [][]byte, d time.Duration) (times []time.Duration, took time.Duration, err error) {
	talkers := make([]*talker, len(requests))
	defer hangUp(talkers)
	for i, request := range requests {
		c, err := dial(addr)
		if err != nil {
			return nil, 0, err
		}
		talkers[i] = &talker{client: c, request: request}
	}
	errs := make([]error, len(talkers))
	began := time.Now()
	var all sync.WaitGroup
	for i, t := range talkers {
		all.Go(func() {
			errs[i] = t.once()
			for time.Since(began) < d && ctx.Err() == nil && errs[i] == nil {
				errs[i] = t.once()
			}
		})
	}
	all.Wait()
	took = time.Since(began)
	for _, t := range talkers {
		times = append(times, t.times...)
	}
	return times, took, errors.Join(context.Cause(ctx), errors.Join(errs...))
}
