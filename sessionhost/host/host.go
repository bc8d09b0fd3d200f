// Package host is the session host: a detached process that owns one claude and
// outlives the daemon.
//
// The host keeps each event of claude until a daemon has acknowledged it. A daemon
// that attaches gets each such event once and in order. One session never has two
// processes. The host knows neither HTTP nor the ledger.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

	"bareclaw/internal/proc"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

const (
	initializeID = "bareclaw-initialize"
	// maxLineBytes bounds one line of claude's output.
	maxLineBytes = 128 << 20
	// maxTurns is how many turn ids a host remembers at least.
	maxTurns = 256
	// gentleGrace is how long claude may take to end after its input is closed.
	gentleGrace = 5 * time.Second
	// flushGrace is how long a host that was told to end waits for its last
	// events to be acknowledged.
	flushGrace = time.Second
	// lookEvery is how often a host whose claude has ended looks whether it can still
	// be found.
	abandonedInterval = 2 * time.Second
	// termGrace is how long it may take after SIGTERM.
	termGrace = 300 * time.Millisecond
	// patientGrace is the same when nobody waits for the end.
	patientGrace = 5 * time.Second
)

// A host owns one claude. Its state is guarded by mu; the event log and the
// child guard their own.
type host struct {
	b      protocol.Bootstrap
	log    *slog.Logger
	child  *child
	rec    protocol.Record
	events *eventLog
	place  atomic.Pointer[protocol.Place] // a spare's changes once; written with mu held

	mu           sync.Mutex
	generation   int64
	client       *socket       // the daemon, nil when there is none
	released     chan struct{} // closed when nothing more is obeyed of it
	toDaemon     *pipeWriter   // of the log to the daemon, once it is welcome
	turns        []string
	requests     map[string]json.RawMessage // unanswered permission requests
	order        []string                   // their ids, oldest first
	ready        bool
	tasks        int // background tasks that are alive
	idle         idleTracker
	tools        toolNotes
	stopping     bool
	timedOut     bool
	rewrite      *time.Timer // of a record that could not be written; else nil
	unregistered bool
	stopped      chan struct{} // closed when a daemon asked for the end

	exited chan struct{} // closed when claude has ended
}

// Run is the host process: it serves one claude and returns the exit status once
// claude has ended and a daemon has acknowledged everything, or has asked for
// the end. It must be called from the main goroutine before it has been moved
// off the main thread.
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
	h := &host{
		b: b, log: log, requests: map[string]json.RawMessage{},
		stopped: make(chan struct{}), exited: make(chan struct{}),
	}
	h.place.Store(&b.Place)
	h.tools.path = func() string { return h.place.Load().ToolsPath }
	h.events = newEventLog(b.MemLimit, b.SpoolLimit, func() (*os.File, error) { return openSpool(h.place.Load().SpoolPath) }, h.sendLog)
	return h.run(socket)
}

// openSpool makes a file that has no name any more: nothing is left of it
// however the host ends.
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

func (h *host) run(l *net.UnixListener) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM)
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	h.writeRecord()
	c, err := startChild(h.b, h.envMark())
	if err != nil {
		h.log.Error("claude not started", "err", err)
		h.onClaudeExit(claude.Exit{Status: -1, Error: err.Error()})
	} else {
		h.child = c
		h.mu.Lock()
		h.rec.ClaudePID = c.cmd.Process.Pid
		h.rec.ClaudeStart, _ = proc.StartTime(h.rec.ClaudePID) // it may be gone already
		h.mu.Unlock()
		h.writeRecord()
		c.send(claude.InitializeLine(initializeID), true)
		if _, spare := protocol.SpareSlot(h.place.Load().Channel); !spare { // which begins no tool
			h.tools.reserve()
		}
		go h.superviseClaude(c) // ends with claude
		time.AfterFunc(h.b.StartTimeout, h.startTimeout)
		h.startIdleTimer()
	}
	go h.accept(l) // ends with the process
	// What packages that only the daemon needs have left at their start is given back,
	// half a MiB of each host, while claude takes its time.
	go debug.FreeOSMemory() // ends by itself
	h.waitForEnd(signals)
	_ = l.Close()
	h.unregister()
	return 0
}

// unregister removes what shows that the host is there, which no channel gets any
// more: claude has ended.
func (h *host) unregister() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unregistered = true
	h.tools.release()
	_ = os.Remove(h.place.Load().Socket)
	_ = os.Remove(h.place.Load().RecordPath)
}

// waitForEnd returns when claude has ended and nobody needs its events any more.
func (h *host) waitForEnd(signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			h.stop(false, false)
			continue
		case <-h.stopped:
			<-h.exited
			h.flush()
			return
		case <-h.exited:
		}
		break
	}
	if h.isUnneeded() {
		return
	}
	go h.awaitStop(signals) // ends with the process at the latest
	h.events.waitEmpty(h.isStopping)
	if h.isStopping() {
		h.flush()
	}
}

