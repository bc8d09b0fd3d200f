package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Subcommand is the hidden role of a worker: the gateway itself, below its supervisor.
const Subcommand = "worker"

// controlFD is the descriptor of a worker's control socket.
const controlFD = 3

// ErrGone means that the supervisor has ended. Whoever started it decides what follows.
var ErrGone = errors.New("the supervisor has ended")

// A Parent is the supervisor as its worker sees it. Methods that send do nothing when the
// supervisor has ended: see Gone. All methods are safe for concurrent use.
type Parent struct {
	link  *link
	first bool
	heir  bool
	mu    sync.Mutex
	files map[string]*os.File // from other workers

	replies   chan message  // to Ready, Restart and Release, of which one waits at a time
	trialOver chan struct{} // see TrialOver
	gone      chan struct{} // see Gone
}

// Inherit returns the supervisor of this process, which must be its worker. Inherit blocks
// until the supervisor has sent what other workers left.
func Inherit() (*Parent, error) {
	unix.CloseOnExec(controlFD)
	l, err := newLink(os.NewFile(controlFD, "control"))
	if err != nil {
		return nil, fmt.Errorf("%w (the role %s is for processes that the gateway starts)", err, Subcommand)
	}
	m, err := l.read()
	if err != nil {
		return nil, fmt.Errorf("start below the supervisor: %w", err)
	}
	if m.Kind != msgStart {
		return nil, fmt.Errorf("the supervisor sent %q first", m.Kind)
	}
	p := &Parent{
		link:      l,
		first:     m.First,
		heir:      m.Heir,
		files:     m.files,
		replies:   make(chan message, 4),
		trialOver: make(chan struct{}),
		gone:      make(chan struct{}),
	}
	go p.receive() // ends with the supervisor
	return p, nil
}

func (p *Parent) receive() {
	defer close(p.gone)
	for {
		m, err := p.link.read()
		if err != nil {
			return
		}
		closeAll(m.files) // none are expected
		if m.Kind == msgTrialOver {
			close(p.trialOver)
		} else {
			p.replies <- m
		}
	}
}

// reply returns the wanted message of the supervisor. reply ignores the refusal of a restart
// that was already prepared: another worker follows.
func (p *Parent) reply(ctx context.Context, wanted string) (m message, err error) {
	for {
		select {
		case m = <-p.replies:
		case <-p.gone:
			return m, ErrGone
		case <-ctx.Done():
			return m, context.Cause(ctx)
		}
		switch {
		case m.Kind == wanted:
			return m, nil
		case m.Kind == msgRefused && wanted == msgPrepared:
			return m, errors.New(m.Error)
		}
	}
}

// First reports whether a person or a service manager starts the gateway: this worker
// neither takes over nor follows a crash.
func (p *Parent) First() bool { return p.first }

// IsHeir reports whether another worker serves until Ready has returned, or holds requests.
func (p *Parent) IsHeir() bool { return p.heir }

// File returns the file that another worker left under a name, nil if there is none. The
// caller closes the file.
func (p *Parent) File(name string) *os.File {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.files[name]
	delete(p.files, name)
	return f
}

// A Socket is what a service manager has passed.
type Socket struct {
	Name string // as the service manager has it
	File *os.File
}

// Passed returns the sockets that a service manager has passed. The caller closes them.
func (p *Parent) Passed() (sockets []Socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(p.files)) {
		if numbered, ok := strings.CutPrefix(key, passedPrefix); ok {
			_, name, _ := strings.Cut(numbered, "-")
			sockets = append(sockets, Socket{Name: name, File: p.files[key]})
			delete(p.files, key)
		}
	}
	return sockets
}

// Ready reports that this process could serve, and blocks until no other process does.
// After an error this process must not serve.
func (p *Parent) Ready() error {
	_ = p.link.write(message{Kind: msgReady}) // an ended supervisor is seen below
	if _, err := p.reply(context.Background(), msgGo); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	closeAll(p.files) // not asked for
	p.files = nil
	return nil
}

// Keep leaves files with the supervisor, which passes them to every later worker. A file
// replaces an earlier one of its name. The files stay the caller's.
func (p *Parent) Keep(files map[string]*os.File) {
	_ = p.link.write(message{Kind: msgKeep, files: files})
}

// Serving reports that this process owns everything. The worker before it sends the
// requests that it still holds to the socket at path.
func (p *Parent) Serving(path string, onTrial bool) {
	_ = p.link.write(message{Kind: msgServing, Path: path, Trial: onTrial})
}

// maxReason bounds the text of an error that is sent, in bytes.
const maxReason = 16 << 10

// Failed reports why this process cannot serve. forNow means that another process may serve later
// without anybody mending anything here: for want of room, say.
func (p *Parent) Failed(err error, forNow bool) {
	text := err.Error()
	_ = p.link.write(message{Kind: msgFailed, Error: text[:min(len(text), maxReason)], ForNow: forNow})
}

// Restart has the supervisor start another worker of the program at path, and blocks until
// the worker is ready: the caller then calls Release. After an error nothing has changed, unless it is
// ErrGone: then another supervisor may have started that program.
// Only one call may be under way. The supervisor keeps place open during a trial, so that no
// other process replaces the program; place may be nil.
func (p *Parent) Restart(path string, onTrial bool, place *os.File) error {
	m := message{Kind: msgRestart, Path: path, Trial: onTrial}
	if place != nil {
		m.files = map[string]*os.File{placeFile: place}
	}
	_ = p.link.write(m)
	_, err := p.reply(context.Background(), msgPrepared)
	return err
}

// Release reports that this process owns nothing any more, and blocks until another worker
// serves, whose socket for held requests it returns.
func (p *Parent) Release(ctx context.Context) (path string, err error) {
	_ = p.link.write(message{Kind: msgReleased})
	m, err := p.reply(ctx, msgSucceeded)
	return m.Path, err
}

// Stopping reports that this process was told to end, and ends: no other worker is
// started.
func (p *Parent) Stopping() { _ = p.link.write(message{Kind: msgStopping}) }

// Notify tells a service manager the state, as sd_notify(3) does.
func (p *Parent) Notify(state string) { _ = p.link.write(message{Kind: msgNotify, State: state}) }

// Health reports once a second how a program on trial is; nil is well.
func (p *Parent) Health(err error) {
	m := message{Kind: msgHealth}
	if err != nil {
		m.Error = err.Error()
	}
	_ = p.link.write(m)
}

// TrialOver is closed when the program on trial stays.
func (p *Parent) TrialOver() <-chan struct{} { return p.trialOver }

// Gone is closed when the supervisor has ended.
func (p *Parent) Gone() <-chan struct{} { return p.gone }
