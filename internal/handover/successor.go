package handover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bareclaw/internal/proc"
)

// A Program is what is started as the successor.
type Program struct {
	Path string
	Args []string // without the name
	Env  []string
	Dir  string
	// Sibling makes it a child of our parent instead of ours: a service manager
	// that is told of a new main process only watches over its own children. How it
	// ends is then not known here. It must not be set in process 1, and does nothing
	// where there is no systemd.
	Sibling bool
}

// A File is passed on under a name that says what it is.
type File struct {
	Name string
	File *os.File
}

// A Successor is the new process as the old one sees it. Its methods are called
// one after the other.
type Successor struct {
	cmd     *exec.Cmd
	process proc.Process // without a start time if it is our child
	link    *link
	ended   chan struct{} // closed when the process has ended
	err     error         // how, once ended is closed
}

// Start starts the program with the files, in a process group of its own, its
// output where ours goes. It does not wait.
func Start(p Program, files []File) (*Successor, error) {
	pair, err := controlSockets()
	if err != nil {
		return nil, fmt.Errorf("make a control socket: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer func() { _ = theirs.Close() }()
	l, err := newLink(os.NewFile(uintptr(pair[0]), "control"))
	if err != nil {
		return nil, err
	}
	names, extra := []string{"control"}, []*os.File{theirs}
	for _, f := range files {
		names, extra = append(names, f.Name), append(extra, f.File)
	}
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Dir = p.Dir
	cmd.Env = slices.Concat(p.Env, []string{variable + "=" + strings.Join(names, ",")})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = extra
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's Ctrl-C is forwarded, not doubled
	sibling := p.Sibling && makeSibling(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		_ = l.conn.Close()
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	s := &Successor{cmd: cmd, process: proc.Process{PID: cmd.Process.Pid}, link: l, ended: make(chan struct{})}
	if !sibling {
		go func() { // ends with the process
			s.err = cmd.Wait()
			close(s.ended)
		}()
		return s, nil
	}
	if s.process.Start, err = proc.StartTime(s.process.PID); err != nil {
		s.err = err // it has ended
		close(s.ended)
		return s, nil
	}
	go s.watchSibling() // ends with the process
	return s, nil
}

// controlSockets returns a pair of sockets that no other child gets: one that is started
// meanwhile, and lives on, would keep the link from ending with this process.
func controlSockets() (pair [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	return pair, err
}

// errNotOurs is how a process ended that is not our child.
var errNotOurs = errors.New("how is known to the service manager, and to the log")

// watchSibling notes the end of a process that is not our child.
func (s *Successor) watchSibling() {
	if s.err = proc.WaitGone(context.Background(), s.process.PID, s.process.Start); s.err == nil {
		s.err = errNotOurs
	}
	close(s.ended)
}

// PID returns the process id.
func (s *Successor) PID() int { return s.process.PID }

// Program returns the path of its file.
func (s *Successor) Program() string { return s.cmd.Path }

// Kill ends the process if it has not ended, and waits for that.
func (s *Successor) Kill() {
	if s.process.Start != 0 {
		_ = proc.Signal(s.process.PID, s.process.Start, syscall.SIGKILL) // it may have ended by itself
	} else {
		_ = s.cmd.Process.Kill() // likewise
	}
	<-s.ended
}

// Ended is closed when the process has ended.
func (s *Successor) Ended() <-chan struct{} { return s.ended }

// Err returns how the process ended, nil if it ended well. It is valid once Ended
// is closed.
func (s *Successor) Err() error {
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("the process that took over: %w", s.err)
}

// Ready waits until the successor could take over. After an error it has been
// ended: the error says what it said, or how it ended, or that ctx ended first.
func (s *Successor) Ready(ctx context.Context) error {
	_, err := s.await(ctx, stateReady)
	return err
}

// Go lets the successor take over. The caller owns nothing any more.
func (s *Successor) Go() error { return s.link.send(note{State: stateGo}) }

// Serving waits until the successor owns everything, and returns the path it
// named. After an error it has been ended.
func (s *Successor) Serving(ctx context.Context) (path string, err error) {
	n, err := s.await(ctx, stateServing)
	return n.Path, err
}

func (s *Successor) await(ctx context.Context, state string) (note, error) {
	type result struct {
		note
		err error
	}
	got := make(chan result, 1)
	go func() { // ends with the note, or by the end of the process
		n, err := s.link.receive(state)
		got <- result{n, err}
	}()
	var r result
	select {
	case r = <-got:
	case <-ctx.Done():
		select {
		case r = <-got: // both: it is what was waited for
		default:
			r.err = fmt.Errorf("wait for %q: %w", state, context.Cause(ctx))
		}
	}
	if r.err == nil {
		return r.note, nil
	}
	s.Kill()
	if errors.Is(r.err, errGone) {
		return r.note, fmt.Errorf("the new process ended before it was %s: %w", state, s.err)
	}
	return r.note, r.err
}
