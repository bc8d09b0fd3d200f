// Package runner is the tool host: the process that runs the built-in tools and the scripts of
// the tools directory. The process has no rights but to read that directory; what a script may
// do beyond computing, the daemon does on request.
package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/fsnotify/fsnotify"

	"bareclaw/internal/socketpair"
	"bareclaw/toolhost/api"
)

// The exit statuses of the tool host.
const (
	exitEnded = 0 // told to end, or the daemon has ended
	exitError = 1
	exitStuck = 3 // a script does not stop
)

const (
	// softMemory is the size of the heap from which on garbage is collected eagerly, in bytes.
	softMemory = 512 << 20
	// maxStack bounds the stack of a goroutine, in bytes: a file that is nested without reason ends
	// the process, and does not take a gigabyte before.
	maxStack = 256 << 20
	// shutdownGrace is how long calls may go on when the tool host is told to end.
	shutdownGrace = 2 * time.Second
)

// Run is the tool host, until its standard input ends. It returns the exit status. The log is
// JSON, one record a line.
func Run(stdin io.Reader, stderr io.Writer) int {
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	status, err := run(stdin, log)
	if err != nil {
		log.Error(api.MessageCannotRun, "err", err) //nolint:sloglint // a constant of both ends
		return exitError
	}
	return status
}

func run(stdin io.Reader, log *slog.Logger) (status int, err error) {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("read the parameters: %w", err)
	}
	var boot api.Bootstrap
	if err := json.Unmarshal(line, &boot); err != nil {
		return 0, fmt.Errorf("read the parameters: %w", err)
	}
	conns, err := inherit()
	if err != nil {
		return 0, err
	}
	debug.SetMemoryLimit(softMemory)
	debug.SetMaxStack(maxStack)
	watcher, err := watch(boot.ToolsDir) // which takes rights that the process will not have
	if err != nil {
		log.Warn("changed files are found after some seconds only", "err", err)
	}
	if err := confine(boot, log); err != nil {
		return 0, err
	}
	return serve(boot, conns, watcher, in, log)
}

// connections are the tool host's ends of what connects it with the daemon.
type connections struct{ calls, control, functions net.Conn }

func inherit() (c connections, err error) {
	for fd, end := range map[uintptr]*net.Conn{api.CallsFD: &c.calls, api.ControlFD: &c.control, api.FunctionsFD: &c.functions} {
		conn, err := socketpair.Conn(os.NewFile(fd, "daemon"))
		if err != nil {
			return c, err
		}
		*end = conn
	}
	return c, nil
}

// serve answers the daemon until the process is to end. The end of a connection is the end of the
// process too: there is no other way to have one again.
func serve(boot api.Bootstrap, conns connections, watcher *fsnotify.Watcher, in io.Reader, log *slog.Logger) (status int, err error) {
	broken := make(chan error, 3)
	client, err := api.Connect(conns.functions, func() { broken <- errors.New("the connection for functions has ended") })
	if err != nil {
		return 0, fmt.Errorf("use the connection for functions: %w", err)
	}
	type tool struct {
		name string
		file api.File
	}
	stuck := make(chan tool, 1)
	l := newLoader(boot, &functions{client}, log, func(name string, file api.File) {
		select {
		case stuck <- tool{name, file}:
		default: // the process ends already
		}
	})
	go l.follow(context.Background(), watcher) // ends with the process
	gone := make(chan struct{})
	go func() { // ends with the daemon
		defer close(gone)
		_, _ = io.Copy(io.Discard, in)
	}()
	s := newServer(l)
	web := api.NewServer(s.routes(), log)
	for name, conn := range map[string]net.Conn{"calls": conns.calls, "control": conns.control} {
		go func() { broken <- fmt.Errorf("the connection for %s: %w", name, api.Serve(web, conn)) }() // ends with the connection
	}
	select {
	case <-gone:
		return exitEnded, nil
	case err := <-broken:
		return 0, err
	case t := <-stuck:
		log.Error(api.MessageStuck, "tool", t.name, "file", t.file) //nolint:sloglint // a constant of both ends
		time.Sleep(stuckGrace)
		return exitStuck, nil
	case <-s.ending.Done():
		ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		if err := web.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return 0, err
		}
		return exitEnded, nil
	}
}

// stuckGrace lets the answers of calls that have ended leave the process.
const stuckGrace = 50 * time.Millisecond
