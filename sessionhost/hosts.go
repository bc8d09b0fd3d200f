// Package sessionhost is the daemon's end of session hosts: it starts, finds and uses
// hosts, and keeps spares ready. [Hosts] satisfies core.Agent. Package host is the host
// process; package protocol is shared by both ends.
package sessionhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"bareclaw/core"
	"bareclaw/internal/privatedir"
	"bareclaw/internal/proc"
	"bareclaw/internal/procmark"
	"bareclaw/internal/wait"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/pipe"
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
	// ToolServer is the path of the file with the hosts' own answers to MCP requests. Sessions
	// with a set of tools of their own have a file beside it. Without a path sessions get no tools
	// of the gateway.
	ToolServer string
	// Spares is how many sessions are kept ready for new channels; none where sessions
	// cannot be resumed.
	Spares int
	// MemoryFree returns the available bytes of memory, 0 if unknown: short memory prevents
	// spares. Nil: unknown.
	MemoryFree func() uint64
}

// Hosts starts and finds session hosts. It satisfies core.Agent.
type Hosts struct {
	*spares
}

// A hostKeeper starts and reaches hosts, of channels and of spares.
type hostKeeper struct {
	o        Options
	tools    toolServer
	presence *presence
}

// connectTimeout is how long a host may take to answer the daemon's hello before the daemon
// waits once more.
const connectTimeout = 10 * time.Second

// startAttempts is how many hosts are tried before a session cannot be started.
const startAttempts = 3

// New makes the directories for hosts.
func New(o Options) (*Hosts, error) {
	o.MemLimit = cmp.Or(o.MemLimit, 256<<10)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, connectTimeout)
	o.SpoolLimit = cmp.Or(o.SpoolLimit, 64<<20)
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
	return &Hosts{newSpares(&hostKeeper{
		o:        o,
		tools:    newToolServer(o.ToolServer),
		presence: newPresence(filepath.Join(o.StateDir, "hosts", "claude.last"), o.Log),
	})}, nil
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
	if s := h.bind(ctx, key, l); s != nil {
		return s, nil
	}
	s, err := h.start(ctx, key, l)
	switch wait := h.presence.waitAfter(err); {
	case err == nil:
		return s, nil
	case wait != "" && ctx.Err() == nil:
		return nil, &core.AgentError{Code: core.CodeAgentFailed, Text: "Claude cannot be started now", Err: err, Wait: wait}
	}
	return nil, err
}

func (h *Hosts) start(ctx context.Context, key core.ChannelKey, l core.Launch) (core.Session, error) {
	p := h.o.place(key)
	b, err := h.o.bootstrap(p, l)
	if err != nil {
		return nil, err
	}
	if b.ToolServer, err = h.tools.provide(l.Settings.Tools); err != nil {
		h.o.Log.Error("a session starts without tools", "channel", string(key), "err", err)
	}
	for attempt := 1; ; attempt++ {
		s, err := h.launch(ctx, key, b, p)
		if err == nil {
			go h.readSession(s) // ends with the connection
			return s, nil
		}
		if attempt == startAttempts || !protocol.IsDisconnect(err) {
			return nil, fmt.Errorf("start session host: %w", err)
		}
		h.o.Log.Warn("session host lost while starting, another is started", "channel", string(key), "err", err)
	}
}

// launch runs one host and greets it, even if ctx ends meanwhile: the host's record exists
// by then, so a later daemon finds the host. A host that cannot be greeted is ended.
func (h *hostKeeper) launch(ctx context.Context, key core.ChannelKey, b protocol.Bootstrap, p protocol.Place) (*session, error) {
	lock, err := acquireLock(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }() // the host holds the lock now
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	file := fileOf(b.Argv[0])
	host, err := h.o.spawn(b, p, lock)
	if err != nil {
		return nil, err
	}
	s, err := h.connect(context.WithoutCancel(ctx), key, p.Socket, 0)
	if err != nil {
		_ = host.Kill() // the host may have ended; the next start ends its leftovers
		return nil, err
	}
	s.setProgram(startedProgram{h.presence, file, h.o.Program})
	if s.info.Version == "" {
		s.info.Version = h.presence.versionOf(file)
	}
	return s, nil
}

