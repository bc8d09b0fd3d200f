package openapi

import (
	"bytes"
	"io"
	"strings"
)

// An eventReader passes a stream of server-sent events on and hands each to
// check as soon as it is whole.
type eventReader struct {
	io.ReadCloser
	check func(event, data string)
	rest  []byte // of an event that is not whole yet
}

func (r *eventReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.rest = append(r.rest, p[:n]...)
	for {
		block, rest, whole := bytes.Cut(r.rest, []byte("\n\n"))
		if !whole {
			return n, err
		}
		r.rest = rest
		if event, data := parseEvent(string(block)); event != "" {
			r.check(event, data)
		}
	}
}

func parseEvent(block string) (event, data string) {
	var lines []string
	for line := range strings.Lines(block) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "event":
			event = value
		case "data":
			lines = append(lines, value)
		}
	}
	return event, strings.Join(lines, "\n")
}
