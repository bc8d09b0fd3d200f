package main

import (
	"net"
	"strings"
	"testing"
	"time"
)

// answering returns a client whose requests get the given bytes as answers.
func answering(t *testing.T, answer string) *client {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() { // ends with its connection
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := conn.Read(make([]byte, 4096)); err == nil {
			_, _ = conn.Write([]byte(answer))
		}
	}()
	c, err := dial(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.conn.Close() })
	return c
}

func TestClientReadsAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer, body string
		status             int
	}{
		{"length", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "hello", 200},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello", 200},
		{"nothing", "HTTP/1.1 404 Not Found\r\n\r\n", "", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, body, err := answering(t, c.answer).do(getRequest("x", "/"), time.Minute)
			if err != nil || status != c.status || string(body) != c.body {
				t.Errorf("got %d %q %v, want %d %q", status, body, err, c.status, c.body)
			}
		})
	}
}

func TestClientRefusesRubbish(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"", "rubbish\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe",
	} {
		if status, body, err := answering(t, answer).do(getRequest("x", "/"), time.Minute); err == nil {
			t.Errorf("%q: got %d %q, want an error", answer, status, body)
		}
	}
}

func TestAskWantsTheRightAnswer(t *testing.T) {
	t.Parallel()
	const body = `{"text":"no","is_error":false}`
	c := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n"+body)
	_, err := c.ask(messageRequest("x", "c", "t"), []byte(`"text":"ok"`), time.Minute)
	if err == nil || !strings.Contains(err.Error(), body) {
		t.Errorf("got %v, want a refusal with the body", err)
	}
}
