package oddserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
)

// newest is the version of the protocol that the server offers to clients that ask for none.
const newest = "2025-11-25"

// A server is a process's. Its methods are safe for concurrent use after the modes are set.
type server struct {
	hangs       string // a method
	rubbish     bool
	stubborn    bool
	record      string // a file
	protocol    string // empty: what the client asks for
	describedBy string // a file
	later       string // see modes
	tools       []json.RawMessage
	pageSize    int // 0: all
	endless     bool
	changes     int

	output sync.Mutex // held while a line is written

	mu          sync.Mutex               // guards the fields below
	description string                   // of act; empty: its own
	kept        []byte                   // an answer that comes after the next one
	asked       map[string]chan<- []byte // who waits for the client's answers, by id
}

func newServer() *server {
	return &server{asked: map[string]chan<- []byte{}}
}

// A message is a request or notification of the client, or its answer.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"` // empty in an answer
	Params json.RawMessage `json:"params"`
}

// serve reads messages until the input ends. Calls run at the same time.
func (s *server) serve(input io.Reader) {
	lines := bufio.NewReader(input)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if s.record != "" {
			s.must(appendTo(s.record, line))
		}
		if s.rubbish {
			s.write([]byte("{what? " + strconv.Itoa(len(line)) + " bytes!"))
			continue
		}
		var m message
		s.must(json.Unmarshal(line, &m))
		s.receive(m, line)
	}
}

// receive handles one message, which is a line.
func (s *server) receive(m message, line []byte) {
	if m.Method == s.hangs && m.Method != "" {
		return
	}
	switch m.Method {
	case "":
		s.answered(m.ID, line)
	case "initialize":
		s.answer(m.ID, s.initialize(m.Params))
	case "notifications/initialized":
		for range s.changes {
			s.notify("notifications/tools/list_changed")
		}
	case "tools/list":
		s.answer(m.ID, s.list(m.Params))
	case "tools/call":
		go s.call(m) // ends with the call, or the process
	case "ping":
		s.answer(m.ID, struct{}{})
	default:
		if m.ID != nil {
			s.refuse(m.ID, -32601, "no such method: "+m.Method)
		}
	}
}

// initialize returns the result of a handshake.
func (s *server) initialize(params json.RawMessage) any {
	var asked struct {
		Version string `json:"protocolVersion"`
	}
	s.must(json.Unmarshal(params, &asked))
	version := newest
	switch {
	case s.protocol != "":
		version = s.protocol
	case asked.Version != "":
		version = asked.Version
	}
	return map[string]any{
		"protocolVersion": version,
		"serverInfo":      map[string]string{"name": "odd", "version": "1"},
		"capabilities":    map[string]any{"tools": map[string]bool{"listChanged": true}},
	}
}

// list returns a page of the tools. Its cursor is the number of the tools before.
func (s *server) list(params json.RawMessage) any {
	var asked struct {
		Cursor string `json:"cursor"`
	}
	if params != nil {
		s.must(json.Unmarshal(params, &asked))
	}
	all := append(ownTools(s.describe()), s.tools...)
	if s.later != "" && exists(s.later) {
		all = append(all, hinted(Later, "readOnlyHint"))
	}
	begin, _ := strconv.Atoi(asked.Cursor) // 0 for the first page
	end := len(all)
	if s.pageSize > 0 {
		end = min(end, begin+s.pageSize)
	}
	page := map[string]any{"tools": all[begin:end]}
	switch {
	case s.endless:
		page["nextCursor"] = strconv.Itoa(begin)
	case end < len(all):
		page["nextCursor"] = strconv.Itoa(end)
	}
	return page
}

// describe returns what is said of act; empty: nothing in particular.
func (s *server) describe() string {
	if s.describedBy != "" {
		text, err := os.ReadFile(s.describedBy)
		s.must(err)
		return string(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.description
}

// answer answers a request, and after that the one whose answer was kept.
func (s *server) answer(id json.RawMessage, result any) {
	s.write(response(id, result))
	s.mu.Lock()
	kept := s.kept
	s.kept = nil
	s.mu.Unlock()
	if kept != nil {
		s.write(kept)
	}
}

// keep answers a request after the next one.
func (s *server) keep(id json.RawMessage, result any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = response(id, result)
}

// refuse answers a request with an error.
func (s *server) refuse(id json.RawMessage, code int, why string) {
	s.write(encode(map[string]any{
		"jsonrpc": "2.0",
		"id":      id,
		"error":   map[string]any{"code": code, "message": why},
	}))
}

// notify sends a notification without parameters.
func (s *server) notify(method string) {
	s.write(encode(map[string]string{"jsonrpc": "2.0", "method": method}))
}

// ask sends the client a request, and returns its answer, a line.
func (s *server) ask(method string) []byte {
	answer := make(chan []byte, 1)
	s.mu.Lock()
	id := encode(fmt.Sprintf("odd-%d", len(s.asked)))
	s.asked[string(id)] = answer
	s.mu.Unlock()
	s.write(encode(map[string]any{
		"jsonrpc": "2.0",
		"id":      json.RawMessage(id),
		"method":  method,
		"params":  struct{}{},
	}))
	return <-answer
}

// answered gives an answer of the client to who has asked.
func (s *server) answered(id json.RawMessage, line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to := s.asked[string(id)]; to != nil {
		to <- bytes.TrimSpace(line)
	}
}

// write writes a line.
func (s *server) write(line []byte) {
	s.output.Lock()
	defer s.output.Unlock()
	_, err := os.Stdout.Write(append(line, '\n'))
	if !s.stubborn {
		s.must(err)
	}
}

// writeBig answers a call with a text of n bytes, which this process need not hold.
func (s *server) writeBig(id json.RawMessage, n int) {
	const mark = "<>"
	before, after, _ := bytes.Cut(response(id, result(text(mark))), encode(mark))
	s.output.Lock()
	defer s.output.Unlock()
	whole := io.MultiReader(
		bytes.NewReader(before),
		strings.NewReader(`"`),
		io.LimitReader(letters{}, int64(n)),
		strings.NewReader(`"`),
		bytes.NewReader(after),
		strings.NewReader("\n"),
	)
	_, err := io.Copy(os.Stdout, whole)
	s.must(err)
}

// letters reads as the letter x for ever.
type letters struct{}

// Read implements io.Reader.
func (letters) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// must ends the server if something fails that a test has not asked for.
func (s *server) must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "odd server:", err)
		os.Exit(exitUsage)
	}
}

// response returns the answer of a request.
func response(id json.RawMessage, result any) []byte {
	return encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

// encode returns the JSON of a value that has one.
func encode(v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return line
}

// appendTo appends to a file by one write.
func appendTo(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
