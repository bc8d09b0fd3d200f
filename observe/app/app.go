// Package app runs a web app below an observer: it starts the command, passes its output on and reads
// it, and finds the port on which the app answers.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"bareclaw/internal/procmark"
)

// MarkVariable is in the environment of the app and of what it starts. Its value is the mark of the
// observer's process. The app has no variable of the gateway, and so none with the gateway's prefix.
const MarkVariable = "BRAKIT_OBSERVER"

// endGrace is how long an app may take to end after SIGINT.
const endGrace = 5 * time.Second

// Options describe an app.
type Options struct {
	Command []string // the program and its arguments
	Dir     string   // where it runs
	Environ []string // its environment: see Environ
	Mark    string   // of the observer: see MarkVariable

	// Foreground says that the app shares the terminal of this process, and gets its Ctrl-C.
	Foreground bool
	Stdin      *os.File
	Stdout     io.Writer
	Stderr     io.Writer
	// Said is called with each line of the output, without its end and cut to maxLine bytes, by one
	// goroutine for each stream.
	Said func(stream, line string)
}

// An App is a running command. All methods are safe for concurrent use.
type App struct {
	cmd   *exec.Cmd
	mark  string
	group bool // the app has a process group of its own
	ended chan struct{}
	err   error // how it ended; set before ended is closed
}

// Start starts the app. What it has left running when it ends is ended too.
func Start(o Options) (*App, error) {
	program, err := exec.LookPath(o.Command[0])
	if err != nil {
		return nil, fmt.Errorf("there is no program %q in the PATH: %w", o.Command[0], err)
	}
	cmd := exec.Command(program, o.Command[1:]...)
	cmd.Dir = o.Dir
	cmd.Env = append(slices.Clone(o.Environ), MarkVariable+"="+o.Mark)
	cmd.SysProcAttr = attributes(o.Foreground)
	if o.Foreground {
		cmd.Stdin = o.Stdin
	}
	stdout := &splitter{out: o.Stdout, line: func(line string) { o.Said("stdout", line) }}
	stderr := &splitter{out: o.Stderr, line: func(line string) { o.Said("stderr", line) }}
	cmd.Stdout = stdout
	cmd.Stderr = stderr
	cmd.WaitDelay = endGrace // a grandchild may hold the pipes
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	a := &App{
		cmd:   cmd,
		mark:  o.Mark,
		group: !o.Foreground,
		ended: make(chan struct{}),
	}
	go func() { // ends with the app
		a.err = a.wait()
		stdout.end()
		stderr.end()
		close(a.ended)
	}()
	return a, nil
}

// wait waits for the command to end, and ends what it has left.
func (a *App) wait() error {
	var swept error
	sweep := func() { swept = procmark.Sweep(context.Background(), MarkVariable, a.isMarked) }
	err := waitAndSweep(a.cmd, sweep)
	if swept != nil {
		return errors.Join(err, swept)
	}
	return err
}

func (a *App) isMarked(value string) bool { return value == a.mark }

// Ended is closed when the app has ended.
func (a *App) Ended() <-chan struct{} { return a.ended }

// Err returns how the app ended, as [exec.Cmd.Wait] says it. It blocks until then.
func (a *App) Err() error {
	<-a.ended
	return a.err
}

// PID returns the id of the command's process.
func (a *App) PID() int { return a.cmd.Process.Pid }

// Stop ends the app and what it has started, and blocks until they are gone. The app may end by
// itself for a while after SIGINT; the end of ctx cuts that short.
func (a *App) Stop(ctx context.Context) {
	a.interrupt()
	a.Finish(ctx)
}

// interrupt sends SIGINT, as a terminal does where the app has a process group of its own.
func (a *App) interrupt() {
	select {
	case <-a.ended: // the number may belong to another process
		return
	default:
	}
	if a.group {
		_ = syscall.Kill(-a.PID(), syscall.SIGINT) // an error says that it has ended
		return
	}
	_ = a.cmd.Process.Signal(syscall.SIGINT) // likewise
}

// Finish is Stop for an app that has got SIGINT or SIGHUP from its terminal: a second one would have it end at once.
func (a *App) Finish(ctx context.Context) {
	grace := time.NewTimer(endGrace)
	defer grace.Stop()
	select {
	case <-a.ended:
		return
	case <-grace.C:
	case <-ctx.Done():
	}
	_ = procmark.Sweep(context.WithoutCancel(ctx), MarkVariable, a.isMarked)
	_ = a.cmd.Process.Kill()
	<-a.ended
}

// Sweep ends apps whose observers with state in a directory are gone.
func Sweep(ctx context.Context, dir string) error {
	return procmark.Sweep(ctx, MarkVariable, procmark.Orphans(dir))
}
