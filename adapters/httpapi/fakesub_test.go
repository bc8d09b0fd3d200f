package httpapi

import (
	"slices"
	"strconv"

	"bareclaw/core"
)

func (f *fake) Subscribe(key core.ChannelKey) subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.subscribeLocked(key, len(f.updates[key]))
}

func (f *fake) Resume(key core.ChannelKey, after string) subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range len(f.updates[key]) + 1 {
		if after == fakeID(n).String() {
			return f.subscribeLocked(key, n)
		}
	}
	s := f.subscribeLocked(key, 0)
	s.gap = true
	return s
}

func (f *fake) subscribeLocked(key core.ChannelKey, after int) *fakeSub {
	s := &fakeSub{fake: f, key: key, c: make(chan struct{}, 1), from: fakeID(after), queue: slices.Clone(f.updates[key][after:])}
	f.subs[key] = append(f.subs[key], s)
	return s
}

// fakeID is the id of a channel's nth update.
func fakeID(n int) core.UpdateID {
	id, err := core.ParseUpdateID("fake-" + strconv.Itoa(n))
	if err != nil {
		panic(err)
	}
	return id
}

func (f *fake) listeners(key core.ChannelKey) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs[key])
}

func (f *fake) publish(key core.ChannelKey, updates ...core.Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range updates {
		if updates[i].Kind != core.UpdateDropped {
			f.updates[key] = append(f.updates[key], core.Update{})
			updates[i].ID = fakeID(len(f.updates[key]))
			f.updates[key][len(f.updates[key])-1] = updates[i]
		}
	}
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
	from  core.UpdateID
	gap   bool
	queue []core.Update // guarded by fake.mu
}

func (s *fakeSub) From() core.UpdateID { return s.from }

func (s *fakeSub) Gap() bool { return s.gap }

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
