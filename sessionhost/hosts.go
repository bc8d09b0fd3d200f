// Package sessionhost is the daemon's end of session hosts: it starts, finds and uses
// hosts, and keeps spares ready. [Hosts] satisfies core.Agent. Package host is the host
// process; package protocol is shared by both ends.
package sessionhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bareclaw/core"
	"bareclaw/internal/privatedir"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// Options configure hosts. All but the limits are required.
type Options struct {
	StateDir   string   // the parent of hosts/, with records and locks
	RuntimeDir string   // sockets
	Self       string   // path of this binary
	Dir        string   // working directory of claude
	Env        []string // of claude and its host
	// Program returns claude's command without flags. It is called at each start; the user
	// reads its error.
	Program      func() ([]string, error)
	Launch       claude.Launch // but for the session
	ConfigDir    string        // parent of claude's transcripts
	Lasting      bool          // sessions can be resumed
	Generation   int64         // of this daemon; hosts obey the newest
	StartTimeout time.Duration // for claude to answer initialize
	// ConnectTimeout is how long a host may take to answer before the daemon waits once
	// more; 0 means 10 s.
	ConnectTimeout time.Duration
	IdleTimeout    time.Duration // how long a host keeps an idle claude without a daemon; 0 means for ever
	Log            *slog.Logger
	MemLimit       int64 // bytes of unacknowledged events in a host's memory; 0 means 256 KiB
	SpoolLimit     int64 // and in all; 0 means 64 MiB
	// Spares is how many sessions are kept ready for new channels; none where sessions
	// cannot be resumed.
	Spares int
	// MemoryFree returns the available bytes of memory, 0 if unknown: short memory prevents
	// spares. Nil: unknown.
	MemoryFree func() uint64
}

// Hosts starts and finds session hosts. It satisfies core.Agent.
type Hosts struct {
	o      Options
	spares *spares
}

// connectTimeout is how long a host may take to answer the daemon's hello. The daemon waits
// connectAttempts times.
const (
	connectTimeout  = 10 * time.Second
	connectAttempts = 2
)

// startAttempts is how many hosts are tried before a session cannot be started.
const startAttempts = 3

// New makes the directories for hosts.
func New(o Options) (*Hosts, error) {
	if o.MemLimit == 0 {
		o.MemLimit = 256 << 10
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = connectTimeout
	}
	if o.SpoolLimit == 0 {
		o.SpoolLimit = 64 << 20
	}
	for _, dir := range []string{filepath.Join(o.StateDir, "hosts"), o.RuntimeDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make directory for session hosts: %w", err)
		}
	}
	if err := privatedir.CheckSocketDir(o.RuntimeDir); err != nil {
		return nil, fmt.Errorf("use %s for sockets (BARECLAW_RUNTIME_DIR): %w", o.RuntimeDir, err)
	}
	if !o.Lasting {
		o.Spares = 0
	}
	h := &Hosts{o: o}
	h.spares = newSpares(h)
	return h, nil
}

// Lasting reports whether sessions can be resumed by id later on.
func (h *Hosts) Lasting() bool { return h.o.Lasting }

// Compose returns the line with a turn for claude.
func (h *Hosts) Compose(id core.TurnID, content json.RawMessage) ([]byte, error) {
	return claude.UserLine(string(id), content)
}

// Start begins a session in a new host, or binds the spare reserved with its id. It first
// ends the leftovers of an earlier host of the channel. A host that dies before its answer
// is replaced: no turn was handed over yet.
func (h *Hosts) Start(ctx context.Context, key core.ChannelKey, l core.Launch) (core.Session, error) {
	if s := h.spares.bind(ctx, key, l); s != nil {
		return s, nil
	}
	p := h.place(key)
	b, err := h.bootstrap(p, l)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		s, err := h.start(ctx, key, b, p)
		if err == nil {
			go s.read() // ends with the connection
			return s, nil
		}
		if attempt == startAttempts || !protocol.IsDisconnect(err) {
			return nil, fmt.Errorf("start session host: %w", err)
		}
		h.o.Log.Warn("session host lost while starting, another is started", "channel", string(key), "err", err)
	}
}

func (h *Hosts) place(key core.ChannelKey) protocol.Place {
	return protocol.PlaceOf(h.o.StateDir, h.o.RuntimeDir, string(key))
}

