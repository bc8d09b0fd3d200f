package mounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"bareclaw/internal/procmark"
)

// MarkVariable is in the environment of each mounted server and of what the server starts. Its value is the
// mark of the gateway's process, with a number for each server.
const MarkVariable = "BARECLAW_MOUNT"

// PassedOn returns the names of the variables of the gateway that each server sees.
func PassedOn() []string { return slices.Clone(passedOn) }

// passedOn are the variables of the gateway's environment that a server sees beside those of its description.
var passedOn = []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"}

// How long a server may take to end: by itself once its input has ended, and after SIGTERM; and how long its end may
// take to be told.
const (
	inputGrace = 2 * time.Second
	lastWords  = 100 * time.Millisecond // until what it has written to stderr is read
	termGrace  = time.Second
)

// A process is a server that runs behind pipes. It leads a process group.
type process struct {
	cmd    *exec.Cmd
	mark   string
	input  *os.File      // the server's
	output *os.File      // likewise
	said   *os.File      // its stderr
	exited chan struct{} // closed when the process has ended; err is set then
	err    error         // how it has ended
}

// startProcess starts the server that an expanded description names. What it writes to stderr goes to says,
// by one goroutine.
func startProcess(s *Server, dir, mark string, says io.Writer) (*process, error) {
	program, err := lookPath(s.Command)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, s.Args...)
	cmd.Dir = dir
	if s.CWD != "" {
		cmd.Dir = s.CWD
	}
	if err := checkDir(cmd.Dir); err != nil {
		return nil, err
	}
	cmd.Env = append(environ(s), MarkVariable+"="+mark)
	cmd.SysProcAttr = attributes()
	p := &process{cmd: cmd, mark: mark, exited: make(chan struct{})}
	var ends []*os.File // the server's ends of the pipes
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	stdin, input := pipe()
	output, stdout := pipe()
	said, stderr := pipe()
	ends = append(ends, stdin, stdout, stderr)
	cmd.Stdin = stdin
	cmd.Stdout = stdout
	cmd.Stderr = stderr
	if err == nil {
		err = cmd.Start()
	}
	for _, end := range ends {
		_ = end.Close() // also nil
	}
	if err != nil {
		for _, end := range []*os.File{input, output, said} {
			_ = end.Close()
		}
		return nil, fmt.Errorf("start %s: %w", program, whyNotStarted(err))
	}
	p.input = input
	p.output = output
	p.said = said
	heard := make(chan struct{})
	go func() { // ends when the server and its children have closed stderr, or by stop
		_, _ = io.Copy(says, said)
		close(heard)
	}()
	go func() { // ends soon after the process
		p.err = exitReason(waitAndSweep(cmd)) // what it has left would hold the pipes
		select {
		case <-heard: // its last words say why it has ended
		case <-time.After(lastWords):
		}
		close(p.exited)
	}()
	return p, nil
}

// checkDir returns why no server can run in a directory.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cwd: there is no directory %q", dir)
	case err != nil:
		return fmt.Errorf("cwd: %w", err)
	case !info.IsDir():
		return fmt.Errorf("cwd: %q is not a directory", dir)
	}
	return nil
}

// whyNotStarted has words for errors of a program that was found.
func whyNotStarted(err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: a script begins with #! and the path of its interpreter", err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the interpreter that its first line names after #! is not there", err)
	}
	return err
}

// lookPath returns the path of a program. The error names where it was looked for.
func lookPath(command string) (string, error) {
	path, err := exec.LookPath(command)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, syscall.EISDIR):
		return "", fmt.Errorf("%q is a directory, not a program", command)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%q cannot be run: make it executable with chmod +x, or name its interpreter before it", command)
	case strings.ContainsRune(command, filepath.Separator):
		return "", fmt.Errorf("there is no program %q", command)
	}
	return "", fmt.Errorf("there is no program %q in the PATH of the gateway, which is %s", command, os.Getenv("PATH"))
}

// environ returns the environment of a server.
func environ(s *Server) []string {
	var env []string
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range s.Env {
		env = append(env, name+"="+value) // of two values of a name the last one counts
	}
	return env
}

// errServerEnded says that a server has ended without an error, as it does when its input ends.
var errServerEnded = errors.New("the server has ended")

// exitReason says how a process has ended.
func exitReason(err error) error {
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return errServerEnded
	case errors.As(err, &exit):
		return fmt.Errorf("the server has ended: %w", exit)
	}
	return err
}

// killGroup ends the process group that a process leads, at once.
func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) } // an error means that it is gone

// stop ends the process and what it has started. It asks first, as far as ctx leaves time.
func (p *process) stop(ctx context.Context) {
	_ = p.input.Close()
	if !p.awaitExit(ctx, inputGrace) {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		if !p.awaitExit(ctx, termGrace) {
			_ = p.cmd.Process.Kill() // and what its end leaves of the group is ended
		}
	}
	<-p.exited
	_ = procmark.Sweep(context.WithoutCancel(ctx), MarkVariable, func(value string) bool { return value == p.mark }) // else the next gateway does
	_ = p.output.Close()
	_ = p.said.Close()
}

// awaitExit waits for the end of the process, and reports whether it came within a time and before the end of ctx.
func (p *process) awaitExit(ctx context.Context, within time.Duration) bool {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-p.exited:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}
