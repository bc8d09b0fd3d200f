package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// maxReplyBytes bounds what a server may answer.
const maxReplyBytes = 64 << 20

// A client is one kept-alive connection. It does as little as HTTP/1.1 allows,
// because it shares the machine with what it measures. Not for concurrent use.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	body bytes.Buffer // of the last reply
}

func dial(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr) //nolint:noctx // loopback: it is refused or done at once
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}, nil
}

// getRequest returns the bytes of a GET.
func getRequest(addr, path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\n\r\n")
}

// messageRequest returns the bytes of a POST /message.
func messageRequest(addr, channel, text string) []byte {
	body, err := json.Marshal(map[string]string{"channel": channel, "text": text})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	head := "POST /message HTTP/1.1\r\nHost: " + addr + "\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n"
	return append([]byte(head), body...)
}

// do sends a request and returns the answer; the body is valid until the next.
func (c *client) do(request []byte, timeout time.Duration) (status int, body []byte, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return 0, nil, err
	}
	_, sendErr := c.conn.Write(request)
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
	if status != http.StatusOK || !bytes.Contains(body, want) || !bytes.Contains(body, []byte(`"is_error":false`)) {
		return refusal{status, string(body[:min(len(body), 300)])}
	}
	return nil
}
