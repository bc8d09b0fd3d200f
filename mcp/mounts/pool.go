package mounts

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

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

// The pauses before a server's tools are listed again because it says that they have changed.
const (
	firstRelist = 50 * time.Millisecond
	mostRelist  = time.Minute
)

// A pool has the instances of a server. They run while they are used, and for a while after that.
type pool struct {
	name string        // of the server
	idle time.Duration // after which an instance ends that nobody uses
	life *lifetime
	log  *slog.Logger
	open func(*instance) error // begins the session of an instance
	// onRetire is called when the pool retires.
	onRetire func()
	// relist learns the tools of an instance that has changed them.
	relist func(context.Context, *instance) error

	mu        sync.Mutex // guards the fields below
	instances map[core.ChannelKey]*instance
	pauses    wait.Backoff
	notBefore time.Time // of the next start
	problem   string    // why the last start failed; empty: it did not
	retired   bool      // another pool has its place, or none
	starts    int
	failures  int // of starts and of instances in use
}

// acquire returns the instance with a key, for the caller to use until release. It starts one if there is none.
func (p *pool) acquire(ctx context.Context, key core.ChannelKey) (*instance, error) {
	i, err := p.use(key)
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
		p.release(i, works)
		return nil, err
	}
	return i, nil
}

// use counts a user of the instance with a key, which need not be ready.
func (p *pool) use(key core.ChannelKey) (*instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.isOver() {
		return nil, fmt.Errorf("%w: %w", errEnded, tools.ErrNotBegun)
	}
	if p.retired {
		return nil, p.takenAway()
	}
	i := p.instances[key]
	if i == nil {
		if pause := time.Until(p.notBefore); pause > 0 {
			return nil, fmt.Errorf("the mounted server %s does not start, and is tried again in %s: %s", p.name, pause.Round(time.Second), p.problem)
		}
		if len(p.instances) >= maxInstances && !p.makeRoom() {
			return nil, fmt.Errorf("the mounted server %s runs %d times already, for other channels; call again when one of them has ended", p.name, maxInstances)
		}
		if i = p.begin(key); i == nil {
			return nil, fmt.Errorf("%w: %w", errEnded, tools.ErrNotBegun)
		}
	}
	i.users++
	if i.idle != nil {
		i.idle.Stop()
		i.idle = nil
	}
	return i, nil
}

// takenAway returns the error of a call of a server that was taken away meanwhile.
func (p *pool) takenAway() error {
	return fmt.Errorf("the mounted server %s has just been changed or removed: call the tool again", p.name)
}

// begin starts an instance; nil: the gateway ends. mu is held.
func (p *pool) begin(key core.ChannelKey) *instance {
	i := &instance{
		caller:  key,
		began:   time.Now(),
		changed: wait.NewSignal(),
		ready:   make(chan struct{}),
	}
	i.wanted, i.dismiss = context.WithCancel(p.life.ctx)
	if !p.life.spawn(func() { p.run(i) }) {
		return nil
	}
	p.instances[key] = i
	p.starts++
	return i
}

// run starts the server of an instance, and ends it when the session is over.
func (p *pool) run(i *instance) {
	err := guard.Do(p.log, "starting a mounted server", func() error { return p.open(i) })
	p.started(i, err)
	close(i.ready)
	defer i.dismiss() // releases wanted
	if err != nil {
		return
	}
	p.follow(i)
	p.mu.Lock()
	p.drop(i)
	p.mu.Unlock()
	ctx, cancel := p.life.lastMoments()
	defer cancel()
	i.link.close(ctx)
}

// started notes whether an instance can be used.
func (p *pool) started(i *instance, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.pauses.Reset()
		p.problem = ""
		p.log.Info("mounted server ready", "took", time.Since(i.began))
		return
	}
	p.drop(i)
	if p.life.isOver() {
		i.err = fmt.Errorf("%w: %w", errEnded, tools.ErrNotBegun)
		return
	}
	if p.retired {
		i.err = p.takenAway()
		return
	}
	i.err = fmt.Errorf("the mounted server %s does not start: %w", p.name, err)
	p.failures++
	p.problem = err.Error()
	pause := p.pauses.Next()
	p.notBefore = time.Now().Add(pause)
	p.log.Warn("mounted server does not start", "err", err, "pause", pause)
}

