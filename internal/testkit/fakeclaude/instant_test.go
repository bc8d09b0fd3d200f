package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// Wherever the chunks end, each line is answered once; the last one needs no end.
func TestInstantChunks(t *testing.T) {
	t.Parallel()
	in := userLine("a") + "\n\n" + userLine("b") + "\n" + userLine("c")
	var whole, bytewise bytes.Buffer
	for _, run := range []struct {
		out   *bytes.Buffer
		chunk int
	}{{&whole, len(in)}, {&bytewise, 1}} {
		i := &instant{answer: newAnswer(sid), stdout: run.out}
		for chunk := []byte(in); len(chunk) > 0; chunk = chunk[run.chunk:] {
			if err := i.take(chunk[:run.chunk]); err != nil {
				t.Fatal(err)
			}
		}
		if err := i.line(i.begun); err != nil {
			t.Fatal(err)
		}
	}
	if n := bytes.Count(whole.Bytes(), []byte{'\n'}); n != 3*5 {
		t.Errorf("%d lines for 3 messages, want 5 each", n)
	}
	// Each answer has ids of its own apart from the message's.
	if got, want := len(bytewise.Bytes()), len(whole.Bytes()); got != want {
		t.Errorf("answer to single bytes has %d bytes, want %d", got, want)
	}
}

// A realistic turn has 30 events, each of them in a write of its own, and names its message.
func TestInstantRealistic(t *testing.T) {
	t.Parallel()
	var out lines
	i := &instant{answer: newAnswer(sid), stdout: &out}
	if err := i.line([]byte(strings.Replace(userLine("a"), "hello", "realistic", 1))); err != nil {
		t.Fatal(err)
	}
	if len(out) != 30 {
		t.Errorf("%d events, want 30", len(out))
	}
	for _, line := range out {
		if !json.Valid([]byte(line)) || strings.Count(line, "\n") != 1 || strings.Contains(line, mark) {
			t.Errorf("written at once: %q", line)
		}
	}
}

// lines are what was written, each write by itself.
type lines []string

func (l *lines) Write(p []byte) (int, error) {
	*l = append(*l, string(p))
	return len(p), nil
}

func TestReadChunks(t *testing.T) {
	t.Parallel()
	var got []byte
	err := readChunks(iotest.DataErrReader(strings.NewReader("all of it")), func(p []byte) error {
		got = append(got, p...)
		return nil
	})
	if err != nil || string(got) != "all of it" {
		t.Errorf("read %q, %v", got, err)
	}
}

// A file cannot be waited for as a pipe can.
func TestInstantReadsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, []byte(strings.Repeat(userLine("a")+"\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	cmd := exec.Command(os.Args[0], "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	cmd.Env = []string{runAsProgram + "=1", "FAKECLAUDE_INSTANT=1"}
	cmd.Stdin = in
	out, err := cmd.Output()
	if n := bytes.Count(out, []byte{'\n'}); err != nil || n != 5000 {
		t.Errorf("%d lines for 1000 messages, %v", n, err)
	}
}

func userLine(uuid string) string {
	return `{"type":"user","message":{"role":"user","content":"hello"},"uuid":"` + uuid + `"}`
}