// bootstrap returns the parameters of a new host. The user reads the error.
func (h *Hosts) bootstrap(p protocol.Place, l core.Launch) (protocol.Bootstrap, error) {
	program, err := h.o.Program()
	if err != nil {
		return protocol.Bootstrap{}, err
	}
	if _, err := os.Stat(h.o.Dir); err != nil { // exec would report claude as missing
		return protocol.Bootstrap{}, &core.AgentError{Code: core.CodeAgentFailed, Text: "Claude's working directory cannot be used (BARECLAW_CWD)", Err: err}
	}
	launch := h.launchFor(l)
	return protocol.Bootstrap{
		Version: protocol.Version, Launch: h.launchID(), Settings: l.Settings.Fingerprint(), Place: p, SessionID: l.SessionID,
		Argv: append(program[:len(program):len(program)], launch.Args()...), Dir: h.o.Dir,
		StartTimeout: h.o.StartTimeout, IdleTimeout: h.o.IdleTimeout, MemLimit: h.o.MemLimit, SpoolLimit: h.o.SpoolLimit,
	}, nil
}

// start runs one host and greets it, even if ctx ends meanwhile: the host's record exists
// by then, so a later daemon finds the host. A host that cannot be greeted is ended.
func (h *Hosts) start(ctx context.Context, key core.ChannelKey, b protocol.Bootstrap, p protocol.Place) (*session, error) {
	lock, err := h.acquireLock(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }() // the host holds the lock now
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	host, err := h.spawn(b, p, lock)
	if err != nil {
		return nil, err
	}
	s, err := h.connect(context.WithoutCancel(ctx), key, p.Socket, 0)
	if err != nil {
		_ = host.Kill() // the host may have ended; the next start ends its leftovers
	}
	return s, err
}

// acquireLock takes the session lock. It ends the holder, and the leftovers of an earlier
// host.
func (h *Hosts) acquireLock(ctx context.Context, p protocol.Place) (*os.File, error) {
	lock, err := protocol.LockFile(p.LockPath)
	if err == nil {
		if err := reapRecord(ctx, p); err != nil {
			_ = lock.Close()
			return nil, err
		}
		return lock, nil
	}
	if !errors.Is(err, protocol.ErrLocked) {
		return nil, err
	}
	// The holder is ended by its record, which a new host may be about to write; the lock
	// closes with the holder.
	for range 100 {
		if err := reapRecord(ctx, p); err != nil {
			return nil, err
		}
		if lock, err = protocol.LockFile(p.LockPath); !errors.Is(err, protocol.ErrLocked) {
			return lock, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("%s: %w, and no record names the process", p.LockPath, protocol.ErrLocked)
}

// spawn starts the host process. The socket listens before the process runs. A process
// without a bootstrap ends by itself.
func (h *Hosts) spawn(b protocol.Bootstrap, p protocol.Place, lock *os.File) (*os.Process, error) {
	if err := os.Remove(p.Socket); err != nil && !protocol.IsNotExist(err) {
		return nil, fmt.Errorf("remove stale socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for session host: %w", err)
	}
	l.SetUnlinkOnClose(false)
	defer func() { _ = l.Close() }()
	if err := os.Chmod(p.Socket, 0o600); err != nil {
		return nil, fmt.Errorf("close the host's socket to others: %w", err)
	}
	socket, err := l.File()
	if err != nil {
		return nil, fmt.Errorf("listen for session host: %w", err)
	}
	defer func() { _ = socket.Close() }()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make bootstrap pipe: %w", err)
	}
	defer func() { _ = r.Close() }()
	log, err := openLog(p.LogPath)
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(h.o.Self, protocol.Subcommand)
	cmd.Env, cmd.Dir = h.o.Env, "/"
	cmd.Stderr = log
	cmd.ExtraFiles = []*os.File{r, socket, lock} // fdBootstrap, fdListener, fdLock
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("run %s: %w", h.o.Self, err)
	}
	go func() { _ = cmd.Wait() }() // collects the exit status; ends with the host
	defer func() { _ = w.Close() }()
	if err := json.NewEncoder(w).Encode(b); err != nil {
		return nil, fmt.Errorf("send bootstrap: %w", err)
	}
	return cmd.Process, nil
}

// maxLogBytes is the size at which a host's log is truncated.
const maxLogBytes = 1 << 20

func openLog(path string) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if st, err := os.Stat(path); err == nil && st.Size() > maxLogBytes {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open host log: %w", err)
	}
	return f, nil
}

