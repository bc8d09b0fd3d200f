package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/proc"
)

// A follower reads one stream over several connections, each of which begins
// where the one before ended.
type follower struct {
	g    *gateway
	path string
	now  *stream
	last string
	got  []event
	ends []string // the kinds of events that ended a connection
}

// follow goes on with a stream that has begun.
func (g *gateway) follow(s *stream) *follower { return &follower{g: g, now: s} }

// tick reads until n more ticks have come.
func (f *follower) tick(n int) {
	f.g.t.Helper()
	f.read(fmt.Sprint(n, " more ticks"), func(e event) bool {
		if ticked(e) > 0 {
			n--
		}
		return n == 0
	})
}

// result reads until the outcome has come.
func (f *follower) result() answer {
	f.g.t.Helper()
	f.read("result", func(e event) bool { return e.kind == "result" })
	return f.got[len(f.got)-1].data
}

// read reads, over as many connections as it takes, until the event that it is for.
func (f *follower) read(what string, enough func(event) bool) {
	f.g.t.Helper()
	kinds := []string{"accepted", "queued", "started", "event", "notice", "result", "restarting", "shutdown"}
	for {
		e, ok := f.now.next(kinds...)
		switch {
		case !ok:
			f.resume()
			continue
		case e.kind == "restarting" || e.kind == "shutdown":
			f.ends, f.path = append(f.ends, e.kind), e.data.str("events")
		}
		f.got, f.last = append(f.got, e), e.last
		if enough(e) {
			return
		}
		if e.kind == "result" {
			f.g.t.Fatalf("the stream has ended without %s", what)
		}
	}
}

// resume leaves the connection and makes another.
func (f *follower) resume() {
	f.g.t.Helper()
	f.now.close()
	f.now = f.g.stream("GET", f.path, nil, "Last-Event-ID", f.last)
}

// ticked returns the number that an event counts aloud, 0 for any other event.
func ticked(e event) int {
	if e.data.str("type") != "stream_event" {
		return 0
	}
	inner, _ := e.data.json["event"].(map[string]any)
	delta, _ := inner["delta"].(map[string]any)
	text, _ := delta["text"].(string)
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0
	}
	return n
}

// whole fails unless everything that claude said in one turn was received once and
// in order, and so was the rest.
func (f *follower) whole(id string) {
	f.g.t.Helper()
	kinds, said, ticks := map[string]int{}, map[string]bool{}, 0
	for _, e := range f.got {
		kinds[e.kind]++
		if e.kind != "event" {
			continue
		}
		if said[string(e.data.body)] {
			f.g.t.Errorf("said twice: %s", e.data.body)
		}
		said[string(e.data.body)] = true
		if n := ticked(e); n > 0 {
			if ticks++; n != ticks {
				f.g.t.Fatalf("%d is said where %d should be", n, ticks)
			}
		}
	}
	if kinds["started"] != 1 || kinds["result"] != 1 || kinds["notice"] != 0 {
		f.g.t.Errorf("events are %v", kinds)
	}
	f.g.outcome(id).want(f.g.t, fmt.Sprint("ticked ", ticks))
}

// counting begins a turn that counts until the file "go" is there, and returns it
// as both kinds of streams show it.
func (g *gateway) counting() (id string, message, channel *follower) {
	g.t.Helper()
	channel = g.follow(g.stream("GET", "/channels/a%2Fb/events", nil))
	channel.path = "/channels/a%2Fb/events"
	message = g.follow(g.stream("POST", "/message", obj{"channel": "a/b", "text": "ticks " + g.path("go")}))
	id = message.now.want("accepted").str("message_id")
	message.path = "/messages/" + id + "/events"
	return id, message, channel
}

// TestStreamResumes has a client lose its connection again and again.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	id, message, channel := g.counting()
	for range 5 {
		message.tick(5)
		channel.tick(5)
		message.resume()
		channel.resume()
	}
	m.touch("go")
	for _, f := range []*follower{message, channel} {
		f.result()
		f.whole(id)
	}
	late := g.stream("GET", "/messages/"+id+"/events", nil, "Last-Event-ID", message.got[0].last)
	if got := g.follow(late); got.result().str("message_id") != id {
		t.Error("a stream that is resumed after its end does not end again")
	}
	g.balanced()
}

