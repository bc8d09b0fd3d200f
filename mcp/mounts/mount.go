package mounts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/guard"
	"bareclaw/internal/wait"
)

// maxInstances bounds how many instances of a server run at once.
const maxInstances = 16

// The pauses between starts of a server that fail.
const (
	firstPause = 2 * time.Second
	maxPause   = 5 * time.Minute
)

// relistTimeout is how long a server may take to list its tools again.
const relistTimeout = 30 * time.Second

// A mount is one server of the file. It runs while it is used.
type mount struct {
	room   *Mounts
	server Server
	log    *slog.Logger

	mu        sync.Mutex // guards the fields below
	instances map[core.ChannelKey]*instance
	known     listing
	pauses    wait.Backoff
	notBefore time.Time // of the next start
	problem   string    // why the last start failed; empty: it did not
	learning  bool      // it is being started to learn its tools
	retired   bool      // another one has its place, or none
	counts    Counts
}

// Counts are what a mount has done since the gateway started.
type Counts struct {
	Calls    int
	Failures int // calls and starts
	Starts   int
}

func newMount(room *Mounts, server Server) *mount {
	return &mount{
		room:      room,
		server:    server,
		log:       room.log.With("mount", server.Name),
		instances: map[core.ChannelKey]*instance{},
		pauses:    wait.Backoff{First: firstPause, Most: maxPause},
	}
}

// takeOver makes what an earlier mount of the same name knows and has counted that of this one.
func (m *mount) takeOver(old *mount) {
	old.mu.Lock()
	known := old.known
	counts := old.counts
	old.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = known
	m.counts = counts
}

// listing returns what the server has listed.
func (m *mount) listing() listing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// wantsLearning reports whether the server must be started to learn its tools now. If so, learningDone must follow.
func (m *mount) wantsLearning() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server.Disabled || m.learning || m.known.isKnown(&m.server) || time.Now().Before(m.notBefore) {
		return false
	}
	m.learning = true
	return true
}

func (m *mount) learningDone() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learning = false
}

// whyUnknown returns why the server's tools are not known, as a sentence; empty if they are.
func (m *mount) whyUnknown() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.server.Disabled:
		return fmt.Sprintf("The mounted server %s is disabled.", m.server.Name)
	case m.known.isKnown(&m.server):
		return ""
	case m.problem != "":
		return fmt.Sprintf("The mounted server %s does not start: %s", m.server.Name, m.problem)
	}
	return fmt.Sprintf("The mounted server %s is being started: call the tool again in a moment.", m.server.Name)
}

// forgive lets the next start be tried at once.
func (m *mount) forgive() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pauses.Reset()
	m.notBefore = time.Time{}
}

func (m *mount) countCall() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Calls++
}

// errEnded leaves a call to the next process of the gateway.
var errEnded = fmt.Errorf("the mounted servers have ended with the gateway: %w", core.ErrClosed)

// A sessionError says that the session with a server has ended during a call.
type sessionError struct {
	server string
	again  bool // the call was carried out a second time
	cause  error
}

// Error says what is known of the call.
func (e *sessionError) Error() string {
	if e.again {
		return fmt.Sprintf("the mounted server %s has ended twice during the call: %s", e.server, e.cause)
	}
	return fmt.Sprintf("the mounted server %s has ended during the call, and whether it was carried out is not known: look before calling again. %s",
		e.server, e.cause)
}

// Unwrap returns how the session has ended.
func (e *sessionError) Unwrap() error { return e.cause }

// call has the server carry out a call for a channel. A call that may run again is repeated once if the server
// ends meanwhile.
func (m *mount) call(ctx context.Context, channel core.ChannelKey, name string, args json.RawMessage, mayRunAgain bool) (*sdk.CallToolResult, error) {
	for again := false; ; again = true {
		i, err := m.acquire(ctx, m.keyOf(channel))
		if err != nil {
			return nil, err
		}
		bounded, cancel := context.WithTimeoutCause(ctx, m.server.CallTimeout(), fmt.Errorf("%s did not answer within %s", m.server.Name, m.server.CallTimeout()))
		result, err := i.link.call(bounded, name, args)
		cause := context.Cause(bounded)
		cancel()
		state := works
		switch {
		case err == nil || isAnswer(err) || ctx.Err() != nil:
		case cause != nil:
			state = silent
		default:
			state = broken
			err = i.link.explain(ctx, err)
		}
		m.release(i, state)
		switch {
		case err == nil:
			return result, nil
		case m.room.life.Err() != nil:
			return nil, errEnded
		case cause != nil:
			return nil, cause
		case state == works:
			return nil, fmt.Errorf("%s: %w", m.server.Name, err)
		case isNotCarriedOut(err) && !again:
		case again || !mayRunAgain:
			return nil, &sessionError{m.server.Name, again, err}
		}
	}
}

// A condition is what a user says of an instance after its use.
type condition int

const (
	works  condition = iota
	silent           // it has not answered in time: it ends if nobody else waits for it
	broken           // the session has failed
)

// keyOf returns whose instance a channel uses.
func (m *mount) keyOf(channel core.ChannelKey) core.ChannelKey {
	if m.server.Scope == PerCaller {
		return channel
	}
	return ""
}

// acquire returns the instance with a key, for the caller to use until release. It starts one if there is none.
func (m *mount) acquire(ctx context.Context, key core.ChannelKey) (*instance, error) {
	i, err := m.use(key)
	if err != nil {
		return nil, err
	}
	select {
	case <-i.ready:
		err = i.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		m.release(i, works)
		return nil, err
	}
	return i, nil
}

