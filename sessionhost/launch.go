package sessionhost

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"bareclaw/core"
	"bareclaw/internal/privatedir"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

func (o *Options) place(key core.ChannelKey) protocol.Place {
	return protocol.PlaceOf(o.StateDir, o.RuntimeDir, string(key))
}

// launchID identifies how hosts are started now: the program's file, claude's command line
// without the session, what the launch adds to the environment, and the directory. A host of another launch goes on, and is replaced
// when idle. The id is empty if the program cannot be found.
func (o *Options) launchID() string {
	program, err := o.Program()
	if err != nil {
		return ""
	}
	self, err := os.Stat(o.Self)
	if err != nil {
		return ""
	}
	l := o.Launch
	l.SessionID, l.Resume = "", false
	b, err := json.Marshal([]any{self.Size(), self.ModTime().UnixNano(), program, l.Args(), l.Environ(), o.Dir})
	if err != nil {
		panic(fmt.Sprintf("sessionhost: strings do not encode: %v", err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

func (o *Options) outdated(launch string) bool {
	now := o.launchID()
	return now != "" && now != launch
}

// launchFor returns how claude is started for a channel. A session remembers a model and a
// mode (only plan, with CLI 2.1.329), so claude's own default replaces a withdrawn choice.
func (o *Options) launchFor(l core.Launch) claude.Launch {
	const theDefault = "default"
	launch := o.Launch
	launch.SessionID, launch.Resume = l.SessionID, l.Resume
	launch.Model = cmp.Or(l.Settings.Model, launch.Model)
	launch.PermissionMode = cmp.Or(l.Settings.PermissionMode, launch.PermissionMode)
	if l.Resume && l.Settings.HadModel {
		launch.Model = cmp.Or(launch.Model, theDefault)
	}
	if l.Resume && l.Settings.HadPermissionMode {
		launch.PermissionMode = cmp.Or(launch.PermissionMode, theDefault)
	}
	for _, r := range l.Settings.Rules {
		launch.Allow = append(launch.Allow, r.Rule)
	}
	return launch
}

// bootstrap returns the parameters of a new host. The user reads the error.
func (o *Options) bootstrap(p protocol.Place, l core.Launch) (protocol.Bootstrap, error) {
	program, err := o.Program()
	if err != nil {
		return protocol.Bootstrap{}, err
	}
	if _, err := os.Stat(o.Dir); err != nil { // exec would report claude as missing
		return protocol.Bootstrap{}, &core.AgentError{Code: core.CodeAgentFailed, Text: "Claude's working directory cannot be used (BARECLAW_CWD)", Err: err}
	}
	launch := o.launchFor(l)
	return protocol.Bootstrap{
		Version:      protocol.Version,
		Launch:       o.launchID(),
		Settings:     l.Settings.Fingerprint(),
		Place:        p,
		SessionID:    l.SessionID,
		StateDir:     o.StateDir,
		Argv:         append(program[:len(program):len(program)], launch.Args()...),
		Dir:          o.Dir,
		StartTimeout: o.StartTimeout,
		IdleTimeout:  max(o.IdleTimeout, 2*o.ConnectTimeout),
		MemLimit:     o.MemLimit,
		SpoolLimit:   o.SpoolLimit,
		ToolServer:   o.ToolServer,
	}, nil
}

// spawn starts the host process. The socket listens before the process runs. A process
// without a bootstrap ends by itself.
func (o *Options) spawn(b protocol.Bootstrap, p protocol.Place, lock *os.File) (*os.Process, error) {
	l, err := privatedir.Listen(p.Socket)
	if err != nil {
		return nil, fmt.Errorf("listen for session host: %w", err)
	}
	l.SetUnlinkOnClose(false)
	defer func() { _ = l.Close() }()
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
	cmd := exec.Command(o.Self, protocol.Subcommand)
	cmd.Env, cmd.Dir = slices.Concat(o.Env, o.Launch.Environ()), "/"
	cmd.Stderr = log
	cmd.ExtraFiles = []*os.File{r, socket, lock} // FDBootstrap, FDListener, FDLock
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("run %s: %w", o.Self, err)
	}
	go func() { // ends with the host
		proc.AwaitExit(cmd.Process)
		_ = cmd.Wait() // collects the exit status
	}()
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
