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
	"net/http"
	"os"
	"runtime/debug"
	"time"

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
		log.Error("the tool host cannot run", "err", err)
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
	f := os.NewFile(api.ListenerFD, "listener")
	listener, err := net.FileListener(f)
	_ = f.Close()
	if err != nil {
		return 0, fmt.Errorf("use the listening socket: %w", err)
	}
	debug.SetMemoryLimit(softMemory)
	debug.SetMaxStack(maxStack)
	if err := confine(boot, log); err != nil {
		return 0, err
	}
	stuck := make(chan string, 1)
	l := newLoader(boot, log, func(tool string) {
		select {
		case stuck <- tool:
		default: // the process ends already
		}
	})
	go l.watch(context.Background()) // ends with the process
	gone := make(chan struct{})
	go func() { // ends with the daemon
		defer close(gone)
		_, _ = io.Copy(io.Discard, in)
	}()
	s := newServer(l)
	web := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }() // ends with the listener
	select {
	case err := <-served:
		return 0, fmt.Errorf("serve: %w", err)
	case <-gone:
		return exitEnded, nil
	case tool := <-stuck:
		log.Error("a script does not stop: the tool host ends", "tool", tool)
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
