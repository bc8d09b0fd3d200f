package sessionhost

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// drainGrace is how long the host goes on reading claude's output after claude
// has ended: a process that claude left behind may hold the pipe open.
const drainGrace = 500 * time.Millisecond

// A child is one claude process with its pipes. Lines are written by a goroutine
// of their own, so that a claude which does not read blocks nobody.
type child struct {
	cmd    *exec.Cmd
	stdout *os.File
	stderr *tail

	wake chan struct{}

	mu     sync.Mutex // guards the fields below
	urgent [][]byte   // control lines
	turns  [][]byte   // bounded by the daemon, which hands over one turn and what is steered into it
	ready  bool       // initialize was answered: turns may be written
	ending bool       // no further line is taken
}

// startChild starts claude. It must be called from the main goroutine, locked to
// the main thread: the parent-death signal follows the thread that started the
// process, and only the main thread lives as long as the host.
func startChild(b bootstrap) (*child, error) {
	stdoutR, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make stdout pipe: %w", err)
	}
	defer func() { _ = stdoutW.Close() }()
	cmd := exec.Command(b.Argv[0], b.Argv[1:]...)
	cmd.Dir = b.Dir
	cmd.Stdout = stdoutW
	cmd.SysProcAttr = childAttr()
	cmd.WaitDelay = drainGrace // for stderr, which exec copies
	c := &child{cmd: cmd, stdout: stdoutR, stderr: &tail{}, wake: make(chan struct{}, 1)}
	cmd.Stderr = c.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		_ = stdoutR.Close()
		return nil, fmt.Errorf("make stdin pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		_ = stdoutR.Close()
		return nil, fmt.Errorf("start %s: %w", b.Argv[0], err)
	}
	go c.write(stdin) // ends with the pipe, or by closeInput
	return c, nil
}

// send queues a line, newline included. Control lines are written at once, turns
// when claude is ready.
func (c *child) send(line []byte, control bool) {
	c.mu.Lock()
	switch {
	case c.ending:
	case control:
		c.urgent = append(c.urgent, line)
	default:
		c.turns = append(c.turns, line)
	}
	c.mu.Unlock()
	c.signal()
}

func (c *child) signal() {
	select {
	case c.wake <- struct{}{}:
	default: // a wake-up is already owed
	}
}

func (c *child) setReady() {
	c.mu.Lock()
	c.ready = true
	c.mu.Unlock()
	c.signal()
}

func (c *child) closeInput() {
	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.signal()
}

// write passes queued lines to claude until the input is closed or broken.
func (c *child) write(stdin io.WriteCloser) {
	defer func() { _ = stdin.Close() }()
	for range c.wake {
		for {
			line, end := c.nextLine()
			if line == nil {
				if end {
					return
				}
				break
			}
			if _, err := stdin.Write(line); err != nil {
				return // claude is gone; its exit is reported
			}
		}
	}
}

func (c *child) nextLine() (line []byte, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := &c.urgent
	if len(c.urgent) == 0 && c.ready {
		queue = &c.turns
	}
	if len(*queue) == 0 {
		return nil, c.ending
	}
	line = (*queue)[0]
	(*queue)[0] = nil
	*queue = (*queue)[1:]
	return line, false
}

// wait returns how claude ended, once it has.
func (c *child) wait() exit {
	err := c.cmd.Wait()
	e := exit{Code: -1, Stderr: c.stderr.String()}
	if st := c.cmd.ProcessState; st != nil {
		e.Code = st.ExitCode()
		if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			e.Signal = ws.Signal().String()
		}
	} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		e.Error = err.Error()
	}
	return e
}

// kill sends the signal to claude's process group, unless claude has ended: its
// number may belong to another group then.
func (c *child) kill(sig syscall.Signal) {
	if c.cmd.Process.Signal(syscall.Signal(0)) == nil {
		_ = syscall.Kill(-c.cmd.Process.Pid, sig)
	}
}

// A tail keeps the last bytes written to it. It is claude's stderr: however much
// comes, it is read and little of it kept.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// String returns what was kept as valid text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.buf), "\uFFFD")
}
