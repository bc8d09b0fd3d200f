// Package host is the session host: a detached process that owns one claude and
// outlives the daemon.
//
// The host keeps each event of claude until a daemon has acknowledged it. A daemon
// that connects gets each such event once and in order. One session never has two
// processes. The host knows neither HTTP nor the ledger.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

const (
	initializeID = "bareclaw-initialize"
	// maxLineBytes bounds one line of claude's output.
	maxLineBytes = 128 << 20
	// maxTurns is how many turn ids a host remembers at least.
	maxTurns = 256
)

// A host owns one claude. Its mutex guards its state; the event log and the child guard
// their own.
type host struct {
	b      protocol.Bootstrap
	log    *slog.Logger
	child  *child // nil when claude could not be started
	events *eventLog
	tools  toolNotes
	place  atomic.Pointer[protocol.Place] // changes once, when a spare is bound; written with mu held

	mu           sync.Mutex // guards the fields below
	registration registration
	daemon       connection
	turns        []string // ids of turns that this host was given
	requests     requests
	idle         idleTracker
	ready        bool // claude has answered initialize
	timedOut     bool // claude has not, and is ended
	stopping     bool

	stopped chan struct{} // closed when somebody asked for the end
	exited  chan struct{} // closed when claude has ended
}

// Run is the host process: it serves one claude and returns the exit status once
// claude has ended and a daemon has acknowledged everything, or has asked for
// the end. Run must be called from the main goroutine before the goroutine has left the
// main thread.
//
// A panic in any goroutine ends the process, and with it claude by the parent-death signal:
// the stack is in the host's log, and the daemon recovers as from a killed host.
func Run(log *slog.Logger) int {
	runtime.LockOSThread()
	// A host does little but pass lines on: one processor hands them from
	// goroutine to goroutine without waking another thread.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25)
	b, listener, lock, err := inheritedFiles()
	if err != nil {
		log.Error("session host not started", "err", err)
		return 1
	}
	defer func() { _ = lock.Close() }() // held until here: claude has ended
	l, err := net.FileListener(listener)
	_ = listener.Close()
	socket, ok := l.(*net.UnixListener)
	if err != nil || !ok {
		log.Error("session host not started: it inherited no Unix socket", "err", err)
		return 1
	}
	h := &host{b: b, log: log, stopped: make(chan struct{}), exited: make(chan struct{})}
	h.place.Store(&b.Place)
	h.tools.path = func() string { return h.place.Load().ToolsPath }
	h.events = newEventLog(b.MemLimit, b.SpoolLimit, func() (*os.File, error) { return openSpool(h.place.Load().SpoolPath) }, h.sendLog)
	h.run(socket)
	return 0
}

// openSpool makes a file without a name: nothing is left of the file however the host
// ends.
func openSpool(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	if err := os.Remove(path); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("unlink spool: %w", err)
	}
	return f, nil
}

func (h *host) run(l *net.UnixListener) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM)
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	h.register()
	h.startClaude()
	go h.accept(l)     // ends with the process
	go h.obey(signals) // ends with the process
	// Memory that the start of packages for the daemon has left is given back, half a
	// MiB of each host, while claude starts.
	go debug.FreeOSMemory() // ends by itself
	h.awaitEnd()
	_ = l.Close()
	h.unregister()
}

func (h *host) startClaude() {
	c, err := startChild(h.b, h.envMark())
	if err != nil {
		h.log.Error("claude not started", "err", err)
		h.onClaudeExit(claude.Exit{Status: -1, Error: err.Error()})
		return
	}
	h.child = c
	h.registerChild(c.cmd.Process.Pid)
	c.send(claude.InitializeLine(initializeID), true)
	if _, spare := protocol.SpareSlot(h.place.Load().Channel); !spare { // a spare begins no tool
		h.tools.reserve()
	}
	go h.superviseClaude(c) // ends with claude
	time.AfterFunc(h.b.StartTimeout, h.onStartTimeout)
	h.startIdleTimer()
}

// superviseClaude reads claude's output, and reports claude's end.
func (h *host) superviseClaude(c *child) {
	read := make(chan struct{})
	go func() { // ends with the pipe, which is closed below
		defer close(read)
		h.readOutput(c)
	}()
	e := c.wait()
	if err := h.envMark().Sweep(context.Background()); err != nil {
		h.log.Error("processes of the session do not end", "err", err)
	}
	c.drain()
	h.awaitOutput(read)
	_ = c.stdout.Close()
	c.closeInput()
	h.onClaudeExit(e)
}

func (h *host) readOutput(c *child) {
	lines := claude.NewReader(c, maxLineBytes)
	for {
		line, err := lines.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				h.log.Info("claude's output ended", "err", err)
			}
			return
		}
		h.onOutput(line, lines.More())
	}
}

// awaitOutput returns when claude's last output is in the log. If the log is full, the
// output waits for a daemon to acknowledge entries, but not longer than a stop allows.
func (h *host) awaitOutput(read <-chan struct{}) {
	select {
	case <-read:
		return
	case <-h.stopped:
	}
	select {
	case <-read:
	case <-time.After(2 * drainGrace):
		h.events.close()
		<-read
	}
}

// onClaudeExit adds claude's end to the log, as the last entry.
func (h *host) onClaudeExit(e claude.Exit) {
	h.mu.Lock()
	e.Ready, e.Timeout, e.Idle = h.ready, h.timedOut, h.idle.closing
	h.requests = requests{} // nobody waits for an answer any more
	h.mu.Unlock()
	h.events.finish(func(seq uint64) []byte {
		return protocol.EncodeEntry(protocol.Entry{Seq: seq, At: time.Now().UnixMicro(), Exit: &e})
	})
	h.sendLog()
	close(h.exited)
}

// appendOwn adds an entry of the host itself to the log.
func (h *host) appendOwn(e protocol.Entry) {
	e.At = time.Now().UnixMicro()
	err := h.events.append(false, func(seq uint64) []byte {
		e.Seq = seq
		return protocol.EncodeEntry(e)
	})
	if err != nil {
		h.log.Error("event not kept", "err", err)
	}
	h.sendLog()
}
