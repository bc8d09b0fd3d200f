// Package mounts has the tools of other people's MCP servers. A file says which servers there are. A server
// runs while its tools are called; what it has listed is on record, so that its tools are offered without it.
package mounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bareclaw/core/tools"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/proc"
	"bareclaw/internal/procmark"
	"bareclaw/internal/wait"
)

// SourceName is the name of the source of mounted tools.
const SourceName = "mount"

const (
	// lookEvery is the time between two looks at the file.
	lookEvery = time.Second
	// missingLooks is how often in a row the file must be missing to count as removed: editors replace it.
	missingLooks = 3
	// maxLearners bounds how many servers are started at once to learn their tools.
	maxLearners = 2
	// learningPatience is how long the next one waits for a server that has not told its tools.
	learningPatience = 3 * time.Second
	// sweepEvery is the time between two removals of old files.
	sweepEvery = 6 * time.Hour
)

// Options are what the room is made with. All but Idle, Gateway and Reserved are required.
type Options struct {
	Path     string          // of the file, which need not exist
	StateDir string          // the room's own directory is below it
	Dir      string          // in which servers run
	Idle     time.Duration   // after which servers end that nobody uses, and that say no other time; 0: DefaultIdle
	Reserved []string        // names that no mounted tool may have: those of tools that sources before the room may still get
	Life     context.Context // ends with the gateway, and so do the servers
	Records  Records
	Log      *slog.Logger
	Gateway  Gateway // which is not mounted on itself
}

// Mounts are the mounted servers. They are a source of tools. All methods are safe for concurrent use.
type Mounts struct {
	*tools.List

	path     string
	dir      string
	idle     time.Duration
	gateway  Gateway
	state    string
	reserved map[string]bool // names as claude shows them
	life     *lifetime
	records  Records
	log      *slog.Logger
	results  *resultStore
	mark     procmark.Mark
	number   atomic.Int64  // of servers that were started
	learners chan struct{} // has a place for each server that is started to learn its tools

	seen     glance     // the version of the file that was read last, by Load or Run
	offering sync.Mutex // held while the tools are offered
	keeping  sync.Mutex // held while a listing is put on record

	mu      sync.Mutex // guards the fields below
	mounts  map[string]*mount
	bags    map[string][]string
	faults  map[string]string // why a server of the file cannot be mounted, by name
	leftOut []string          // what else of the file is not used, in sentences
	problem string            // of the file, in a sentence; empty: none
	written time.Time         // when the file was written that was read last; zero: there was none
}

// New returns the room without servers: Load and Run mount them.
func New(o Options) *Mounts {
	pid := os.Getpid()
	start, err := proc.StartTime(pid)
	if err != nil {
		o.Log.Error("mounted servers may outlive the gateway", "err", err)
	}
	dir := filepath.Join(o.StateDir, "mounts")
	reserved := map[string]bool{}
	for _, name := range o.Reserved {
		reserved[shown(name)] = true
	}
	return &Mounts{
		List:     tools.NewList(SourceName),
		path:     o.Path,
		dir:      o.Dir,
		idle:     cmp.Or(o.Idle, DefaultIdle),
		gateway:  o.Gateway,
		state:    dir,
		reserved: reserved,
		life:     &lifetime{ctx: o.Life},
		records:  o.Records,
		log:      o.Log,
		results: &resultStore{
			dir: filepath.Join(dir, "results"),
			log: o.Log,
			max: maxKept,
		},
		mark:     procmark.Of(dir, pid, start),
		learners: make(chan struct{}, maxLearners),
		mounts:   map[string]*mount{},
	}
}

// nextMark returns the mark of the next server that is started.
func (r *Mounts) nextMark() string { return r.mark.Numbered(int(r.number.Add(1))) }

// Load mounts the servers of the file, and offers what they have listed before. It starts none. A registry
// must have the room as a source.
func (r *Mounts) Load(ctx context.Context) {
	r.seen = r.look()
	defer r.noteRead()
	file, err := Read(r.path)
	if err != nil {
		r.fail(err)
		return
	}
	_ = r.mountAll(ctx, file) // is told of each server, and tried again by Run
}

