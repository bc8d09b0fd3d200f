package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bareclaw/internal/proc"
	"bareclaw/internal/procmark"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/pipe"
	"bareclaw/sessionhost/protocol"
)

const (
	// drainGrace is how long the host waits for output after claude has ended: a leftover
	// process may hold the pipe open.
	drainGrace = 500 * time.Millisecond
	// pipeBytes is more than a pipe holds, and so more than claude can have left unread
	// (/proc/sys/fs/pipe-max-size).
	pipeBytes = 1 << 20
	// gentleGrace is how long claude may take to end after its input is closed.
	gentleGrace = 5 * time.Second
)

// The two ways to begin the end of claude.
const (
	graceful = true  // close its input, and let it finish
	prompt   = false // close its input, and send SIGTERM
)

// A child is one claude process with its pipes.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	input  *pipe.Writer // writes the queued lines; never blocks on a claude that does not read
	stdout *os.File
	output pipe.Reader // of stdout
	stderr *proc.Tail
	ended  chan struct{} // closed when the process has ended
	left   atomic.Int64  // bytes still to be read after claude's end; 0 before the end

	mu     sync.Mutex // guards the fields below
	urgent [][]byte   // control lines
	turns  [][]byte   // bounded by the daemon: one running turn, and the messages steered into the turn
	ready  bool       // initialize was answered: turns may be written
	ending bool       // no further line is taken
}

// startChild starts claude. It must be called from the main goroutine, locked to the main
// thread: the parent-death signal follows the starting thread, and only the main thread
// lives as long as the host.
func startChild(b protocol.Bootstrap, m procmark.Mark) (*child, error) {
	stdoutR, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make stdout pipe: %w", err)
	}
	defer func() { _ = stdoutW.Close() }()
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		_ = stdoutR.Close()
		return nil, fmt.Errorf("make stdin pipe: %w", err)
	}
	defer func() { _ = stdinR.Close() }()
	c := &child{stdin: stdinW, stdout: stdoutR, output: pipe.NewReader(stdoutR), stderr: &proc.Tail{}, ended: make(chan struct{})}
	// A failed write needs no report: claude's exit follows.
	c.input = pipe.NewWriter(stdinW, c.nextLine, func(error) { _ = stdinW.Close() })
	c.cmd = exec.Command(b.Argv[0], b.Argv[1:]...)
	c.cmd.Dir, c.cmd.Env = b.Dir, append(os.Environ(), protocol.EnvMarkVariable+"="+m.String())
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = stdinR, stdoutW, c.stderr
	c.cmd.SysProcAttr = childAttr()
	c.cmd.WaitDelay = drainGrace // for stderr, copied by package exec
	if err := c.cmd.Start(); err != nil {
		_ = stdoutR.Close()
		_ = stdinW.Close()
		return nil, fmt.Errorf("start %s: %w", b.Argv[0], err)
	}
	return c, nil
}

// send gives claude a line, newline included. Control lines are written at once,
// turns when claude is ready.
func (c *child) send(line []byte, control bool) {
	c.change(func() {
		switch {
		case c.ending:
		case control:
			c.urgent = append(c.urgent, line)
		default:
			c.turns = append(c.turns, line)
		}
	})
}

func (c *child) setReady() { c.change(func() { c.ready = true }) }

// closeInput closes claude's input after the queued lines.
func (c *child) closeInput() { c.change(func() { c.ending = true }) }

func (c *child) change(f func()) {
	c.mu.Lock()
	f()
	c.mu.Unlock()
	c.input.Flush()
}

// nextLine returns the next line to write, nil if the queue is empty. It closes the input
// after the last line.
func (c *child) nextLine() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := &c.urgent
	if len(c.urgent) == 0 && c.ready {
		queue = &c.turns
	}
	if len(*queue) == 0 {
		if c.ending {
			_ = c.stdin.Close()
		}
		return nil, nil
	}
	line := (*queue)[0]
	(*queue)[0] = nil
	*queue = (*queue)[1:]
	return line, nil
}

// wait waits for claude's end and returns the exit. Nothing more is written: a leftover
// process may hold the other end of the pipe.
func (c *child) wait() claude.Exit {
	err := c.cmd.Wait()
	close(c.ended)
	_ = c.stdin.Close()
	e := claude.Exit{Status: -1, Stderr: c.stderr.String()}
	if st := c.cmd.ProcessState; st != nil {
		e.Status = st.ExitCode()
		if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			e.Signal = ws.Signal().String()
		}
	} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		e.Error = err.Error()
	}
	return e
}

// drain notes that claude has ended: only the rest in the pipe is read.
func (c *child) drain() {
	c.left.Store(pipeBytes)
	_ = c.stdout.SetReadDeadline(time.Now().Add(drainGrace)) // wakes a waiting Read
}

// Read reads claude's output. After drain it returns the rest, however late the next call
// comes: a full log may hold up the reader.
func (c *child) Read(p []byte) (int, error) {
	if c.left.Load() == 0 {
		return c.output.Read(p)
	}
	_ = c.stdout.SetReadDeadline(time.Now().Add(drainGrace))
	n, err := c.output.Read(p[:min(int64(len(p)), c.left.Load())])
	if c.left.Add(-int64(n)) == 0 {
		return n, io.EOF // a leftover process writes
	}
	return n, err
}

// end ends claude: it closes the input, sends SIGTERM, and after the grace SIGKILL. It does
// not wait.
func (c *child) end(gently bool, grace time.Duration) {
	c.closeInput()
	go func() { // ends with claude, at SIGKILL at the latest
		if gently && c.endsWithin(gentleGrace) {
			return
		}
		c.kill(syscall.SIGTERM)
		if !c.endsWithin(grace) {
			c.kill(syscall.SIGKILL)
		}
	}()
}

func (c *child) endsWithin(d time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// kill sends the signal to claude's process group, unless claude has ended: the kernel may
// have reused the number.
func (c *child) kill(sig syscall.Signal) {
	if c.cmd.Process.Signal(syscall.Signal(0)) == nil {
		_ = syscall.Kill(-c.cmd.Process.Pid, sig)
	}
}
