package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"bareclaw/adapters/httpapi/api"
	apiclient "bareclaw/adapters/httpapi/client"
)

// restarts measures the longest time between two answers on a channel while the gateway is
// restarted, over and over.
func restarts(ctx context.Context, s *server) ([]figure, error) {
	return s.restartGaps(ctx, "restart", "restart")
}

// watched is how many channels somebody watches during a restart.
const watched = 50

// watchedRestarts measures the same while somebody watches many channels, who comes back
// after each restart.
func watchedRestarts(ctx context.Context, s *server) ([]figure, error) {
	watching, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for n := range watched {
		begun := make(chan struct{})
		all.Go(func() { s.watch(watching, n, sync.OnceFunc(func() { close(begun) })) })
		select {
		case <-begun:
		case <-time.After(askTimeout):
			return nil, fmt.Errorf("channel %d cannot be watched", n)
		}
		// As many bytes as are kept of a channel for those who come back, in one large
		// line and in many small ones.
		for _, turn := range []string{"longline 700000", "events 2000"} {
			if _, err := s.askAnew(s.message("watched", n, turn), answered); err != nil {
				return nil, err
			}
		}
	}
	return s.restartGaps(ctx, "restart.watched", fmt.Sprintf("restart, %d watched channels", watched))
}

// watch follows the events of a channel until ctx ends, and connects again when the stream
// ends.
func (s *server) watch(ctx context.Context, n int, begun func()) {
	last := ""
	for ctx.Err() == nil {
		path := "/channels/" + channelName("watched", n) + "/events"
		_ = apiclient.OverTCP(s.addr, "").Stream(ctx, http.MethodGet, path, http.Header{api.HeaderLastEventID: {last}}, nil, begun, func(e apiclient.Event) error {
			last = e.ID
			return nil
		}) // until the new process listens
	}
}

// restartGaps returns the figures of several restarts.
func (s *server) restartGaps(ctx context.Context, id, name string) ([]figure, error) {
	request := s.message("gap", 0, helloText)
	if _, err := s.askAnew(request, answered); err != nil {
		return nil, err
	}
	var gaps []time.Duration
	for range s.lab.plan.restarts {
		gap, err := s.restartGap(ctx, request)
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, gap)
	}
	return []figure{
		ms(id+".p50", name+": longest wait between two answers, median", median(gaps)),
		ms(id+".max", name+": longest wait between two answers, worst of "+strconv.Itoa(len(gaps)), quantile(gaps, 1)),
	}, nil
}

// restartSpan is more than the time from the answer to POST /restart until the new
// process serves.
const restartSpan = 300 * time.Millisecond

// restartGap restarts the gateway once under a client that sends all the time.
func (s *server) restartGap(ctx context.Context, request []byte) (gap time.Duration, err error) {
	restarted := make(chan error, 1)
	go func() { // ends with its answer
		restarted <- apiclient.OverTCP(s.addr, "").Do(ctx, http.MethodPost, "/restart", nil, nil)
	}()
	last, until := time.Time{}, time.Time{}
	for until.IsZero() || time.Now().Before(until) {
		_, err := s.askAnew(request, answered)
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return 0, err
		}
		now := time.Now()
		if !last.IsZero() {
			gap = max(gap, now.Sub(last))
		}
		last = now
		select {
		case err := <-restarted:
			if err != nil {
				return 0, err
			}
			until = now.Add(restartSpan)
		default:
		}
	}
	return gap, nil
}

// recovery measures a start after kill -9, with many sessions that live on.
func recovery(ctx context.Context, s *server) ([]figure, error) {
	n := s.lab.mostChannels()
	_, err := s.crowd(ctx, "recovery", helloText, 0, n, 10)
	if err == nil {
		err = s.startAnew(ctx)
	}
	if err != nil {
		return nil, err
	}
	began := time.Now()
	_, err = s.crowd(ctx, "recovery", helloText, 0, n, n)
	live := strconv.Itoa(n) + " live sessions"
	return []figure{
		ms("recovery.ready", "ready after kill -9, with "+live, s.ready),
		ms("recovery.all", "then until all of the "+live+" have answered a message", time.Since(began)),
	}, err
}