// forget removes what servers have listed that somebody has taken out of the file.
func (r *Mounts) forget(ctx context.Context, file *File, kept keptListings) {
	var errs []error
	for _, name := range kept.names() {
		if !slices.Contains(file.Names(), name) {
			errs = append(errs, keepListing(ctx, r.records, name, nil))
		}
	}
	if err := errors.Join(errs...); err != nil {
		r.log.Warn("what servers have listed stays on record", "err", err)
	}
}

// Run follows the file, and learns the tools of new servers, until the gateway ends. It returns when all servers
// have ended.
func (r *Mounts) Run(ctx context.Context) {
	defer r.life.end()
	if err := procmark.Sweep(ctx, MarkVariable, procmark.Orphans(r.state)); err != nil {
		r.log.Warn("servers of an earlier process may still run", "err", err)
	}
	var swept time.Time
	for missing := 0; ; {
		r.learn()
		if time.Since(swept) > sweepEvery {
			r.results.sweep()
			swept = time.Now()
		}
		if wait.Sleep(ctx, lookEvery) != nil {
			return
		}
		now := r.look()
		if now.isMissing() {
			missing++
		} else {
			missing = 0
		}
		if now == r.seen || now.isMissing() && missing < missingLooks {
			continue
		}
		r.seen = now
		r.reload(ctx)
	}
}

// A glance tells versions of the file apart.
type glance struct {
	size    int64
	changed time.Time
}

// isMissing reports whether there is no file, or an empty one: whoever writes it may be about to go on.
func (g glance) isMissing() bool { return g.size == 0 }

// look looks at the file.
func (r *Mounts) look() glance {
	info, err := os.Stat(r.path)
	if err != nil || info.Size() == 0 {
		return glance{}
	}
	return glance{info.Size(), info.ModTime()}
}

// reload mounts what the file says now. A file that cannot be read changes nothing.
func (r *Mounts) reload(ctx context.Context) {
	defer r.noteRead()
	file, err := Read(r.path)
	if err != nil {
		r.fail(err)
		r.seen = glance{size: -1} // the next look may read it
		return
	}
	if err := r.mountAll(ctx, file); err != nil {
		return // it is told of each server
	}
	r.log.Info("servers mounted", "file", r.path, "servers", len(file.Names()))
}

func (r *Mounts) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	problem := "The file of mounted servers cannot be read, and what it said before holds: " + mdtext.Ended(err.Error())
	if r.problem != problem { // else it was told
		r.log.Error("the file of mounted servers cannot be read: what it said before holds", "err", err)
	}
	r.problem = problem
}

// mountAll mounts the servers of a file in the place of those before. A server that is described as before
// goes on running. As long as the record of what servers have listed cannot be read, servers that were not mounted
// before are not: nobody knows which of their tools people know. The error is why it cannot.
func (r *Mounts) mountAll(ctx context.Context, file *File) error {
	next := map[string]*mount{}
	faults := map[string]string{}
	kept, unread := readListings(ctx, r.records)
	r.mu.Lock()
	before := r.mounts
	told := r.faults
	r.mu.Unlock()
	for _, name := range file.Names() {
		server, err := file.Server(name)
		if err == nil {
			if err = r.gateway.Refuse(&server); err != nil {
				err = fmt.Errorf("server %q: %w", name, err)
			}
		}
		if err != nil {
			faults[name] = err.Error()
			r.log.Warn("a server cannot be mounted", "err", err)
			continue
		}
		old := before[name]
		if old != nil && reflect.DeepEqual(old.server, server) {
			next[name] = old
			continue
		}
		if why := cmp.Or(unread, kept.unread[name]); why != nil && old == nil {
			faults[name] = why.Error()
			if told[name] != faults[name] {
				r.log.Error("a server is not mounted, because nobody knows which of its tools may run unasked", "mount", name, "err", why)
			}
			continue
		}
		next[name] = r.mount(server, old, kept.all[name])
	}
	leftOut := file.LeftOut()
	for _, why := range leftOut {
		r.log.Warn("a part of the file of mounted servers is left out", "why", why)
	}
	r.mu.Lock()
	r.mounts = next
	r.faults = faults
	r.leftOut = leftOut
	r.bags = file.Bags()
	r.problem = ""
	r.mu.Unlock()
	r.BagsChanged()
	for name, old := range before {
		if next[name] != old {
			old.pool.retire()
		}
	}
	r.offer()
	if !r.seen.isMissing() { // else whoever writes it may be about to go on
		r.forget(ctx, file, kept)
	}
	if unread != nil {
		r.seen.size = -1 // the next look may read the record
	}
	return unread
}

