package soak

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
)

// soakLength returns for how long there is chaos, and in how many channels.
func soakLength() (length time.Duration, channels int) {
	if !harness.Soak() {
		return 4 * time.Second, 6
	}
	if d, err := time.ParseDuration(os.Getenv("BARECLAW_TEST_SOAK")); err == nil {
		return d, 20
	}
	return 5 * time.Minute, 20
}

// testSeed is the seed of what a test draws: the one that is asked for, or
// another each time.
func testSeed(t testing.TB) uint64 {
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("BARECLAW_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("BARECLAW_TEST_SEED=%d", seed)
	return seed
}

// A soakRun is what traffic, chaos and audit share.
type soakRun struct {
	*harness.Machine
	seed   uint64
	kinds  map[string]soakKind
	blows  []soakBlow
	pace   int // how many times longer the pauses are between blows
	daemon atomic.Pointer[harness.Gateway]
	downs  sync.Mutex   // held while the gateway is being ended or killed, until there is one again
	epoch  atomic.Int64 // odd meanwhile
	stop   chan struct{}
	lines  []*soakLine

	mu    sync.Mutex // guards the field below
	tally map[string]int
}

// TestSoak is the proof of what lifetimes.md promises: whatever is killed,
// restarted or ended, each accepted message has one outcome, which is its own,
// nothing is done twice, and nothing is left behind.
func TestSoak(t *testing.T) {
	t.Parallel()
	length, channels := soakLength()
	m := harness.NewMachine(t, usualGOGC, "BARECLAW_APPROVALS=ask", "BARECLAW_APPROVAL_TIMEOUT=10m")
	r := newSoak(m, soakKinds, soakBlows)
	if r.run(channels, length, -1); !t.Failed() {
		r.audit(r.calm())
	}
	if t.Failed() {
		r.logJournal()
	}
	t.Logf("what happened: %v", r.tally)
}

func newSoak(m *harness.Machine, kinds map[string]soakKind, blows []soakBlow) *soakRun {
	return &soakRun{Machine: m, seed: testSeed(m.T), kinds: kinds, blows: blows, pace: 1, stop: make(chan struct{}), tally: map[string]int{}}
}

// run lets clients talk while there is chaos, and returns when they have what they
// wait for.
func (r *soakRun) run(channels int, length time.Duration, blows int) {
	r.daemon.Store(r.Start())
	var clients sync.WaitGroup
	for i := range channels {
		l := newSoakLine(r, i)
		r.lines = append(r.lines, l)
		clients.Go(l.talk)
	}
	helped := make(chan struct{})
	go func() { defer close(helped); r.help() }() // ends when no client waits any more
	r.lookedAfter(func() {
		r.chaos(length, blows)
		close(r.stop)
		clients.Wait()
		<-helped
	})
}

// rand returns the n-th stream of random numbers of the run.
func (r *soakRun) rand(n uint64) *rand.Rand { return rand.New(rand.NewPCG(r.seed, n)) }

// logJournal shows what the claudes did, for whoever looks for the cause.
func (r *soakRun) logJournal() {
	for _, l := range r.Journal() {
		r.T.Logf("claude %d of %s: %s %s %.200q", l.PID, l.Session, l.Event, l.UUID, l.Text)
	}
}

// count notes that something happened.
func (r *soakRun) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally[what]++
}

// stopped reports whether no more is to be begun.
func (r *soakRun) stopped() bool {
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

// pause lets some time pass, less if the run ends.
func (r *soakRun) pause(d time.Duration) {
	select {
	case <-r.stop:
	case <-time.After(d):
	}
}
