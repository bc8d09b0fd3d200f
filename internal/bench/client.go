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
	body []byte // of the last reply
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
	status, length, err := c.readHead()
	if err != nil {
		return 0, nil, errors.Join(sendErr, err)
	}
	c.body = c.body[:0]
	if length < 0 {
		err = c.readChunks()
	} else {
		err = c.readBody(length)
	}
	return status, c.body, err
}

// readHead returns the status and the length of the body, -1 if it is chunked.
func (c *client) readHead() (status, length int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, 0, fmt.Errorf("not a status line: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, err
	}
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, 0, err
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		switch {
		case !ok:
			return status, length, nil
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, 0, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = -1
		}
	}
}

func (c *client) readChunks() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return err
		}
		if err := c.readBody(int(size)); err != nil {
			return err
		}
		if _, err := c.in.ReadSlice('\n'); err != nil || size == 0 {
			return err
		}
	}
}

// readBody appends n bytes to the body.
func (c *client) readBody(n int) error {
	have := len(c.body)
	if n < 0 || have+n > maxReplyBytes {
		return fmt.Errorf("a reply of %d bytes is too long", have+n)
	}
	if cap(c.body) < have+n {
		c.body = append(make([]byte, 0, have+n), c.body...)
	}
	c.body = c.body[:have+n]
	_, err := io.ReadFull(c.in, c.body[have:])
	return err
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
