package httpapi

import (
	"slices"

	"bareclaw/core"
)

func (f *fake) Subscribe(key core.ChannelKey) subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &fakeSub{fake: f, key: key, c: make(chan struct{}, 1)}
	f.subs[key] = append(f.subs[key], s)
	return s
}

func (f *fake) listeners(key core.ChannelKey) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs[key])
}

func (f *fake) publish(key core.ChannelKey, updates ...core.Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subs[key] {
		s.queue = append(s.queue, updates...)
		select {
		case s.c <- struct{}{}:
		default:
		}
	}
}

type fakeSub struct {
	fake  *fake
	key   core.ChannelKey
	c     chan struct{}
	queue []core.Update // guarded by fake.mu
}

func (s *fakeSub) C() <-chan struct{} { return s.c }

func (s *fakeSub) Next() (core.Update, bool) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	if len(s.queue) == 0 {
		return core.Update{}, false
	}
	u := s.queue[0]
	s.queue = s.queue[1:]
	return u, true
}

func (s *fakeSub) Close() {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	s.fake.subs[s.key] = slices.DeleteFunc(s.fake.subs[s.key], func(o *fakeSub) bool { return o == s })
}
