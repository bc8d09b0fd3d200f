package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// askTimeout bounds one message of the scenarios that send short ones.
const askTimeout = 30 * time.Second

// A talker is one client that keeps to one channel.
type talker struct {
	*client
	request []byte
	times   []time.Duration
}

// channelName is unlikely to be anybody's: a baseline may keep files by it.
func channelName(scenario string, n int) string {
	return "bench-" + strconv.Itoa(os.Getpid()) + "-" + scenario + "-" + strconv.Itoa(n)
}

// talk connects to the server and prepares the message of a channel.
func (s *server) talk(scenario string, n int) (*talker, error) {
	c, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	return &talker{client: c, request: messageRequest(s.addr, channelName(scenario, n), "hello")}, nil
}

// once sends the message and keeps its time.
func (t *talker) once() error {
	took, err := t.ask(t.request, []byte(`"text":"ok"`), askTimeout)
	t.times = append(t.times, took)
	return err
}

// crowd connects n talkers, of channels first, first+1, …, and lets each send
// one message, at most width at a time: afterwards all channels are warm.
func (s *server) crowd(scenario string, first, n, width int) ([]*talker, error) {
	talkers := make([]*talker, n)
	slots := make(chan struct{}, width)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if talkers[i], errs[i] = s.talk(scenario, first+i); errs[i] == nil {
				errs[i] = talkers[i].once()
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		hangUp(talkers)
		return nil, fmt.Errorf("open %d channels: %w%s", n, errs[firstError(errs)], s.lastWords())
	}
	return talkers, nil
}

func firstError(errs []error) int {
	for i, err := range errs {
		if err != nil {
			return i
		}
	}
	return 0
}

func hangUp(talkers []*talker) {
	for _, t := range talkers {
		if t != nil {
			_ = t.conn.Close()
		}
	}
}

// redial gives the talkers new connections: a server may close those that were
// idle while the last channels were opened.
func (s *server) redial(talkers []*talker) error {
	for _, t := range talkers {
		c, err := dial(s.addr)
		if err != nil {
			return err
		}
		_ = t.conn.Close()
		t.client = c
	}
	return nil
}

// drive lets all talkers send their message again and again for some time:
// each waits for its answer before it sends the next, and sends at least one. It
// returns all times and how long it really was.
func drive(ctx context.Context, talkers []*talker, d time.Duration) ([]time.Duration, time.Duration, error) {
	errs := make([]error, len(talkers))
	began := time.Now()
	var all sync.WaitGroup
	for i, t := range talkers {
		t.times = make([]time.Duration, 0, 1<<12)
		all.Go(func() {
			errs[i] = t.once()
			for time.Since(began) < d && ctx.Err() == nil && errs[i] == nil {
				errs[i] = t.once()
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	var times []time.Duration
	for i, t := range talkers {
		if errs[i] != nil {
			return nil, 0, errs[i]
		}
		times = append(times, t.times...)
	}
	return times, took, context.Cause(ctx)
}