// use counts a user of the instance with a key, which need not be ready.
func (m *mount) use(key core.ChannelKey) (*instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.room.life.Err() != nil {
		return nil, fmt.Errorf("%w: %w", errEnded, tools.ErrNotBegun)
	}
	if m.retired {
		return nil, fmt.Errorf("the mounted server %s has just been changed or removed: call the tool again", m.server.Name)
	}
	i := m.instances[key]
	if i == nil {
		if pause := time.Until(m.notBefore); pause > 0 {
			return nil, fmt.Errorf("the mounted server %s does not start, and is tried again in %s: %s", m.server.Name, pause.Round(time.Second), m.problem)
		}
		if len(m.instances) >= maxInstances && !m.makeRoom() {
			return nil, fmt.Errorf("the mounted server %s runs %d times already, for other channels; call again when one of them has ended", m.server.Name, maxInstances)
		}
		i = m.begin(key)
	}
	i.users++
	if i.idle != nil {
		i.idle.Stop()
		i.idle = nil
	}
	return i, nil
}

// begin starts an instance; mu is held.
func (m *mount) begin(key core.ChannelKey) *instance {
	i := &instance{
		caller:  key,
		began:   time.Now(),
		ready:   make(chan struct{}),
		changed: wait.NewSignal(),
		told:    make(chan struct{}),
	}
	m.instances[key] = i
	m.counts.Starts++
	m.room.running.Go(func() { m.run(i) })
	return i
}

// run starts the server of an instance, and ends it when the session is over.
func (m *mount) run(i *instance) {
	err := guard.Do(m.log, "starting a mounted server", func() error { return m.open(i) })
	m.mu.Lock()
	if err == nil {
		m.pauses.Reset()
		m.problem = ""
		m.log.Info("mounted server ready", "took", time.Since(i.began))
	} else {
		i.err = fmt.Errorf("the mounted server %s does not start: %w", m.server.Name, err)
		if m.room.life.Err() != nil {
			i.err = fmt.Errorf("%w: %w", errEnded, tools.ErrNotBegun)
		} else {
			m.fail(err)
		}
		m.drop(i)
	}
	m.mu.Unlock()
	close(i.ready)
	if err != nil {
		return
	}
	m.awaitEnd(i)
	m.mu.Lock()
	m.drop(i)
	m.mu.Unlock()
	ctx, cancel := m.room.endContext()
	defer cancel()
	i.link.close(ctx)
}

// open begins the session of an instance.
func (m *mount) open(i *instance) error {
	ctx, cancel := context.WithTimeoutCause(m.room.life, startTimeout, fmt.Errorf("it did not answer within %s", startTimeout))
	defer cancel()
	l, listed, err := dial(ctx, &m.server, m.room.dir, m.room.nextMark(), m.log, i.changed.Send)
	if err != nil {
		return err
	}
	i.link = l
	m.learned(listed)
	return nil
}

// awaitEnd returns when the session has ended, or the gateway does.
func (m *mount) awaitEnd(i *instance) {
	ended := make(chan struct{})
	go func() { // ends when the session is closed
		_ = i.link.session.Wait()
		close(ended)
	}()
	var exited chan struct{}
	if i.link.process != nil {
		exited = i.link.process.exited
	}
	for {
		select {
		case <-i.changed:
			if err := m.relist(m.room.life, i); err != nil {
				m.log.Warn("the mounted server has changed its tools, and does not list them", "err", err)
			}
			continue
		case <-ended:
		case <-exited:
		case <-i.told:
		case <-m.room.life.Done():
		}
		return
	}
}

// relist learns the tools of a server that has changed them.
func (m *mount) relist(ctx context.Context, i *instance) error {
	ctx, cancel := context.WithTimeoutCause(ctx, relistTimeout, fmt.Errorf("it did not answer within %s", relistTimeout))
	defer cancel()
	listed, err := listOf(ctx, i.link.session)
	if err != nil {
		return i.link.explain(ctx, err)
	}
	m.learned(listed)
	return nil
}

// fail notes that a start has failed; mu is held.
func (m *mount) fail(err error) {
	m.counts.Failures++
	m.problem = err.Error()
	pause := m.pauses.Next()
	m.notBefore = time.Now().Add(pause)
	m.log.Warn("mounted server does not start", "err", err, "pause", pause)
}

// drop makes room for another instance in the place of one; mu is held.
func (m *mount) drop(i *instance) {
	if m.instances[i.caller] == i {
		delete(m.instances, i.caller)
	}
}

// release ends the use of an instance, which is kept for a while if it works.
func (m *mount) release(i *instance, c condition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i.users--
	if c != works {
		m.counts.Failures++
	}
	switch {
	case c == broken, i.users == 0 && (c == silent || m.retired):
		m.end(i)
	case i.users == 0:
		i.idle = time.AfterFunc(cmp.Or(time.Duration(m.server.Idle), m.room.idle), func() { m.endIdle(i) })
	}
}

// endIdle ends an instance that nobody uses.
func (m *mount) endIdle(i *instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i.users == 0 {
		m.end(i)
	}
}

// makeRoom ends an instance that nobody uses, and reports whether there was one; mu is held.
func (m *mount) makeRoom() bool {
	var oldest *instance
	for _, i := range m.instances {
		if i.users == 0 && (oldest == nil || i.began.Before(oldest.began)) {
			oldest = i
		}
	}
	if oldest != nil {
		m.end(oldest)
	}
	return oldest != nil
}

// end has an instance end, whoever uses it; mu is held.
func (m *mount) end(i *instance) {
	m.drop(i)
	select {
	case <-i.told:
	default:
		close(i.told)
	}
}

// retire ends the mount: at once what nobody uses, the rest when nobody does any more.
func (m *mount) retire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retired = true
	for _, i := range m.instances {
		if i.users == 0 { // the others end with their last user
			m.end(i)
		}
	}
}
