package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// askTimeout bounds one message of the scenarios that send short ones.
const askTimeout = 30 * time.Second

// helloText is the message of most scenarios.
const helloText = "hello"

// okText is in a good answer of the instant claude.
var okText = []byte(`"text":"ok"`)

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
	return &talker{client: c, request: messageRequest(s.addr, channelName(scenario, n), s.text)}, nil
}

// once sends the message and keeps its time.
func (t *talker) once() error {
	took, err := t.ask(t.request, okText, askTimeout)
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