// Attach finds the live host of the channel. It returns core.ErrNoHost without a live host,
// and another error for a host that does not answer.
func (h *Hosts) Attach(ctx context.Context, key core.ChannelKey) (core.Session, error) {
	r, err := protocol.ReadRecord(h.place(key).RecordPath)
	if protocol.IsNotExist(err) {
		return nil, core.ErrNoHost
	}
	if err != nil {
		return nil, err
	}
	if !r.HostAlive() {
		return nil, core.ErrNoHost
	}
	s, err := h.connect(ctx, key, r.Socket, r.PID)
	if err != nil {
		if hasEnded(ctx, r, err) {
			return nil, core.ErrNoHost
		}
		return nil, fmt.Errorf("attach session host %d: %w", r.PID, err)
	}
	go s.read() // ends with the connection
	s.info.Stale = h.outdated(s.launchID)
	return s, nil
}

// hasEnded reports whether the connection failed because the host was ending. The kernel
// closes a process's sockets before the process counts as gone, so a closed connection
// allows the host a second to disappear.
func hasEnded(ctx context.Context, r protocol.Record, err error) bool {
	if !protocol.IsDisconnect(err) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return proc.WaitGone(ctx, r.PID, r.Start) == nil
}

// Reserve returns the session id of a ready spare, false without one. Start with the id
// binds the spare to a channel. A spare without a Start within a minute is ended.
func (h *Hosts) Reserve() (sessionID string, ok bool) { return h.spares.reserve() }

// Spares returns how many spares are ready, and how many there should be.
func (h *Hosts) Spares() (ready, wanted int) { return h.spares.count() }

// Reap ends the leftover processes of the channel.
func (h *Hosts) Reap(ctx context.Context, key core.ChannelKey) error {
	return reapRecord(ctx, h.place(key))
}

// Live lists the channels with a live host. It waits a moment for hosts without a record
// yet.
func (h *Hosts) Live(ctx context.Context) ([]core.ChannelKey, error) {
	h.awaitRecords(ctx)
	records, err := h.records()
	if err != nil {
		return nil, err
	}
	var keys []core.ChannelKey
	for _, r := range records {
		if _, spare := protocol.SpareSlot(r.Channel); !spare && (r.HostAlive() || r.ClaudeAlive()) {
			keys = append(keys, core.ChannelKey(r.Channel))
		}
	}
	return keys, nil
}

// records returns the records of the state directory, also of dead hosts.
func (h *Hosts) records() ([]protocol.Record, error) {
	files, err := filepath.Glob(filepath.Join(escapeGlob(h.o.StateDir), "hosts", "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list host records: %w", err)
	}
	var records []protocol.Record
	for _, file := range files {
		r, err := protocol.ReadRecord(file)
		switch {
		case protocol.IsNotExist(err): // the host has just ended
		case err != nil:
			h.o.Log.Warn("host record not read", "file", file, "err", err)
		default:
			records = append(records, r)
		}
	}
	return records, nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// errNoAnswer means that a host did not answer the daemon's hello.
var errNoAnswer = errors.New("the host does not answer")

// connect greets the host and returns its session, unread. A pid other than 0 must be the
// host's.
func (h *Hosts) connect(ctx context.Context, key core.ChannelKey, socket string, pid int) (*session, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	o, answered := h.o, make(chan greeting, 1)
	go func() { // ends with the connection, closed below
		s, err := handshake(c, key, pid, o)
		answered <- greeting{s, err}
	}()
	s, err := h.awaitAnswer(ctx, key, answered)
	if err != nil {
		_ = c.Close()
	}
	return s, err
}

// A greeting is the outcome of a handshake.
type greeting struct {
	s   *session
	err error
}

// awaitAnswer waits for a host's answer, on a busy machine twice. A second connection would
// be no better than a longer wait: the host could greet the two in either order.
func (h *Hosts) awaitAnswer(ctx context.Context, key core.ChannelKey, answered <-chan greeting) (*session, error) {
	for attempt := 1; ; attempt++ {
		late := time.NewTimer(h.o.ConnectTimeout)
		select {
		case g := <-answered:
			late.Stop()
			return g.s, g.err
		case <-ctx.Done():
			late.Stop()
			return nil, context.Cause(ctx)
		case <-late.C:
		}
		if attempt == connectAttempts {
			return nil, errNoAnswer
		}
		h.o.Log.Warn("session host does not answer yet", "channel", string(key), "waited", h.o.ConnectTimeout)
	}
}
