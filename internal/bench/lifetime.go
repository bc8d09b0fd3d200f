package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// handOver measures the longest time between two answers on a channel while the
// gateway is restarted, over and over. Only ours can do that.
func handOver(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	if t.baseline {
		return nil, errCannotSee
	}
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	request := messageRequest(s.addr, channelName("gap", 0), "hello")
	if _, err := s.askAnew(request); err != nil {
		return nil, err
	}
	var gaps []time.Duration
	for range l.plan.restarts {
		gap, err := s.restartGap(ctx, request)
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, gap)
	}
	return []figure{
		{id: "restart.p50", name: "restart: longest wait between two answers, median", unit: "ms", value: milliseconds(median(gaps))},
		{id: "restart.max", name: "restart: longest wait between two answers, worst of " + strconv.Itoa(len(gaps)), unit: "ms", value: milliseconds(quantile(gaps, 1))},
	}, nil
}

// askAnew sends a message on a connection of its own and returns when its answer
// came.
func (s *server) askAnew(request []byte) (time.Time, error) {
	c, err := dial(s.addr)
	if err != nil {
		return time.Time{}, err
	}
	defer c.conn.Close()
	_, err = c.ask(request, okText, askTimeout)
	return time.Now(), err
}

// restartGap restarts the gateway once under a client that sends all the time.
func (s *server) restartGap(ctx context.Context, request []byte) (time.Duration, error) {
	restarted := make(chan error, 1)
	go func() { restarted <- s.restart() }() // ends with its answer
	last, err := s.askAnew(request)
	if err != nil {
		return 0, err
	}
	var gap time.Duration
	until := time.Time{}
	for until.IsZero() || time.Now().Before(until) {
		at, err := s.askAnew(request)
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return 0, err
		}
		gap, last = max(gap, at.Sub(last)), at
		select {
		case err := <-restarted:
			if err != nil {
				return 0, err
			}
			until = time.Now().Add(restartSpan)
		default:
		}
	}
	return gap, nil
}

// restartSpan is more than the time from the answer to POST /restart until the new
// process serves.
const restartSpan = 300 * time.Millisecond

func (s *server) restart() error {
	c, err := dial(s.addr)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	status, body, err := c.do([]byte("POST /restart HTTP/1.1\r\nHost: "+s.addr+"\r\nContent-Length: 0\r\n\r\n"), askTimeout)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("restart: status %d: %s", status, body)
	}
	return err
}

// recovery measures a start after kill -9, with many sessions that live on.
func recovery(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	if t.baseline {
		return nil, errCannotSee
	}
	s, err := l.start(ctx, t, instant)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	n := l.plan.crowds[len(l.plan.crowds)-1]
	talkers, err := s.crowd("recovery", 0, n, 10)
	if err != nil {
		return nil, err
	}
	hangUp(talkers)
	if err := s.startAnew(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if talkers, err = s.crowd("recovery", 0, n, n); err != nil {
		return nil, err
	}
	hangUp(talkers)
	live := strconv.Itoa(n) + " live sessions"
	return []figure{
		{id: "recovery.ready", name: "ready after kill -9, with " + live, unit: "ms", value: milliseconds(s.ready)},
		{id: "recovery.all", name: "then until all of the " + live + " have answered a message", unit: "ms", value: milliseconds(time.Since(began))},
	}, nil
}
