package mounts

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/oddserver"
)

func TestMain(m *testing.M) {
	oddserver.Main()
	os.Exit(m.Run())
}

// kept are records in memory, as the ledger keeps them.
type kept struct {
	mu     sync.Mutex
	all    map[string]core.Record
	broken error // of reads of several records; nil: they work
}

// breakDown has reads of several records fail from now on; nil: they work again.
func (k *kept) breakDown(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broken = err
}

func (k *kept) Record(_ context.Context, owner, key string) (core.Record, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.all[owner+"/"+key]
	if !ok {
		return r, core.ErrNotFound
	}
	return r, nil
}

func (k *kept) Records(_ context.Context, owner, prefix string) (found []core.Record, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken != nil {
		return nil, k.broken
	}
	for key, r := range k.all {
		if strings.HasPrefix(key, owner+"/"+prefix) {
			found = append(found, r)
		}
	}
	return found, nil
}

func (k *kept) PutRecords(_ context.Context, rs ...*core.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range rs {
		if r.Doc == nil {
			delete(k.all, r.Owner+"/"+r.Key)
		} else {
			k.all[r.Owner+"/"+r.Key] = *r
		}
	}
	return nil
}

func (k *kept) ForgetRecords(context.Context, ...core.RecordRange) error { return nil }

// A person answers what the gate asks.
type person struct {
	mu     sync.Mutex
	asked  []core.CallRequest
	refuse bool
}

func (p *person) AskCall(_ context.Context, r core.CallRequest) (core.Approval, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	return r.Approval().Decided(core.Decision{Allow: !p.refuse}, time.Now()), nil
}

// questions returns why a person was asked since the last time.
func (p *person) questions() (why []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.asked {
		why = append(why, r.Why)
	}
	p.asked = nil
	return why
}

// A gatewayProcess is one life of the room with a registry.
type gatewayProcess struct {
	t        *testing.T
	room     *Mounts
	registry *tools.Registry
	end      context.CancelFunc
	ended    chan struct{}
}

// A house has what outlives a process of the gateway.
type house struct {
	t       *testing.T
	path    string // of mcp.json
	dir     string
	idle    time.Duration // of Options
	gateway Gateway       // likewise
	taken   []string      // Options.Reserved
	records *kept
	person  *person
}

func newHouse(t *testing.T) *house {
	dir := t.TempDir()
	return &house{
		t:       t,
		path:    filepath.Join(dir, FileName),
		dir:     dir,
		records: &kept{all: map[string]core.Record{}},
		person:  &person{},
	}
}

// mount writes the file with one server, whose command starts oddserver with modes.
func (h *house) mount(name string, change func(s *Server), modes ...string) {
	h.t.Helper()
	file, err := Read(h.path)
	check.OK(h.t, err)
	s := Server{Name: name}
	s.Command, s.Args = oddserver.Command(h.t, modes...)
	if change != nil {
		change(&s)
	}
	check.OK(h.t, file.Put(s))
	check.OK(h.t, file.Write(h.path))
}

// start begins a life of the gateway, which ends with the test at the latest.
func (h *house) start() *gatewayProcess {
	h.t.Helper()
	life, end := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(h.t.Output(), nil))
	p := &gatewayProcess{
		t: h.t,
		room: New(Options{
			Path:     h.path,
			StateDir: h.dir,
			Dir:      h.dir,
			Idle:     h.idle,
			Reserved: h.taken,
			Life:     life,
			Records:  h.records,
			Log:      log,
			Gateway:  h.gateway,
		}),
		end:   end,
		ended: make(chan struct{}),
	}
	var err error
	p.registry, err = tools.NewRegistry(tools.Options{
		Log:     log,
		Sources: []tools.Source{tools.Dispatchers(), p.room},
		Asker:   h.person,
		Records: h.records,
		Bags:    p.room.Bags,
	})
	check.OK(h.t, err)
	p.room.Load(life)
	go func() {
		p.room.Run(life)
		close(p.ended)
	}()
	h.t.Cleanup(p.stop)
	return p
}

func (p *gatewayProcess) stop() {
	p.end()
	<-p.ended
}

// patience is how long a test waits, on a machine that does much else.
const patience = time.Minute

// await waits until a condition holds.
func (p *gatewayProcess) await(what string, holds func() bool) {
	p.t.Helper()
	check.Eventually(p.t, patience, what, holds)
}

// awaitTools waits until the registry has tools with names.
func (p *gatewayProcess) awaitTools(names ...string) {
	p.t.Helper()
	p.await(strings.Join(names, ", "), func() bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			_, ok := p.registry.Find(name)
			return !ok
		})
	})
}

// call calls a tool, and returns the result as text.
func (p *gatewayProcess) call(name string, args oddserver.Args, channel ...core.ChannelKey) (text string, failed bool) {
	p.t.Helper()
	encoded, err := json.Marshal(args)
	check.OK(p.t, err)
	c := tools.Call{Args: encoded}
	if len(channel) > 0 {
		c.Channel = channel[0]
		c.RequestID = "r"
	}
	result, err := p.registry.Call(p.t.Context(), name, c)
	check.OK(p.t, err)
	return result.Text, result.IsError
}
