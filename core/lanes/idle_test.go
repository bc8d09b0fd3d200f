package lanes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/core"
)

const idleTimeout = 30 * time.Minute

// live returns how many session processes there are.
func (w *world) live() int {
	w.agent.mu.Lock()
	defer w.agent.mu.Unlock()
	return len(w.agent.hosts)
}

// served plays one turn of a channel.
func (w *world) served(key core.ChannelKey) *fakeHost {
	w.t.Helper()
	m := w.submit("hello", in(key))
	h := w.hostOf(key)
	ids := h.handed()
	h.answer(ids[len(ids)-1], "ok")
	w.wants(m, core.Answered, "", "ok")
	return h
}

// A thousand channels that are known cost neither processes nor goroutines.
func TestLanesRetire(t *testing.T) {
	greeting := []core.Notice{{Code: "hello", Text: "Hello."}}
	play(t, Options{IdleTimeout: idleTimeout, Greeting: greeting}, func(t *testing.T, w *world) {
		key := func(i int) core.ChannelKey { return core.ChannelKey(fmt.Sprint("c", i)) }
		for i := range 1000 {
			w.served(key(i))
		}
		if n := w.m.Directory.Lanes(); n != 1000 {
			t.Errorf("%d lanes", n)
		}
		w.after(idleTimeout)
		w.after(time.Minute)
		if n := w.m.Directory.Lanes(); n != 0 || w.live() != 0 {
			t.Errorf("%d lanes, %d processes are left", n, w.live())
		}
		all, err := w.m.Directory.Channels(t.Context())
		if err != nil || len(all) != 1000 || all[0].State != core.StateIdle || all[0].SessionID == "" {
			t.Errorf("channels: %d, first %+v, %v", len(all), all[0], err)
		}
		m := w.submit("again", in(key(7)))
		h := w.hostOf(key(7))
		h.answer(h.handed()[0], "ok")
		if got := w.wants(m, core.Answered, "", "ok"); len(got.Reply.Notices) != 0 {
			t.Errorf("greeted again: %+v", got.Reply.Notices)
		}
		if !h.launch.Resume {
			t.Errorf("launched as %+v", h.launch)
		}
	})
}

// Whatever is asked of a channel just when its lane retires is answered.
func TestAskedWhileRetiring(t *testing.T) {
	play(t, Options{IdleTimeout: idleTimeout}, func(t *testing.T, w *world) {
		m := w.submit("one")
		w.answer("ok")
		l, _ := w.m.lanes.find("c")
		w.after(idleTimeout)
		w.after(time.Minute)
		if _, ok := w.m.lanes.find("c"); ok || l.post(func() {}) {
			t.Fatal("the lane is still there")
		}
		w.m.lanes.mu.Lock()
		w.m.lanes.lanes["c"] = l // as whoever found it a moment before sees it
		w.m.lanes.mu.Unlock()
		if _, err := w.m.Directory.Channels(t.Context()); err != nil {
			t.Error(err)
		}
		_, err := w.m.Interrupt(t.Context(), "c", "")
		w.wantErr(err, core.ErrNothingRuns)
		_, err = w.m.Cancel(t.Context(), m.Message.ID)
		w.wantErr(err, core.ErrNotWaiting)
		if p := w.m.Lookup.QueuePosition(m.Message.ID).Position; p != 0 {
			t.Errorf("position %d", p)
		}
		w.m.lanes.mu.Lock()
		delete(w.m.lanes.lanes, "c")
		w.m.lanes.mu.Unlock()
		if err := w.m.Reset(t.Context(), "c"); err != nil {
			t.Error(err)
		}
	})
}

