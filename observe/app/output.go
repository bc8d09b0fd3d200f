package app

import (
	"bytes"
	"io"
)

// maxLine is how much of a line of output is read, in bytes.
const maxLine = 8 << 10

// A splitter passes output on, and calls line with each line of it.
type splitter struct {
	out  io.Writer
	line func(string)

	rest []byte // of a line without an end, at most maxLine
}

// end ends the last line, which may have no end of its own. Nothing is written any more.
func (s *splitter) end() {
	if len(s.rest) > 0 {
		s.line(string(s.rest))
	}
	s.rest = nil
}

// Write implements [io.Writer]. It never fails: an app must not end because nobody reads its output.
func (s *splitter) Write(p []byte) (int, error) {
	_, _ = s.out.Write(p)
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		s.rest = append(s.rest, line[:min(len(line), maxLine-len(s.rest))]...)
		if ended {
			s.line(string(bytes.TrimSuffix(s.rest, []byte("\r"))))
			s.rest = s.rest[:0]
		}
		rest = after
	}
	return len(p), nil
}
