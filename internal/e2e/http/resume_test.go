package http

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
)

// A follower reads one stream over several connections, each of which begins
// where the one before ended.
type follower struct {
	g    *harness.Gateway
	path string
	now  *harness.Stream
	last string
	got  []harness.Event
	ends []string // the kinds of events that ended a connection
}

// follow goes on with a stream that has begun.
func follow(g *harness.Gateway, s *harness.Stream) *follower { return &follower{g: g, now: s} }

// tick reads until n more ticks have come.
func (f *follower) tick(n int) {
	f.g.T.Helper()
	f.read(fmt.Sprint(n, " more ticks"), func(e harness.Event) bool {
		if ticked(e) > 0 {
			n--
		}
		return n == 0
	})
}

// result reads until the outcome has come.
func (f *follower) result() harness.Answer {
	f.g.T.Helper()
	f.read("result", func(e harness.Event) bool { return e.Kind == "result" })
	return f.got[len(f.got)-1].Data
}

// read reads, over as many connections as it takes, until the event that it is for.
func (f *follower) read(what string, enough func(harness.Event) bool) {
	f.g.T.Helper()
	kinds := []string{"accepted", "queued", "started", "event", "notice", "result", "restarting", "shutdown"}
	for {
		e, ok := f.now.Next(kinds...)
		switch {
		case !ok:
			f.resume()
			continue
		case e.Kind == "restarting" || e.Kind == "shutdown":
			f.ends, f.path = append(f.ends, e.Kind), e.Data.Str("events")
		}
		f.got, f.last = append(f.got, e), e.Last
		if enough(e) {
			return
		}
		if e.Kind == "result" {
			f.g.T.Fatalf("the stream has ended without %s", what)
		}
	}
}

// resume leaves the connection and makes another.
func (f *follower) resume() {
	f.g.T.Helper()
	f.now.Close()
	f.now = f.g.Stream("GET", f.path, nil, "Last-Event-ID", f.last)
}

// ticked returns the number that an event counts aloud, 0 for any other event.
func ticked(e harness.Event) int {
	if e.Data.Str("type") != "stream_event" {
		return 0
	}
	inner, _ := e.Data.JSON["event"].(map[string]any)
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
	f.g.T.Helper()
	kinds, said, ticks := map[string]int{}, map[string]bool{}, 0
	for _, e := range f.got {
		kinds[e.Kind]++
		if e.Kind != "event" {
			continue
		}
		if said[string(e.Data.Body)] {
			f.g.T.Errorf("said twice: %s", e.Data.Body)
		}
		said[string(e.Data.Body)] = true
		if n := ticked(e); n > 0 {
			if ticks++; n != ticks {
				f.g.T.Fatalf("%d is said where %d should be", n, ticks)
			}
		}
	}
	if kinds["started"] != 1 || kinds["result"] != 1 || kinds["notice"] != 0 {
		f.g.T.Errorf("events are %v", kinds)
	}
	f.g.Outcome(id).Want(f.g.T, fmt.Sprint("ticked ", ticks))
}

// counting begins a turn that counts until the file "go" is there, and returns it
// as both kinds of streams show it.
func counting(g *harness.Gateway) (id string, message, channel *follower) {
	g.T.Helper()
	channel = follow(g, g.Stream("GET", "/channels/a%2Fb/events", nil))
	channel.path = "/channels/a%2Fb/events"
	message = follow(g, g.Stream("POST", "/message", harness.Obj{"channel": "a/b", "text": "ticks " + g.Path("go")}))
	id = message.now.Want("accepted").Str("message_id")
	message.path = "/messages/" + id + "/events"
	return id, message, channel
}

// TestStreamResumesAfterRestart restarts in the middle of a turn, in each of the
// orderly ways, twice.
func TestStreamResumesAfterRestart(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(g *harness.Gateway) *harness.Gateway{
		"restarting": func(g *harness.Gateway) *harness.Gateway {
			g.Restart()
			return g
		},
		"shutdown": func(g *harness.Gateway) *harness.Gateway {
			g.Signal(syscall.SIGTERM)
			return g.Machine.Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, g := harness.Started(t)
			g.Say("a/b", "echo before") // what is acknowledged differs from what was said
			id, message, channel := counting(g)
			for range 2 {
				message.tick(10)
				channel.tick(10)
				g = restart(g)
				for _, f := range []*follower{message, channel} {
					f.g = g
					f.read(name, func(e harness.Event) bool { return e.Kind == name })
				}
			}
			message.tick(10)
			m.Touch("go") // the channel's stream comes back later
			for _, f := range []*follower{message, channel} {
				f.result().Want(t, g.Outcome(id).Str("text"))
				f.whole(id)
				if !slices.Equal(f.ends, []string{name, name}) {
					t.Errorf("connections of %s ended with %v", f.path, f.ends)
				}
			}
			if left := m.Glob("run/feeds-*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			g.Balanced()
		})
	}
}

// TestLateStreamIsPassedOn resumes on a connection to the old process that was kept
// alive through the restart.
func TestLateStreamIsPassedOn(t *testing.T) {
	m, g := harness.Started(t)
	id, message, channel := counting(g)
	late := &harness.Gateway{Machine: g.Machine, Base: g.Base, HTTP: harness.NewClient(t)}
	late.Must("GET", "/health", nil, 200)
	message.tick(5)
	channel.tick(5)
	message.now.Close()
	channel.now.Close()
	g.Restart()
	channel.g = late
	channel.resume()
	channel.tick(5)
	message.resume()
	m.Touch("go")
	for _, f := range []*follower{message, channel} {
		f.result()
		f.whole(id)
	}
	g.Balanced()
}