// acquireLock takes the session lock. It ends the holder, and the leftovers of an earlier
// host.
func acquireLock(ctx context.Context, p protocol.Place) (*os.File, error) {
	// A holder is ended by its record, which a new host may be about to write; the lock
	// closes with the holder.
	for range 100 {
		lock, err := protocol.LockFile(p.LockPath)
		if err != nil && !errors.Is(err, protocol.ErrLocked) {
			return nil, err
		}
		if err := reapRecord(ctx, p.RecordPath); err != nil {
			_ = lock.Close() // lock may be nil
			return nil, err
		}
		if lock != nil {
			return lock, nil
		}
		if err := wait.Sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w, and no record names the process", p.LockPath, protocol.ErrLocked)
}

// Attach finds the live host of the channel. It returns core.ErrNoHost without a live host,
// and another error for a host that does not answer.
func (h *Hosts) Attach(ctx context.Context, key core.ChannelKey) (core.Session, error) {
	r, err := protocol.ReadRecord(h.o.place(key).RecordPath)
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
	s.setProgram(startedProgram{h.presence, programFile{}, h.o.Program})
	go h.readSession(s) // ends with the connection
	s.info.Stale = h.o.outdated(s.launchID)
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

// Reap ends the leftover processes of the channel.
func (h *Hosts) Reap(ctx context.Context, key core.ChannelKey) error {
	return reapRecord(ctx, h.o.place(key).RecordPath)
}

// Sweep ends the leftover processes of sessions of this state directory whose host is gone.
// It returns when they are gone, or when ctx ends.
func (h *Hosts) Sweep(ctx context.Context) error {
	return procmark.Sweep(ctx, protocol.EnvMarkVariable, orphansOf(h.o.StateDir))
}

// Live lists the channels with a live host. It waits a moment for hosts without a record
// yet, other than spares of this daemon.
func (h *Hosts) Live(ctx context.Context) ([]core.ChannelKey, error) {
	var starting []string
	for slot := range h.o.Spares {
		starting = append(starting, h.o.place(spareKey(slot+1)).LockPath)
	}
	if missing := awaitRecords(ctx, h.o.StateDir, h.o.RuntimeDir, starting); missing != nil && ctx.Err() == nil {
		h.o.Log.Warn("session host has no record yet, and is found only when its channel is used", "locks", missing)
	}
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

func (h *hostKeeper) records() ([]recordFile, error) {
	records, unread, err := readRecords(h.o.StateDir)
	if len(unread) > 0 {
		h.o.Log.Warn("host records not read", "files", unread)
	}
	return records, err
}

// Fate reads the fate of a turn from claude's transcript and the host's notes. A session
// without a transcript never began a turn.
func (h *Hosts) Fate(_ context.Context, key core.ChannelKey, sessionID string, id core.TurnID) (core.Fate, error) {
	fate, err := h.o.transcript(sessionID).fate(id)
	if err != nil {
		return core.Fate{}, fmt.Errorf("read the fate of turn %s: %w", id, err)
	}
	begun, err := protocol.ToolNoted(h.o.place(key).ToolsPath, string(id))
	if err != nil {
		return core.Fate{}, fmt.Errorf("read the fate of turn %s: %w", id, err)
	}
	if begun {
		fate.Begun, fate.ToolBegun = true, true
	}
	return fate, nil
}

// errNoAnswer means that a host did not answer the daemon's hello.
var errNoAnswer = errors.New("the host does not answer")

// connect greets the host and returns its session, unread. A pid other than 0 must be the
// host's. On a busy machine connect waits twice: a second connection would be no better
// than a longer wait, because the host could greet the two in either order.
func (h *hostKeeper) connect(ctx context.Context, key core.ChannelKey, socket string, pid int) (*session, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c, err := pipe.NewSocket(conn)
	if err != nil {
		return nil, err
	}
	o := h.o
	changes := h.tools.begin()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(o.ConnectTimeout, func() {
		o.Log.Warn("session host does not answer yet", "channel", string(key), "waited", o.ConnectTimeout)
		time.AfterFunc(h.o.ConnectTimeout, func() { cancel(errNoAnswer) })
	})
	defer late.Stop()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // ends the handshake
	s, err := handshake(c, key, pid, o)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	s.toolChanges = changes
	return s, nil
}
