package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// askTimeout bounds one message of the scenarios that send short ones.
	askTimeout = 30 * time.Second
	// helloText is the message of most scenarios.
	helloText = "hello"
	// maxReplyBytes bounds what a server may answer.
	maxReplyBytes = 64 << 20
)

var (
	// okText is in a good answer of the instant claude.
	okText = []byte(`"text":"ok"`)
	// answered is in the answer of a message that was not refused and has not failed.
	answered = []byte(`"is_error":false`)
)

// A client is one kept-alive connection. It does as little as HTTP/1.1 allows,
// because it shares the machine with what it measures. Not for concurrent use.
type client struct {
	net.Conn

	in   *bufio.Reader
	body bytes.Buffer // of the last reply
}

func dial(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr) //nolint:noctx // loopback: it is refused or done at once
	if err != nil {
		return nil, err
	}
	return &client{Conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}, nil
}

// request returns the bytes of a request without a body.
func (s *server) request(method, path string) []byte {
	return []byte(method + " " + path + " HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Length: 0\r\n\r\n")
}

// message returns the bytes of a POST /message to a channel of the scenario.
func (s *server) message(scenario string, n int, text string) []byte {
	body, err := json.Marshal(map[string]string{"channel": channelName(scenario, n), "text": text})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	head := "POST /message HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	return append([]byte(head), body...)
}

// channelName is unlikely to be anybody's: a baseline may keep files by it.
func channelName(scenario string, n int) string {
	return "bench-" + strconv.Itoa(os.Getpid()) + "-" + scenario + "-" + strconv.Itoa(n)
}

// do sends a request and returns the answer; the body is valid until the next.
func (c *client) do(request []byte, timeout time.Duration) (status int, body []byte, err error) {
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return 0, nil, err
	}
	_, sendErr := c.Write(request)
	// A server that refuses a large body may answer before it has read it.
	reply, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, nil, errors.Join(sendErr, err)
	}
	defer reply.Body.Close()
	c.body.Reset()
	n, err := io.Copy(&c.body, io.LimitReader(reply.Body, maxReplyBytes+1))
	if n > maxReplyBytes {
		err = fmt.Errorf("a reply of more than %d bytes is too long", maxReplyBytes)
	}
	return reply.StatusCode, c.body.Bytes(), err
}

// A refusal is an answer other than 200.
type refusal struct {
	status int
	body   string
}

func (r refusal) Error() string { return fmt.Sprintf("status %d: %s", r.status, r.body) }

// ask sends a message and returns how long the answer took. It must be a 200
// with the given text in it.
func (c *client) ask(request, want []byte, timeout time.Duration) (time.Duration, error) {
	began := time.Now()
	status, body, err := c.do(request, timeout)
	took := time.Since(began)
	if err != nil {
		return took, err
	}
	return took, checkAnswer(status, body, want)
}

// checkAnswer returns an error unless it is a good answer with the wanted text.
func checkAnswer(status int, body, want []byte) error {
	if status != http.StatusOK || !bytes.Contains(body, want) || !bytes.Contains(body, answered) {
		return refusal{status, string(body[:min(len(body), 300)])}
	}
	return nil
}

// askAnew sends a message on a connection of its own and returns how long its answer took.
func (s *server) askAnew(request, want []byte) (time.Duration, error) {
	c, err := dial(s.addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.ask(request, want, askTimeout)
}

// crowd sends one message to each of n channels of the scenario, from first on, at most
// width at a time, and returns the requests: afterwards all channels are warm.
func (s *server) crowd(ctx context.Context, scenario, text string, first, n, width int) ([][]byte, error) {
	requests, errs := make([][]byte, n), make([]error, n)
	slots := make(chan struct{}, width)
	var all sync.WaitGroup
	for i := range n {
		requests[i] = s.message(scenario, first+i, text)
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			_, errs[i] = s.askAnew(requests[i], okText)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("open %d channels: %w%s", n, err, s.lastWords())
		}
	}
	return requests, context.Cause(ctx)
}
