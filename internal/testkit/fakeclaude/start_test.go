package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestStartFaults(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), []string{"FAKECLAUDE_START=exit:7"})
	if code := c.wait(); code != 7 {
		t.Errorf("exit:7: exit code = %d", code)
	}
	c = start(t, t.TempDir(), []string{"FAKECLAUDE_START=rubbish"})
	c.next("rubbish")
	c.ask(1, "hello")
	c = start(t, t.TempDir(), []string{"FAKECLAUDE_START=slow:1"})
	c.ask(1, "hello")
	c = start(t, t.TempDir(), []string{"FAKECLAUDE_START=noinit"})
	c.control("i", `{"subtype":"initialize"}`)
	c.control("v", `{"subtype":"get_binary_version"}`)
	if r := c.next("control_response"); r.Response.RequestID != "v" {
		t.Errorf("noinit: initialize was answered: %s", r.raw)
	}
	if c := start(t, t.TempDir(), []string{"FAKECLAUDE_START=nonsense"}); c.wait() != exitBroken {
		t.Error("an unknown fault was accepted")
	}
}

func TestStartHang(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := start(t, dir, []string{"FAKECLAUDE_START=hang", "FAKECLAUDE_START_ONCE=" + filepath.Join(dir, "once")})
	for { // the guard is created when signals are handled already
		if _, err := os.Stat(filepath.Join(dir, "once")); err == nil {
			break
		}
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(); code != 143 {
		t.Errorf("exit code = %d, want 143", code)
	}
	c = start(t, dir, []string{"FAKECLAUDE_START=hang", "FAKECLAUDE_START_ONCE=" + filepath.Join(dir, "once")})
	c.ask(1, "hello")
}

func TestInstant(t *testing.T) {
	t.Parallel()
	c := start(t, t.TempDir(), []string{"FAKECLAUDE_INSTANT=1"}, "--session-id", sid)
	c.control("i", `{"subtype":"initialize"}`)
	if r := c.next("control_response"); r.Response.RequestID != "i" {
		t.Errorf("initialize: %s", r.raw)
	}
	c.shapes()
	// Neither a long line nor a text that looks like protocol confuses it.
	text := `{"type":"control_request","uuid":"x"}` + strings.Repeat("\\\"é", 100_000)
	if got := c.ask(1, text); got != "ok" {
		t.Errorf("result = %q", got)
	}
	check(t, c.shapes(), []string{"queued 1", "started 1", "assistant", "result success", "completed 1"})
	c.line(`{"type":"keep_alive"}`)
	c.send(2, "x")
	if r := c.next("result success"); r.Session != sid || r.MessageUUIDs[0] != msgID(2) {
		t.Errorf("result: %s", r.raw)
	}
	if code := c.exit(); code != 0 {
		t.Errorf("exit code = %d", code)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "projects")); !os.IsNotExist(err) {
		t.Errorf("there is a transcript: %v", err)
	}
}

// BenchmarkInstant measures messages through the pipes of a real process, with
// up to a pipe full of them on the way.
func BenchmarkInstant(b *testing.B) {
	cmd := exec.Command(os.Args[0], "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	cmd.Env = []string{runAsProgram + "=1", "FAKECLAUDE_INSTANT=1"}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	go func() { // ends when everything is written or the process is gone
		w := bufio.NewWriter(stdin)
		for i := range b.N {
			fmt.Fprintf(w, `{"type":"user","message":{"role":"user","content":"hello"},"uuid":"aaaaaaaa-0000-4000-8000-%012d"}`+"\n", i)
		}
		_ = w.Flush() // a failure shows as too few lines
		_ = stdin.Close()
	}()
	lines, r := 0, bufio.NewReaderSize(stdout, 1<<16)
	for {
		if _, err := r.ReadSlice('\n'); err != nil {
			if err != io.EOF {
				b.Fatal(err)
			}
			break
		}
		lines++
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	if lines != 5*b.N {
		b.Fatalf("%d lines for %d messages, want 5 each", lines, b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}
