// Package host is the session host: a detached process that owns one claude and
// outlives the daemon.
//
// The host keeps each event of claude until a daemon has acknowledged it. A daemon
// that connects gets each such event once and in order. One session never has two
// processes. The host knows neither HTTP nor the ledger.
package host

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bareclaw/internal/statemark"
	"bareclaw/internal/wait"
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

const (
	// termGrace is how long claude may take to end after SIGTERM; patientGrace is the same
	// when no caller waits.
	termGrace    = 300 * time.Millisecond
	patientGrace = 5 * time.Second
	// flushGrace is how long a stopping host waits for the acknowledgement of its last
	// events.
	flushGrace = time.Second
	// abandonedInterval is how often a host without claude checks whether daemons can
	// still find the host.
	abandonedInterval = 2 * time.Second
)

// A host owns one claude. Its mutex guards its state; the registration, the event log and
// the child guard their own.
type host struct {
	b            protocol.Bootstrap
	log          *slog.Logger
	registration *registration
	child        *child // nil when claude could not be started
	events       *eventLog
	tools        toolNotes

	mu         sync.Mutex // guards the fields below
	generation int64      // of the newest daemon so far
	daemon     *connection
	noTools    bool     // the newest daemon carries out no calls of tools
	toolList   string   // protocol.ListID of the list that claude was last given
	turns      []string // ids of turns that this host was given
	requests   requests
	idle       idleTracker
	ready      bool   // claude has answered initialize
	version    string // of claude, once ready
	timedOut   bool   // claude did not answer in time, and is being ended

	sendsSoon atomic.Bool // sendTimer runs
	sendTimer *time.Timer

	askEnd func()        // closes asked
	asked  chan struct{} // closed when somebody asked for the end
	exited chan struct{} // closed when claude has ended
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
	debug.SetGCPercent(50)
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
	h := &host{b: b, log: log, asked: make(chan struct{}), exited: make(chan struct{})}
	h.askEnd = sync.OnceFunc(func() { close(h.asked) })
	h.tools.path = func() string { return h.registration.at().ToolsPath }
	h.events = newEventLog(b.MemLimit, b.SpoolLimit, func() (*os.File, error) { return openSpool(h.registration.at().SpoolPath) }, h.sendLog)
	h.sendTimer = time.AfterFunc(math.MaxInt64, h.sendLog) // sendLogSoon sets the time
	h.run(socket)
	return 0
}

func (h *host) run(l *net.UnixListener) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM)
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	h.registration = newRegistration(h.b.Place, h.log)
	h.startClaude()
	go h.accept(l) // ends with the process
	go func() {    // ends with the process
		for range signals {
			h.stop(prompt, termGrace)
		}
	}()
	// The initialization of packages that only the daemon needs leaves half a MiB of garbage:
	// return the memory to the system while claude starts.
	go debug.FreeOSMemory() // ends by itself
	h.awaitEnd()
	_ = l.Close()
	h.tools.release()
	h.registration.remove()
}

func (h *host) startClaude() {
	c, err := startChild(h.b, h.registration.envMark())
	if err != nil {
		h.log.Error("claude not started", "err", err)
		h.onClaudeExit(claude.Exit{Status: -1, Error: err.Error()})
		return
	}
	h.child = c
	h.registration.addClaude(c.cmd.Process.Pid)
	c.send(claude.InitializeLine(initializeID, h.b.ToolServer != ""), true)
	if !h.registration.isSpare() { // a spare begins no tool
		h.tools.reserve()
	}
	go h.superviseClaude() // ends with claude
	time.AfterFunc(h.b.StartTimeout, h.onStartTimeout)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle.timeout = h.b.IdleTimeout
	h.idle.timer = time.AfterFunc(math.MaxInt64, h.endIdle) // restart sets the time
	h.idle.restart(time.Now())
}

func (h *host) superviseClaude() {
	read := make(chan struct{})
	go func() { // ends with the pipe, which is closed below
		defer close(read)
		h.readOutput()
	}()
	e := h.child.wait()
	if err := protocol.SweepMarked(context.Background(), h.registration.envMark()); err != nil {
		h.log.Error("processes of the session do not end", "err", err)
	}
	h.child.drain()
	h.awaitOutput(read)
	_ = h.child.stdout.Close()
	h.child.closeInput()
	h.onClaudeExit(e)
}

// awaitOutput returns when claude's last output is in the log. If the log is full, the
// output waits for a daemon to acknowledge entries, but not longer than a stop allows.
func (h *host) awaitOutput(read <-chan struct{}) {
	select {
	case <-read:
		return
	case <-h.asked:
	}
	select {
	case <-read:
	case <-time.After(2 * drainGrace):
		h.events.close()
		<-read
	}
}

