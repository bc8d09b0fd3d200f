package lanes

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"bareclaw/core"
)

// A fakeSession is a connection to a host.
type fakeSession struct {
	h      *fakeHost
	life   *life
	info   core.SessionInfo
	events chan *core.Batch
	quit   chan struct{}
	isCut  bool
	busy   sync.Mutex // held during each call: there may be one at a time
}

// pump passes on what the host says, as much at once as there is.
func (s *fakeSession) pump(after uint64) {
	defer close(s.events)
	mu := &s.h.a.mu
	for {
		mu.Lock()
		for !s.isCut && !s.h.ended && (len(s.h.log) == 0 || s.h.log[len(s.h.log)-1].Seq <= after) {
			s.h.changed.Wait()
		}
		batch := core.NewBatch()
		for _, ev := range s.h.log {
			if ev.Seq > after {
				if (ev.Kind == core.Requested || ev.Kind == core.ToolRequested) && ev.Seq <= s.info.Said { // those that wait are in Info
					ev.Kind = core.Said
				}
				batch.Add(ev)
			}
		}
		over := s.isCut || s.h.ended
		mu.Unlock()
		if over {
			return
		}
		after = batch.Events[len(batch.Events)-1].Seq
		select {
		case s.events <- batch:
		case <-s.quit:
			return
		}
	}
}

func (s *fakeSession) cutLocked() {
	if !s.isCut {
		s.isCut = true
		close(s.quit)
		s.h.changed.Broadcast()
	}
}

// call enters a method that only one goroutine may be in, and says whether it
// reaches the host.
func (s *fakeSession) call(what string) (leave func(), reaches bool) {
	if !s.busy.TryLock() {
		s.h.a.t.Errorf("session: %s during another call", what)
		return func() {}, false
	}
	s.h.a.mu.Lock()
	return func() { s.h.a.mu.Unlock(); s.busy.Unlock() }, !s.life.dead.Load() && !s.isCut && !s.h.ended
}

var errCut = errors.New("connection is cut")

func (s *fakeSession) Info() core.SessionInfo { return s.info }

func (s *fakeSession) Events() <-chan *core.Batch { return s.events }

func (s *fakeSession) Hand(id core.TurnID, line []byte) error {
	s.h.a.panicIf("hand")
	leave, reaches := s.call("Hand")
	defer leave()
	if !reaches {
		return errCut
	}
	t := s.h.a.t
	if s.h.a.ledger.isDone(id) {
		t.Errorf("host: turn %s handed over, which is not durable or has ended", id)
	}
	if slices.Contains(s.h.turns, id) {
		t.Errorf("host: turn %s handed to the same process twice", id)
	}
	if first, ok := s.h.a.lines[id]; ok && first != string(line) {
		t.Errorf("host: turn %s handed over with other bytes: %q, then %q", id, first, line)
	}
	if f := s.h.a.fates[id]; f != nil && (f.ToolBegun || f.Answered || f.Failed || f.Interrupted) {
		t.Errorf("%s %s host %d: turn %s handed over again after %+v", time.Now().Format("05.000"), s.h.key, s.h.pid, id, *f)
	}
	if h := s.h.a.hosts[s.h.key]; h != s.h {
		t.Errorf("host: turn %s handed to an old process", id)
	}
	s.h.a.lines[id] = string(line)
	s.h.turns = append(s.h.turns, id)
	select {
	case s.h.turn <- id:
	default:
	}
	return nil
}

func (s *fakeSession) Interrupt() error {
	leave, reaches := s.call("Interrupt")
	defer leave()
	if !reaches {
		return errCut
	}
	s.h.interrupts++
	s.h.changed.Broadcast()
	return nil
}

func (s *fakeSession) Answer(requestID string, d core.Answer) error {
	leave, reaches := s.call("Answer")
	defer leave()
	if !reaches {
		return errCut
	}
	i := slices.IndexFunc(s.h.requests, func(r core.Request) bool { return r.ID == requestID })
	if i < 0 {
		return nil // the first answer wins
	}
	s.h.requests = slices.Delete(s.h.requests, i, i+1)
	if s.h.answers == nil {
		s.h.answers = map[string]core.Answer{}
	}
	s.h.answers[requestID] = d
	return nil
}

func (s *fakeSession) Respond(requestID string, response json.RawMessage) error {
	leave, reaches := s.call("Respond")
	defer leave()
	if !reaches {
		return errCut
	}
	i := slices.IndexFunc(s.h.calls, func(r core.ToolRequest) bool { return r.ID == requestID })
	if i < 0 {
		return nil // the first answer wins
	}
	s.h.calls = slices.Delete(s.h.calls, i, i+1)
	if s.h.responses == nil {
		s.h.responses = map[string]string{}
	}
	s.h.responses[requestID] = string(response)
	return nil
}

func (s *fakeSession) Ack(seq uint64) {
	leave, reaches := s.call("Ack")
	defer leave()
	if reaches {
		s.h.acknowledgeLocked(seq)
	}
}

func (s *fakeSession) Stop(how core.StopMode) error {
	leave, reaches := s.call("Stop")
	defer leave()
	if !reaches {
		return errCut
	}
	if s.h.deaf {
		return nil
	}
	s.h.stopped = how
	e := core.Exit{Code: "agent_exit", Text: "Claude was ended."}
	if !s.h.ready {
		e.Reason = core.ExitStartFailed
	}
	s.h.exitLocked(e)
	time.AfterFunc(time.Second, s.h.die) // it does not wait longer for the last ack
	return nil
}

func (s *fakeSession) Detach() {
	leave, _ := s.call("Detach")
	defer leave()
	s.cutLocked()
}

// fakeSessions keeps the contract of [SessionIDs].
type fakeSessions struct {
	mu  sync.Mutex
	ids map[core.ChannelKey]string
	err error
	// pause, if set, is how long the next Set takes.
	pause []time.Duration
}

func (s *fakeSessions) has(key core.ChannelKey, id string) bool {
	got, _ := s.Get(key)
	return got == id
}

func (s *fakeSessions) Get(key core.ChannelKey) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[key]
	return id, ok
}

func (s *fakeSessions) Set(key core.ChannelKey, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pause) > 0 {
		d := s.pause[0]
		s.pause = s.pause[1:]
		s.mu.Unlock()
		time.Sleep(d)
		s.mu.Lock()
	}
	if s.err != nil {
		return s.err
	}
	s.ids[key] = id
	return nil
}

func (s *fakeSessions) Forget(key core.ChannelKey) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	delete(s.ids, key)
	return nil
}

func (s *fakeSessions) All() map[core.ChannelKey]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[core.ChannelKey]string{}
	for k, v := range s.ids {
		all[k] = v
	}
	return all
}