// Each new and each ended lane is counted.
func TestLanesAreCounted(t *testing.T) {
	var counts []int
	o := Options{IdleTimeout: idleTimeout, LanesChanged: func(lanes int) { counts = append(counts, lanes) }}
	play(t, o, func(t *testing.T, w *world) {
		w.submit("one")
		w.answer("ok")
		if _, err := w.m.lanes.findOrStart("another", &recovered{live: true}); err != nil {
			t.Fatal(err)
		}
		w.after(idleTimeout)
		w.after(time.Minute)
		now := 0
		for _, n := range counts {
			if n != now+1 && n != now-1 {
				t.Errorf("counted %v: not one lane at a time", counts)
			}
			now = n
		}
		if slices.Max(counts) != 2 || now != 0 {
			t.Errorf("counted %v, want two lanes, and in the end none", counts)
		}
	})
}

// What a lane told just before it retired is heard by whoever comes to listen after that.
func TestToldBeforeRetiring(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		for range 50 { // a select takes either of two that are ready
			told := make(chan struct{})
			l, err := w.m.lanes.post("c", func(*lane) { close(told) })
			if err != nil {
				t.Fatal(err)
			}
			<-l.done
			if _, err := await(t.Context(), l.channel, told); err != nil {
				t.Fatal(err)
			}
		}
		l, err := w.m.lanes.post("c", func(*lane) {})
		if err != nil {
			t.Fatal(err)
		}
		_, err = await(t.Context(), l.channel, make(chan struct{}))
		w.wantErr(err, errRetired)
	})
}

// Messages that come at the very moments at which lanes retire are not lost.
func TestMessagesWhileRetiring(t *testing.T) {
	play(t, Options{IdleTimeout: time.Second}, func(t *testing.T, w *world) {
		w.agent.script = func(h *fakeHost) {
			for {
				select {
				case id := <-h.turn:
					h.answer(id, "ok")
				case <-h.stop:
					return
				}
			}
		}
		for i := range 300 {
			m := w.submit("hello")
			w.after(5 * time.Second)
			w.wants(m, core.Answered, "", "ok")
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
		}
		if n := strings.Count(w.log.String(), "session is ended"); n == 0 {
			t.Error("no session ended")
		}
	})
}

// A session that nobody uses is ended; the next message resumes it.
func TestIdle(t *testing.T) {
	scripts := map[string]string{
		"unused": `
			with idle=30m; send one; answer one ok; wait 1799s; send two; answer two ok; process 1; wait 1799s
			alive 1; gently 1 not; wait 1s; gently 1
			wait 2s; gone 1; state idle; send three; process 2 resumed session=1`,
		"never": `send one; answer one ok; wait 10000h; alive 1`,
		"a message comes while the session ends": `
			with idle=30m; send zero; answer zero ok; block reap; wait 30m; send one; one waiting
			state ending waiting=1; wait 2s; send two; unblock reap
			process 2; turns one,two; answer two ok; one answered into=two; two answered ok`,
		"the session of an earlier life": `
			with idle=30m; send one; answer one ok; restart; wait 30m; crash; start; wait 30m; wait 1m; gone 1
			works`,
		"a lane does not retire before all is written": `
			with idle=1s; send one; begin one; down full; finish one ok; wait 2m; up; wait 1m; one answered ok
			stats lanes=0`,
		"nor before its session is opened": `
			with idle=1s; refuse begin full; send one; one refused full; wait 1m; send two; process - new
			answer two ok; two answered ok notices=""`,
		"the log says why": `
			with idle=1h; works; {stale; restart|set model=haiku|wait 1h}; wait 1m
			log {"obsolete: it was started by another program"|"its channel has other settings"|"=idle"}`,
	}
	for need, over := range map[string]string{
		"send long; begin long": "finish long ok",
		"ask r":                 "withdraw r",
		"tasks 2; tasks 1":      "tasks 0",
		"tasks 1; say times=65 type=system; restart; ": "tasks 0",
	} {
		scripts["a session that is needed: "+need] = "with idle=30m approvals=ask approvaltime=100h; send one; answer one ok; " + need +
			"; wait 150m; alive 1; gently 1 not; " + over + "; wait 1799s; gently 1 not; wait 1m; gone 1"
	}
	scenarios(t, scripts)
}