func (h *host) onClaudeExit(e claude.Exit) {
	h.mu.Lock()
	e.Ready, e.Timeout, e.Idle, e.Stopped = h.ready, h.timedOut, h.idle.closing == endingIdle, h.idle.closing == endingOwnTurn
	h.requests = nil // nobody waits for an answer any more
	h.mu.Unlock()
	h.events.finish(func(b []byte, seq uint64) []byte {
		return append(b, protocol.EncodeEntry(protocol.Entry{Seq: seq, At: time.Now().UnixMicro(), Exit: &e})...)
	})
	h.sendLog()
	close(h.exited)
}

func (h *host) onStartTimeout() {
	h.mu.Lock()
	late := !h.ready
	h.timedOut = h.timedOut || late
	h.mu.Unlock()
	if late {
		h.log.Error("claude did not answer initialize in time", "timeout", h.b.StartTimeout)
		h.child.end(prompt, termGrace)
	}
}

// endIdle ends a claude that has been idle for the timeout while no daemon was connected.
// Its input is closed with the mutex held: a turn of a daemon that connects meanwhile
// either counts as work, or never reaches claude and is run by the next process.
func (h *host) endIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.idle
	if h.daemon != nil || wait.IsClosed(h.asked) || wait.IsClosed(h.exited) || t.closing != notEnding || t.timeout <= 0 {
		return // the timer is started again when the daemon leaves
	}
	now := time.Now()
	if left := t.due(!h.ready || len(h.requests) > 0, now).Sub(now); left > 0 {
		t.timer.Reset(left)
		return
	}
	t.closing = endingIdle
	h.log.Info("idle claude is ended, no daemon is connected", "timeout", t.timeout)
	h.child.end(graceful, patientGrace)
}

// endOwnTurn ends a claude that has begun a turn by itself after a person has stopped the
// gateway: a stopped gateway spends nothing. The host stays as long as a daemon needs its events.
func (h *host) endOwnTurn() {
	if _, stopped := statemark.StoppedAt(h.b.StateDir); !stopped {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.daemon != nil || h.idle.closing != notEnding {
		return
	}
	h.idle.closing = endingOwnTurn
	h.log.Info("claude is ended: it began a turn by itself, and the gateway is stopped")
	h.child.end(prompt, termGrace)
}

func (h *host) stop(gently bool, grace time.Duration) {
	h.askEnd()
	if h.child != nil {
		h.child.end(gently, grace)
	}
}

func (h *host) awaitEnd() {
	<-h.exited
	if h.isUnneeded() {
		return
	}
	tick := time.NewTicker(abandonedInterval)
	defer tick.Stop()
	for {
		select {
		case <-h.events.drained:
			return
		case <-h.asked:
			h.flush()
			return
		case <-tick.C:
			if h.registration.isLost() && h.connected() == nil {
				h.log.Warn("host stops although events are not acknowledged: its record is gone, so no daemon can find it")
				return
			}
		}
	}
}

// isUnneeded reports whether claude was ended for idleness and no daemon needs the
// host: all events but the exit are acknowledged, or the host is a spare.
func (h *host) isUnneeded() bool {
	onlyExit := h.events.length() == 1 // before the lock: the log's mutex is never taken with the host's held
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.idle.closing != notEnding && h.daemon == nil && (onlyExit || h.registration.isSpare())
}

// flush gives a connected daemon a moment to acknowledge the last events.
func (h *host) flush() {
	if c := h.connected(); c != nil {
		select {
		case <-h.events.drained:
		case <-c.released:
		case <-time.After(flushGrace):
		}
	}
}

func (h *host) connected() *connection {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.daemon
}

// inheritedFiles reads the bootstrap, and marks the inherited descriptors so that claude
// does not get them.
func inheritedFiles() (protocol.Bootstrap, *os.File, *os.File, error) {
	for _, fd := range []int{protocol.FDBootstrap, protocol.FDListener, protocol.FDLock} {
		syscall.CloseOnExec(fd)
	}
	pipe := os.NewFile(protocol.FDBootstrap, "bootstrap")
	if pipe == nil {
		return protocol.Bootstrap{}, nil, nil, fmt.Errorf("read bootstrap: descriptor %d is not open", protocol.FDBootstrap)
	}
	defer func() { _ = pipe.Close() }()
	var b protocol.Bootstrap
	if err := json.NewDecoder(pipe).Decode(&b); err != nil {
		return protocol.Bootstrap{}, nil, nil, fmt.Errorf("read bootstrap (this command is started by the daemon only): %w", err)
	}
	if b.Version != protocol.Version {
		return protocol.Bootstrap{}, nil, nil, fmt.Errorf("read bootstrap: version %d, want %d", b.Version, protocol.Version)
	}
	return b, os.NewFile(protocol.FDListener, "listener"), os.NewFile(protocol.FDLock, "lock"), nil
}
