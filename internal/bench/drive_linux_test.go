package main

import "testing"

func TestParseHead(t *testing.T) {
	t.Parallel()
	for head, want := range map[string][2]int{
		"HTTP/1.1 200 OK\r\nContent-Length: 12":                 {200, 12},
		"HTTP/1.1 503 Busy\r\nX: y\r\ncontent-length:0\r\nZ: 1": {503, 0},
	} {
		if status, length, err := parseHead([]byte(head)); err != nil || status != want[0] || length != want[1] {
			t.Errorf("%q: %d, %d, %v, want %v", head, status, length, err, want)
		}
	}
	for _, head := range []string{"", "HTTP/1.1", "HTTP/1.1 2x0 OK\r\nContent-Length: 1", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nContent-Length: x"} {
		if _, _, err := parseHead([]byte(head)); err == nil {
			t.Errorf("%q was taken for the head of an answer", head)
		}
	}
}
