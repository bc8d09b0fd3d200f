package toolhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bareclaw/core"
	"bareclaw/toolhost/api"
)

// A state is what is known of the tool host. All methods are safe for concurrent use.
type state struct {
	ended chan struct{} // closed when the gateway ends, and no tool host comes any more

	mu          sync.Mutex    // guards the fields below, and the health of the child
	child       *child        // the running one; nil: none
	present     chan struct{} // closed while there is one
	restarts    int           // crashes since the last rollback
	unexplained int           // of these, those that neither calls nor a file explain
	crashes     int64         // since the start of the daemon
	problem     string        // why no tool host runs
	rolledBack  string        // what became of the last rollback after crashes; empty if people know
}

func newState() *state { return &state{ended: make(chan struct{}), present: make(chan struct{})} }

// set makes a tool host that has just started, or none, the present one.
func (s *state) set(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == nil {
		close(s.child.left)
		s.child, s.present = nil, make(chan struct{})
		return
	}
	s.child, s.problem = c, ""
	close(s.present)
}

// now returns the present tool host; nil if there is none, and why if that is known.
func (s *state) now() (c *child, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child, s.problem
}

// errEnded leaves a call to the next process of the gateway.
var errEnded = fmt.Errorf("the tool host has ended with the gateway: %w", core.ErrClosed)

// await returns the present tool host, and waits for one if there is none.
func (s *state) await(ctx context.Context) (*child, error) {
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	for {
		s.mu.Lock()
		c, present, problem := s.child, s.present, s.problem
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
		select {
		case <-present:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.ended:
			if problem != "" {
				return nil, errors.New(problem)
			}
			return nil, errEnded
		case <-late.C:
			return nil, errors.New(cmp.Or(problem, fmt.Sprintf("The tool host did not start within %s.", startTimeout)))
		}
	}
}

// ask asks a tool host for its health, notes the answer, and reports whether there was one.
func (s *state) ask(ctx context.Context, c *child) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	health, err := c.client.health(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.health = &health; err != nil {
		c.health = nil
	}
	return err == nil
}

// fail notes why no tool host runs.
func (s *state) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = "The tool host does not run: " + err.Error()
}

// countCrash counts a crash. It returns how many crashes there were since the last rollback that
// nothing explains.
func (s *state) countCrash(why cause) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts++
	s.crashes++
	if why == isUnknown {
		s.unexplained++
	}
	return s.unexplained
}

// forgetCrashes begins to count anew.
func (s *state) forgetCrashes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts, s.unexplained = 0, 0
}

// noteRollback notes what people should know of a rollback; empty if they do.
func (s *state) noteRollback(says string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rolledBack = says
}

// status says how the tool host did a second ago.
func (s *state) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Status: isStarting, RestartCount: s.restarts, Problem: s.problem, Crashes: s.crashes, RolledBack: s.rolledBack}
	if st.Problem != "" {
		st.Status = hasFailed
	}
	if c := s.child; c != nil {
		st.PID, st.Status, st.StartedAt = c.pid, isRunning, &Moment{c.startedAt.UTC().Truncate(time.Millisecond)}
		st.Health, st.Healthy = c.health, c.health != nil && c.health.Status == api.Healthy
	}
	return st
}

// statusNow is status with a new answer of the tool host.
func (s *state) statusNow(ctx context.Context) Status {
	if c, _ := s.now(); c != nil {
		s.ask(ctx, c)
	}
	return s.status()
}