// awaitStop ends the wait for a daemon when the host is told to end, or when no
// daemon can find it any more, since its record is gone with the state directory.
func (h *host) awaitStop(signals <-chan os.Signal) {
	look := time.NewTicker(abandonedInterval)
	defer look.Stop()
	for {
		select {
		case <-signals:
			h.stop(false, false)
			return
		case <-h.stopped:
			return
		case <-look.C:
			if h.isAbandoned() {
				h.log.Warn("nobody takes claude's last words: the host's record is gone")
				h.stop(false, false)
				return
			}
		}
	}
}

// lost reports whether no daemon is there, and none will be.
func (h *host) isAbandoned() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := os.Stat(h.place.Load().RecordPath)
	return h.client == nil && errors.Is(err, fs.ErrNotExist)
}

func (h *host) isStopping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopping
}

// flush gives an attached daemon a moment to take the last events.
func (h *host) flush() {
	late := time.Now().Add(flushGrace)
	time.AfterFunc(flushGrace, h.events.wakeAll)
	h.events.waitEmpty(func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.client == nil || !time.Now().Before(late)
	})
}

// writeRecord says where the host is. If that cannot be written it is tried again and
// again: no other daemon finds the host without, and its lock keeps the channel from
// having another one.
func (h *host) writeRecord() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unregistered {
		return
	}
	if h.rec.PID == 0 {
		at := h.place.Load()
		h.rec = protocol.Record{Channel: at.Channel, Socket: at.Socket, PID: os.Getpid()}
		h.rec.Start, _ = proc.StartTime(h.rec.PID)
		h.rec.BootID, _ = proc.BootID()
	}
	err := h.rec.Write(h.place.Load().RecordPath)
	switch {
	case err == nil:
	case h.rewrite == nil:
		h.log.Error("host record not written", "err", err, "retry_in", protocol.RetryInterval)
		h.rewrite = time.AfterFunc(protocol.RetryInterval, h.writeRecord)
	default:
		h.rewrite.Reset(protocol.RetryInterval)
	}
}

func (h *host) startTimeout() {
	h.mu.Lock()
	late := !h.ready
	h.timedOut = h.timedOut || late
	h.mu.Unlock()
	if late {
		h.log.Error("claude did not answer initialize in time", "timeout", h.b.StartTimeout)
		h.endChild(false, false)
	}
}

// stop ends claude and then the host.
func (h *host) stop(gently, patient bool) {
	h.mu.Lock()
	if !h.stopping {
		h.stopping = true
		close(h.stopped)
	}
	h.mu.Unlock()
	h.events.wakeAll()
	h.endChild(gently, patient)
}

// endChild ends claude: its input is closed, then SIGTERM, then SIGKILL. It
// returns at once.
func (h *host) endChild(gently, patient bool) {
	if h.child == nil {
		return
	}
	h.child.closeInput()
	go func() { // ends with claude, which SIGKILL sees to
		if gently && h.exitsWithin(gentleGrace) {
			return
		}
		grace := termGrace
		if patient {
			grace = patientGrace
		}
		h.child.kill(syscall.SIGTERM)
		if !h.exitsWithin(grace) {
			h.child.kill(syscall.SIGKILL)
		}
	}()
}

func (h *host) exitsWithin(d time.Duration) bool {
	select {
	case <-h.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// marker is what the processes of this session bear.
func (h *host) envMark() protocol.EnvMark {
	return protocol.EnvMarkOf(h.place.Load().RecordPath, h.rec.PID, h.rec.Start)
}

// watch reads claude's output until it has ended.
func (h *host) superviseClaude(c *child) {
	read := make(chan struct{})
	go func() { // ends with the pipe, which is closed below
		defer close(read)
		h.readOutput(c)
	}()
	e := c.wait()
	if err := h.envMark().Sweep(context.Background()); err != nil {
		h.log.Error("not everything of the session has ended", "err", err)
	}
	c.drain()
	h.awaitOutput(read)
	_ = c.stdout.Close()
	c.closeInput()
	h.onClaudeExit(e)
}

// waitRead waits until claude's last words are in the log. When that is full they
// wait for a daemon to acknowledge others, but not longer than a stop allows.
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

// ended reports claude's end as the last event.
func (h *host) onClaudeExit(e claude.Exit) {
	h.mu.Lock()
	e.Ready, e.Timeout = h.ready, h.timedOut
	h.requests, h.order = map[string]json.RawMessage{}, nil // void
	h.mu.Unlock()
	h.events.finish(func(seq uint64) []byte {
		return protocol.EncodeEntry(protocol.Entry{Seq: seq, At: time.Now().UnixMicro(), Exit: &e})
	})
	h.sendLog()
	close(h.exited)
}

// sayOwn adds an entry of the host's own to the log.
func (h *host) appendOwn(s protocol.Entry) {
	s.At = time.Now().UnixMicro()
	err := h.events.append(false, func(seq uint64) []byte {
		s.Seq = seq
		return protocol.EncodeEntry(s)
	})
	if err != nil {
		h.log.Error("event not kept", "err", err)
	}
	h.sendLog()
}
