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
func eventTurn(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	const directive = "events 10000"
	s, err := l.start(ctx, t, scripted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	p, err := openPipe(l.claude, scripted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	c, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	request := messageRequest(s.addr, channelName("events", 0), directive)
	var bares, walls, cpus []time.Duration
	for i := range l.plan.eventTurns + 1 {
		alone, err := p.exchange(directive) // in turn, so that a busy moment hits both
		if err != nil {
			return nil, err
		}
		daemon, hosts := s.cpu()
		took, err := c.ask(request, nil, bigTimeout)
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return nil, err
		}
		daemonNow, hostsNow := s.cpu()
		if i > 0 { // the first is cold
			bares, walls = append(bares, alone), append(walls, took)
			cpus = append(cpus, daemonNow-daemon+hostsNow-hosts)
		}
	}
	bare := median(bares)
	figures = []figure{
		{id: "events.bare", name: "the fake claude alone, turn of 10,000 events", unit: "ms", value: milliseconds(bare)},
		{id: "events.wall", name: "turn of 10,000 events, added", unit: "ms", value: milliseconds(median(walls) - bare)},
	}
	if median(cpus) == 0 {
		return figures, nil // it cannot be seen
	}
	figures = append(figures, figure{id: "events.cpu", name: "turn of 10,000 events, CPU of daemon and host", unit: "ms", value: milliseconds(median(cpus))})
	return s.sizesAfter(figures, "events", "turns of 10,000 events")
}

// bigMessages measures one large message and one large reply at a time.
func bigMessages(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	s, err := l.start(ctx, t, scripted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	warm, err := dial(s.addr)
	if err != nil {
		return nil, err
	}
	if _, err := warm.ask(messageRequest(s.addr, channelName("sizes", 0), "echo warm"), []byte("warm"), bigTimeout); err != nil {
		return nil, errors.Join(err, warm.conn.Close())
	}
	_ = warm.conn.Close()
	for _, mib := range l.plan.sizes {
		bytes, label := mib<<20, strconv.Itoa(mib)
		in := "size\n" + strings.Repeat("x", bytes-len("size\n"))
		f, err := s.bigOne(ctx, in, "text="+strconv.Itoa(bytes))
		if err != nil {
			return nil, err
		}
		f.id, f.name = "sizes.in."+label, "message of "+label+" MiB, added"
		figures = append(figures, f)
		if f, err = s.bigOne(ctx, "big "+strconv.Itoa(bytes), ""); err != nil {
			return nil, err
		}
		f.id, f.name = "sizes.out."+label, "reply of "+label+" MiB, added"
		figures = append(figures, f)
	}
	return s.sizesAfter(figures, "sizes", "messages and replies of 10 MiB")
}

// bigOne measures one text some times, less what the fake claude takes for it.
// A refusal is a figure too.
func (s *server) bigOne(ctx context.Context, text, want string) (figure, error) {
	p, err := openPipe(s.lab.claude, scripted)
	if err != nil {
		return figure{}, err
	}
	defer func() { _ = p.close() }()
	c, err := dial(s.addr)
	if err != nil {
		return figure{}, err
	}
	defer c.conn.Close()
	request := messageRequest(s.addr, channelName("sizes", 0), text)
	var bares, times []time.Duration
	for range s.lab.plan.sizeRounds {
		alone, err := p.exchange(text)
		if err != nil {
			return figure{}, err
		}
		took, err := c.ask(request, []byte(want), bigTimeout)
		if no, ok := errors.AsType[refusal](err); ok {
			return figure{unit: "ms", note: "refused: " + strconv.Itoa(no.status)}, nil
		}
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return figure{}, err
		}
		bares, times = append(bares, alone), append(times, took)
	}
	return figure{unit: "ms", value: milliseconds(median(times) - median(bares))}, nil
}

// sizesAfter adds what daemon and host weigh after some work.
func (s *server) sizesAfter(figures []figure, id, work string) ([]figure, error) {
	daemon, _, err := sizeOf(s.daemon())
	if errors.Is(err, errCannotSee) {
		return figures, nil
	}
	if err != nil {
		return figures, err
	}
	host := 0.0
	for _, pid := range s.hosts() {
		rss, _, err := sizeOf(pid)
		if err != nil {
			return figures, err
		}
		host = max(host, rss)
	}
	return append(figures,
		figure{id: id + ".daemon", name: "daemon RSS after " + work, unit: "MiB", value: mebibytes(daemon)},
		figure{id: id + ".host", name: "host RSS after " + work, unit: "MiB", value: mebibytes(host)},
	), nil
}
