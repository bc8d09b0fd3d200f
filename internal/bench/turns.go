package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// bigTimeout bounds one big message, in or out.
const bigTimeout = 20 * time.Second

// eventTurn measures a turn that streams 10,000 events.
func eventTurn(ctx context.Context, s *server) ([]figure, error) {
	const events = "events 10000"
	var cpus []time.Duration
	daemon, hosts := time.Duration(0), time.Duration(0)
	before := func() { daemon, hosts = s.cpu() }
	after := func() {
		daemonNow, hostsNow := s.cpu()
		cpus = append(cpus, daemonNow-daemon+hostsNow-hosts)
	}
	bares, walls, err := s.alongside(ctx, "events", events, nil, s.lab.plan.eventTurns+1, before, after)
	if err != nil {
		return nil, err
	}
	bare, cpu := median(bares[1:]), median(cpus[1:]) // the first is cold
	figures := []figure{
		ms("events.bare", "the fake claude alone, turn of 10,000 events", bare),
		ms("events.wall", "turn of 10,000 events, added", median(walls[1:])-bare),
	}
	if cpu == 0 {
		return figures, nil // it cannot be seen
	}
	figures = append(figures, ms("events.cpu", "turn of 10,000 events, CPU of daemon and host", cpu))
	return s.sizesAfter(figures, "events", "turns of 10,000 events")
}

// alongside sends a text to the fake claude alone and to the server, in turn, so that a busy
// moment hits both, and returns how long each took.
func (s *server) alongside(ctx context.Context, scenario, text string, want []byte, rounds int, before, after func()) (bares, times []time.Duration, err error) {
	p, err := openPipe(s.lab.claude, s.mode)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = p.close() }()
	c, err := dial(s.addr)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	request := s.message(scenario, 0, text)
	for range rounds {
		alone, err := p.exchange(text)
		if err != nil {
			return nil, nil, err
		}
		before()
		took, err := c.ask(request, want, bigTimeout)
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return nil, nil, err
		}
		after()
		bares, times = append(bares, alone), append(times, took)
	}
	return bares, times, nil
}

// bigMessages measures one large message and one large reply at a time.
func bigMessages(ctx context.Context, s *server) (figures []figure, err error) {
	if _, err := s.askAnew(s.message("sizes", 0, "echo warm"), []byte("warm")); err != nil {
		return nil, err
	}
	for _, mib := range s.lab.plan.sizes {
		bytes, label := mib<<20, strconv.Itoa(mib)
		in := "size\n" + strings.Repeat("x", bytes-len("size\n"))
		for _, f := range []struct{ id, name, text, want string }{
			{"sizes.in." + label, "message of " + label + " MiB, added", in, "text=" + strconv.Itoa(bytes)},
			{"sizes.out." + label, "reply of " + label + " MiB, added", "big " + strconv.Itoa(bytes), ""},
		} {
			nothing := func() {}
			bares, times, err := s.alongside(ctx, "sizes", f.text, []byte(f.want), s.lab.plan.sizeRounds, nothing, nothing)
			figure := ms(f.id, f.name, median(times)-median(bares))
			if no, ok := errors.AsType[refusal](err); ok { // which is a figure too
				figure.note, err = "refused: "+strconv.Itoa(no.status), nil
			}
			if err != nil {
				return nil, err
			}
			figures = append(figures, figure)
		}
	}
	return s.sizesAfter(figures, "sizes", "messages and replies of 10 MiB")
}

// sizesAfter adds what daemon and host weigh after some work.
func (s *server) sizesAfter(figures []figure, id, work string) ([]figure, error) {
	daemon, _, err := sizeOf(s.daemon())
	if errors.Is(err, errCannotSee) {
		return figures, nil
	}
	host := 0.0
	for _, pid := range s.hosts() {
		rss, _, hostErr := sizeOf(pid)
		host, err = max(host, rss), errors.Join(err, hostErr)
	}
	return append(figures, mib(id+".daemon", "daemon RSS after "+work, daemon), mib(id+".host", "host RSS after "+work, host)), err
}