// follow has the tools of an instance listed when they change, until its session is over or it is to leave.
func (p *pool) follow(i *instance) {
	ended := make(chan struct{})
	go func() { // ends when the session is closed
		_ = i.link.session.Wait()
		close(ended)
	}()
	var exited chan struct{}
	if i.link.process != nil {
		exited = i.link.process.exited
	}
	var due <-chan time.Time // of the next list; nil: the tools have not changed
	pauses := wait.Backoff{First: firstRelist, Most: mostRelist, Steady: mostRelist}
	listedAt := i.began
	for {
		select {
		case <-i.changed:
			if due == nil {
				due = time.After(pauses.NextAfter(time.Since(listedAt)))
			}
		case <-due:
			due = nil
			listedAt = time.Now()
			if err := p.relist(p.life.ctx, i); err != nil {
				p.log.Warn("the mounted server has changed its tools, which cannot be listed", "err", err)
			}
		case <-ended:
			return
		case <-exited:
			return
		case <-i.wanted.Done():
			return
		}
	}
}

// A condition is what a user says of an instance after its use.
type condition int

// The conditions.
const (
	works  condition = iota // or it is not known that it does not
	silent                  // it has not answered in time: it ends if nobody else waits for it
	broken                  // the session has failed
)

// release ends the use of an instance, which is kept for a while if it works.
func (p *pool) release(i *instance, c condition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i.users--
	if c != works {
		p.failures++
	}
	switch {
	case c == broken, i.users == 0 && (c == silent || p.retired):
		p.dismiss(i)
	case i.users == 0 && p.instances[i.caller] == i:
		i.usedAt = time.Now()
		i.idle = time.AfterFunc(p.idle, func() { p.dismissIdle(i) })
	}
}

// dismissIdle has an instance end that nobody uses.
func (p *pool) dismissIdle(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i.users == 0 {
		p.dismiss(i)
	}
}

// makeRoom has the instance end that nobody has used for the longest time, and reports whether there was one; mu is
// held.
func (p *pool) makeRoom() bool {
	var oldest *instance
	for _, i := range p.instances {
		if i.users == 0 && (oldest == nil || i.usedAt.Before(oldest.usedAt)) {
			oldest = i
		}
	}
	if oldest != nil {
		p.dismiss(oldest)
	}
	return oldest != nil
}

// dismiss has an instance end, whoever uses it; mu is held.
func (p *pool) dismiss(i *instance) {
	p.drop(i)
	i.dismiss()
}

// drop makes room for another instance in the place of one; mu is held.
func (p *pool) drop(i *instance) {
	if p.instances[i.caller] == i {
		delete(p.instances, i.caller)
	}
}

// retire ends the pool: at once what nobody uses, the rest when nobody does any more.
func (p *pool) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	p.onRetire()
	for _, i := range p.instances {
		if i.users == 0 { // the others end with their last user
			p.dismiss(i)
		}
	}
}

// isRetired reports whether another pool has the place of this one, or none.
func (p *pool) isRetired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.retired
}

// forgive lets the next start be tried at once.
func (p *pool) forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pauses.Reset()
	p.notBefore = time.Time{}
}

// mayStart reports whether a start need not wait.
func (p *pool) mayStart() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !time.Now().Before(p.notBefore)
}

// countFrom goes on with what an earlier pool has counted.
func (p *pool) countFrom(before poolStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts = before.starts
	p.failures = before.failures
}

// A poolStatus says how a pool does.
type poolStatus struct {
	problem   string // why the last start failed; empty: it did not
	starts    int
	failures  int
	instances []InstanceStatus
}

func (p *pool) status() poolStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := poolStatus{
		problem:  p.problem,
		starts:   p.starts,
		failures: p.failures,
	}
	for _, i := range p.instances {
		s.instances = append(s.instances, i.status())
	}
	return s
}
