package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A wire is one connection of a load, with the answer as far as it has come.
type wire struct {
	fd      int
	request []byte
	answer  []byte
	sent    time.Time
}

// drive sends each request on a connection of its own, again and again for some
// time: each waits for its answer before it is sent anew, and is sent at least
// once. It returns all times and how long it really was. One thread serves all
// connections with the least that Linux allows, because it shares the machine
// with what it measures.
func drive(ctx context.Context, addr string, requests [][]byte, d time.Duration) (times []time.Duration, took time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, 0, fmt.Errorf("make an epoll: %w", err)
	}
	defer func() { err = errors.Join(err, unix.Close(poll)) }()
	wires, err := connect(poll, addr, requests)
	defer func() {
		for _, w := range wires {
			err = errors.Join(err, unix.Close(w.fd))
		}
	}()
	if err != nil {
		return nil, 0, err
	}
	times = make([]time.Duration, 0, 1<<16)
	began := time.Now()
	for _, w := range wires {
		if err := w.send(); err != nil {
			return nil, 0, err
		}
	}
	events := make([]unix.EpollEvent, len(wires))
	for open := len(wires); open > 0; {
		n, err := unix.EpollWait(poll, events, int(askTimeout.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, 0, fmt.Errorf("wait for answers: %w", err)
		case n == 0:
			return nil, 0, fmt.Errorf("no answer within %s", askTimeout)
		}
		for _, ev := range events[:n] {
			w := wires[ev.Fd]
			whole, err := w.receive()
			if err != nil {
				return nil, 0, err
			}
			if !whole {
				continue
			}
			times = append(times, time.Since(w.sent))
			if time.Since(began) >= d || ctx.Err() != nil {
				open--
			} else if err := w.send(); err != nil {
				return nil, 0, err
			}
		}
	}
	return times, time.Since(began), context.Cause(ctx)
}

// connect makes a wire for each request, which the epoll knows by its number.
func connect(poll int, addr string, requests [][]byte) (wires []*wire, err error) {
	to, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, err
	}
	peer := &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}
	for i, request := range requests {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return wires, fmt.Errorf("make a socket: %w", err)
		}
		wires = append(wires, &wire{fd: fd, request: request, answer: make([]byte, 0, 16<<10)})
		if err := unix.Connect(fd, peer); err != nil {
			return wires, fmt.Errorf("connect to %s: %w", addr, err)
		}
		if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), unix.SetNonblock(fd, true),
			unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})); err != nil {
			return wires, fmt.Errorf("prepare a socket: %w", err)
		}
	}
	return wires, nil
}

// send sends the request, which is small enough to be taken at once.
func (w *wire) send() error {
	w.answer, w.sent = w.answer[:0], time.Now()
	if n, err := unix.Write(w.fd, w.request); err != nil || n != len(w.request) {
		return fmt.Errorf("sent %d bytes of a request of %d: %w", n, len(w.request), err)
	}
	return nil
}

// receive takes what has come and reports whether the answer is whole. It must be
// a good one.
func (w *wire) receive() (whole bool, err error) {
	n, err := unix.Read(w.fd, w.answer[len(w.answer):cap(w.answer)])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read an answer: %w", err)
	case n == 0:
		return false, fmt.Errorf("the connection or the buffer ended within an answer: %q", w.answer)
	}
	w.answer = w.answer[:len(w.answer)+n]
	head, body, ok := bytes.Cut(w.answer, []byte("\r\n\r\n"))
	if !ok {
		return false, nil
	}
	status, length, err := parseHead(head)
	if err != nil || len(body) < length {
		return false, err
	}
	return true, checkAnswer(status, body, okText)
}

var errNoLength = errors.New("an answer without Content-Length")

// parseHead returns the status of an answer and the length of its body.
func parseHead(head []byte) (status, length int, err error) {
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	if len(line) < len("HTTP/1.1 200") {
		return 0, 0, fmt.Errorf("not a status line: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			return status, length, err
		}
	}
	return 0, 0, errNoLength
}