// TestStreamResumesAfterRestart restarts in the middle of a turn, in each of the
// orderly ways, twice.
func TestStreamResumesAfterRestart(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(g *gateway) *gateway{
		"restarting": func(g *gateway) *gateway {
			generation := g.generation()
			g.must("POST", "/restart", nil, 200)
			g.restarted(generation)
			return g
		},
		"shutdown": func(g *gateway) *gateway {
			g.signal(syscall.SIGTERM)
			return g.machine.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			g := m.start()
			g.say("a/b", "echo before") // what is acknowledged differs from what was said
			id, message, channel := g.counting()
			for range 2 {
				message.tick(10)
				channel.tick(10)
				g = restart(g)
				for _, f := range []*follower{message, channel} {
					f.g = g
					f.read(name, func(e event) bool { return e.kind == name })
				}
			}
			message.tick(10)
			m.touch("go") // the channel's stream comes back later
			for _, f := range []*follower{message, channel} {
				f.result().want(t, g.outcome(id).str("text"))
				f.whole(id)
				if !slices.Equal(f.ends, []string{name, name}) {
					t.Errorf("connections of %s ended with %v", f.path, f.ends)
				}
			}
			if left := m.glob("run/feeds-*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			g.balanced()
		})
	}
}

// TestLateStreamIsPassedOn resumes on a connection to the old process that was kept
// alive through the restart.
func TestLateStreamIsPassedOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	id, message, channel := g.counting()
	late := &gateway{machine: g.machine, base: g.base, http: newClient(t)}
	late.must("GET", "/health", nil, 200)
	message.tick(5)
	channel.tick(5)
	message.now.close()
	channel.now.close()
	generation := g.generation()
	g.must("POST", "/restart", nil, 200)
	g.restarted(generation)
	channel.g = late
	channel.resume()
	channel.tick(5)
	message.resume()
	m.touch("go")
	for _, f := range []*follower{message, channel} {
		f.result()
		f.whole(id)
	}
	g.balanced()
}

// TestOutcomeDuringRestart has the turn end while nobody is there: it is told once
// the streams are resumed.
func TestOutcomeDuringRestart(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	id, message, channel := g.counting()
	message.tick(3)
	channel.tick(3)
	g.signal(syscall.SIGTERM)
	m.touch("go")
	m.eventually("the turn ends", func() bool {
		return slices.ContainsFunc(m.journal(), func(l journalLine) bool { return l.Event == "ended" })
	})
	g = m.start()
	for _, f := range []*follower{message, channel} {
		f.g = g
		f.result()
		f.whole(id)
	}
}

// TestStreamAfterCrash kills the daemon: what it had told is known to nobody, and
// the streams say so.
func TestStreamAfterCrash(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	id, message, channel := g.counting()
	message.tick(5)
	channel.tick(5)
	h := m.lockFile()
	if err := proc.Signal(h.PID, h.Start, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.waitEnd()
	g = m.start()
	for _, f := range []*follower{message, channel} {
		f.g, f.now = g, &stream{t: t, events: make(chan event), close: f.now.close}
		f.resume()
		if e, ok := f.now.next("accepted", "queued", "started", "event", "notice", "result"); !ok || e.kind != "notice" || e.data.str("code") != "gap" {
			t.Errorf("%s is resumed with %s %s", f.path, e.kind, e.data.body)
		}
	}
	message.tick(3)
	m.touch("go")
	for _, f := range []*follower{message, channel} {
		if r := f.result(); r.str("message_id") != id || !strings.HasPrefix(r.str("text"), "ticked ") {
			t.Errorf("result is %s", r.body)
		}
	}
	g.balanced()
}

// TestBadEventIDs resumes with what is no id.
func TestBadEventIDs(t *testing.T) {
	t.Parallel()
	g := newMachine(t).start()
	id := g.say("http", "echo hello").str("message_id")
	last := g.stream("GET", "/messages/"+id+"/events", nil).lastID(t)
	feed, number, _ := strings.Cut(last, "-")
	for _, bad := range []string{
		"1", "x", "-", "0-0", feed, feed + "-", feed + "-" + number + "0", feed + "-0" + number, feed + "--1", feed + "-18446744073709551616",
		strings.ToUpper(feed) + "A-" + number, "<b>", `","a":"`, "é", strings.Repeat("9", 1<<12), "../../etc/passwd",
	} {
		for _, path := range []string{"/messages/" + id + "/events", "/channels/http/events"} {
			s := g.stream("GET", path, nil, "Last-Event-ID", bad)
			e, ok := s.next("accepted", "queued", "started", "event", "notice", "result")
			if !ok || e.kind != "notice" || e.data.str("code") != "gap" || len(bad) > 2 && strings.Contains(string(e.data.body), bad) {
				t.Errorf("%s after %.50q: %s %s", path, bad, e.kind, e.data.body)
			}
			s.close()
		}
	}
	if a := g.must("GET", "/messages/none/events", nil, 404); a.str("code") != "not_found" {
		t.Errorf("of an unknown message: %s", a.body)
	}
}

// lastID returns the id that the stream's result has, or had before it.
func (s *stream) lastID(t testing.TB) string {
	t.Helper()
	e, ok := s.next("result")
	if !ok || e.last == "" {
		t.Fatalf("the stream has no id: %+v", s.seen)
	}
	return e.last
}
