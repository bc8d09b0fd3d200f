package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// handOver measures the longest time between two answers on a channel while the
// gateway is restarted, over and over. Only ours can do that.
func handOver(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	if t.baseline {
		return nil, errCannotSee
	}
	if figures, err = l.restarts(ctx, t, instant, 0, nil); err != nil {
		return nil, err
	}
	return l.restarts(ctx, t, scripted, watchedChannels, figures)
}

// restarts adds the figures of restarts while so many channels are watched.
func (l *lab) restarts(ctx context.Context, t target, m mode, watched int, figures []figure) (_ []figure, err error) {
	s, err := l.start(ctx, t, m)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	request := messageRequest(s.addr, channelName("gap", 0), "hello")
	if _, err := s.askAnew(request); err != nil {
		return nil, err
	}
	id, name := "restart", "restart"
	if watched > 0 {
		end, err := s.watchedChannels(ctx, watched)
		if err != nil {
			return nil, err
		}
		defer end()
		id, name = "restart.watched", fmt.Sprintf("restart, %d watched channels", watched)
	}
	return s.restartGaps(ctx, figures, id, name, l.plan.restarts, request)
}

// restartGaps adds the figures of several restarts.
func (s *server) restartGaps(ctx context.Context, figures []figure, id, name string, times int, request []byte) ([]figure, error) {
	var gaps []time.Duration
	for range times {
		gap, err := s.restartGap(ctx, request)
		if err != nil {
			return nil, err
		}
		gaps = append(gaps, gap)
	}
	return append(figures,
		figure{id: id + ".p50", name: name + ": longest wait between two answers, median", unit: "ms", value: milliseconds(median(gaps))},
		figure{id: id + ".max", name: name + ": longest wait between two answers, worst of " + strconv.Itoa(times), unit: "ms", value: milliseconds(quantile(gaps, 1))},
	), nil
}

const (
	// watchedChannels are how many channels somebody watches during a restart.
	watchedChannels = 50
)

// watchedTurns fill what is kept of a channel for those who come back: as many bytes as
// may be, in one large line and in many small ones.
var watchedTurns = []string{"longline 700000", "events 2000"}

// watchedChannels opens channels that somebody watches, who comes back after each restart,
// and has each keep as many events as it may. The returned function ends the watching.
func (s *server) watchedChannels(ctx context.Context, n int) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	end = func() {
		cancel()
		all.Wait()
	}
	for i := range n {
		w := &watcher{url: "http://" + s.addr + "/channels/" + channelName("watched", i) + "/events"}
		watching := make(chan struct{})
		all.Go(func() { w.watch(ctx, sync.OnceFunc(func() { close(watching) })) })
		select {
		case <-watching:
		case <-time.After(askTimeout):
			end()
			return nil, fmt.Errorf("%s cannot be watched", w.url)
		}
		for _, turn := range watchedTurns {
			if _, err := s.askAnew(messageRequest(s.addr, channelName("watched", i), turn)); err != nil {
				end()
				return nil, err
			}
		}
	}
	return end, nil
}

// A watcher follows the events of a channel.
type watcher struct {
	url  string
	last string // id of the last event
}

// watch follows them until ctx ends, and connects again when the stream ends.
func (w *watcher) watch(ctx context.Context, begun func()) {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
		if err != nil {
			return // not begun
		}
		if w.last != "" {
			req.Header.Set("Last-Event-ID", w.last)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			continue // until the new process listens
		}
		begun()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				w.last = id
			}
		}
		_ = res.Body.Close()
	}
}

// answered is in the answer of a message that was not refused and has not failed.
var answered = []byte(`"is_error":false`)

// askAnew sends a message on a connection of its own and returns when its answer
// came.
func (s *server) askAnew(request []byte) (time.Time, error) {
	c, err := dial(s.addr)
	if err != nil {
		return time.Time{}, err
	}
	defer c.conn.Close()
	_, err = c.ask(request, answered, askTimeout)
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