// mount mounts a server, which is known by its record, in the place of another one; nil: of none.
func (r *Mounts) mount(server Server, old *mount, known listing) *mount {
	m := newMount(r, server)
	m.known = known
	if old != nil {
		m.takeOver(old)
	}
	return m
}

// all returns the mounts, those that were mounted first before the others.
func (r *Mounts) all() []*mount {
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.mounts))
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b *mount) int {
		x, y := a.listing(), b.listing()
		return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(a.server.Name, b.server.Name))
	})
	return all
}

// learn starts the servers whose tools are not known, each once at a time.
func (r *Mounts) learn() {
	for _, m := range r.all() {
		if m.wantsLearning() {
			r.life.spawn(func() { r.learnOne(m) })
		}
	}
}

// learnOne starts a server, whose tools are known then, and ends it.
func (r *Mounts) learnOne(m *mount) {
	defer m.learningDone()
	select {
	case r.learners <- struct{}{}:
	case <-m.learns.Done():
		return
	}
	leave := sync.OnceFunc(func() { <-r.learners })
	defer leave()
	slow := time.AfterFunc(learningPatience, leave) // a server that hangs delays nobody
	defer slow.Stop()
	i, err := m.pool.acquire(m.learns, "")
	if err != nil {
		return // it is told, and tried again
	}
	m.pool.release(i, works)
	m.pool.dismissIdle(i)
}

// offer offers the tools of all servers.
func (r *Mounts) offer() {
	r.offering.Lock()
	defer r.offering.Unlock()
	var offered []tools.Tool
	all := r.all()
	for _, m := range all {
		fit, unfit := m.tools()
		names := map[string]bool{}
		for _, t := range fit {
			if other := owner(all, t.Name); other != m {
				unfit = append(unfit, fmt.Sprintf("The tool %q is left out: such names belong to the server %s.", t.Name, other.server.Name))
				continue
			}
			if r.reserved[shown(t.Name)] {
				unfit = append(unfit, fmt.Sprintf("The tool %q is left out: the gateway has a tool of that name. A prefix gives it another one.", t.Name))
				continue
			}
			offered = append(offered, t)
			names[t.Name] = true
		}
		m.mu.Lock()
		m.offered = names
		m.pending = false
		m.leftOut = unfit
		m.mu.Unlock()
	}
	if err := r.Replace(offered); err != nil { // they were checked
		r.log.Error("mounted tools are not offered", "err", err)
	}
}

// Await implements [tools.LateSource]. It never waits: a server that does not start delays nobody.
func (r *Mounts) Await(context.Context, string) error { return nil }

// WhyMissing implements [tools.LateSource].
func (r *Mounts) WhyMissing(name string) string {
	for _, m := range r.all() {
		if prefix := m.server.prefix(); prefix != "" && strings.HasPrefix(name, prefix) {
			if why := m.whyUnknown(); why != "" {
				return why
			}
		}
	}
	return ""
}

// Bags returns the patterns of the file's bags, by their names. The caller must not change them.
func (r *Mounts) Bags() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bags
}

var _ tools.LateSource = (*Mounts)(nil)
