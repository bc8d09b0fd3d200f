package mounts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
)

// maxLine bounds a message of a server, in bytes: images are base64 in it.
const maxLine = 16 << 20

// errLongLine ends the connection with a server, whose message cannot be read to its end.
var errLongLine = fmt.Errorf("the server has sent more than %d MiB in one message", maxLine>>20)

// errEcho ends the connection with a program that is no server.
var errEcho = errors.New("the program sends back what it is sent")

// A messageReader reads the messages that a server writes, one in each line. Other lines, such as greetings, go
// to rubbish: servers print them by mistake, and other clients skip them too.
type messageReader struct {
	lines   *bufio.Reader
	rubbish io.Writer
	close   func() error
	rest    []byte                // of the line that is being read
	err     error                 // after rest
	fault   atomic.Pointer[error] // why the reading has ended that the server need not end for; nil: it has not
	heard   atomic.Bool           // the server has sent a message
}

func newMessageReader(output io.ReadCloser, rubbish io.Writer) *messageReader {
	return &messageReader{
		lines:   bufio.NewReaderSize(output, 64<<10),
		rubbish: rubbish,
		close:   output.Close,
	}
}

// Read implements io.Reader.
func (r *messageReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.rest, r.err = r.next()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close closes what is read.
func (r *messageReader) Close() error { return r.close() }

// next returns the next message with its line end, or nothing after a line that is none.
func (r *messageReader) next() ([]byte, error) {
	line, err := r.line()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !isMessage(line) {
		_, _ = r.rubbish.Write(append(bytes.TrimSpace(line), '\n'))
		return nil, err
	}
	if !r.heard.Load() && isGreeting(line) {
		return nil, r.fail(errEcho)
	}
	r.heard.Store(true)
	if err != nil { // the last line has no end
		line = append(line, '\n')
	}
	return line, err
}

// fail notes why the reading ends, and returns it.
func (r *messageReader) fail(err error) error {
	r.fault.Store(&err)
	return err
}

// A message is what is looked at of a message of JSON-RPC.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
}

// isMessage reports whether a line is a message of JSON-RPC that has a receiver: a request, a notification or an
// answer to a request. An error without an id, as after lines that a server could not read, is none.
func isMessage(line []byte) bool {
	var m message
	if json.Unmarshal(line, &m) != nil || m.Version != "2.0" {
		return false
	}
	if m.ID == nil || string(m.ID) == "null" {
		return m.Method != ""
	}
	return isID(m.ID)
}

// isGreeting reports whether a message begins a session, as clients alone do.
func isGreeting(line []byte) bool {
	var m message
	return json.Unmarshal(line, &m) == nil && (m.Method == discoverMethod || m.Method == "initialize")
}

// isID reports whether a JSON value can be the id of a request: a text or a number.
func isID(value json.RawMessage) bool {
	return len(value) > 0 && strings.ContainsRune(`"-0123456789`, rune(value[0]))
}

// line returns the next line.
func (r *messageReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, r.fail(errLongLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
