package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

func TestResume(t *testing.T) {
	t.Parallel()
	var h Broker
	s := h.Subscribe("c")
	defer s.Close()
	for _, detail := range []string{"a", "b", "c"} {
		h.Publish("c", told(detail))
	}
	h.Publish("other", told("elsewhere")) // where nobody listens
	all := unread(s)
	resumed(t, &h, s.From(), false, "a b c")
	resumed(t, &h, all[0].ID, false, "b c")
	resumed(t, &h, all[2].ID, false, "")
	resumed(t, &h, core.UpdateID{Stream: all[0].ID.Stream, Number: 4}, true, "a b c")
	resumed(t, &h, core.UpdateID{Stream: all[0].ID.Stream + 1, Number: 1}, true, "a b c")
	if s := h.Resume("c", "none"); !s.Gap() || len(unread(s)) != 3 {
		t.Errorf("after no id: gap %v", s.Gap())
	}
	if s := h.Resume("other", all[1].ID.String()); !s.Gap() || len(unread(s)) != 0 {
		t.Errorf("an id of another channel: gap %v", s.Gap())
	}
}

// TestSlowSubscriber: the agent's events and those of the gateway itself that a subscriber leaves unread are
// dropped and counted.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	for key, kind := range map[core.ChannelKey]core.UpdateKind{"c": core.UpdateEvent, core.GatewayFeed: core.UpdateToolReloaded} {
		var b Broker
		s := b.Subscribe(key)
		defer s.Close()
		for range maxQueuedEvents + 10 {
			b.Publish(key, core.Update{Kind: kind})
		}
		got := unread(s)
		if len(got) != maxQueuedEvents+1 || got[maxQueuedEvents].Kind != core.UpdateDropped || got[maxQueuedEvents].Dropped != 10 {
			t.Errorf("%q: %d updates from a slow subscription, the last is %+v", key, len(got), got[len(got)-1])
		}
	}
}

// What a feed keeps is bounded, by number and by size.
func TestFeedKeepsTheNewest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ size, published, kept int }{
		"many":     {1, maxUpdates + 100, maxUpdates},
		"large":    {maxStreamBytes/4 - textOverhead, 20, 4},
		"too much": {maxStreamBytes + 1, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h Broker
			s := h.Subscribe("c")
			defer s.Close()
			var ids []core.UpdateID
			for range c.published {
				h.Publish("c", core.Update{Kind: core.UpdateEvent, Raw: make([]byte, c.size)})
				u, _ := s.Next()
				ids = append(ids, u.ID)
			}
			for missed, gap := range map[int]bool{0: false, c.kept: false, c.kept + 1: true} {
				s := h.Resume("c", ids[len(ids)-1-min(missed, len(ids)-1)].String())
				if got := len(unread(s)); s.Gap() != gap || got != min(missed, c.kept) {
					t.Errorf("%d missed: %d updates, gap %v", missed, got, s.Gap())
				}
				s.Close()
			}
		})
	}
}

// A feed goes on for a while when nobody listens, and then costs nothing.
func TestFeedEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h Broker
		s := h.Subscribe("c")
		start := s.From()
		s.Close()
		s.Close() // again
		for _, detail := range []string{"a", "b", "c"} {
			time.Sleep(keepFor - time.Second)
			h.Publish("c", told(detail))
			s := h.Resume("c", start.String())
			time.Sleep(2 * time.Second) // past the end that the one before has set
			if s.Gap() {
				t.Fatalf("a gap after %q", detail)
			}
			s.Close()
		}
		time.Sleep(keepFor - 1)
		synctest.Wait()
		resumed(t, &h, start, false, "a b c")
		time.Sleep(keepFor)
		synctest.Wait()
		if len(h.streams) != 0 || h.kept.Load() != 0 {
			t.Errorf("%d streams are still there, with %d bytes", len(h.streams), h.kept.Load())
		}
		h.Publish("c", told("unheard"))
		resumed(t, &h, start, true, "")
	})
}

// Clients come and go while much is said: each gets everything once, or is told
// of a gap.
func TestResumeWhilePublishing(t *testing.T) {
	t.Parallel()
	for name, total := range map[string]int{"all is kept": maxUpdates, "with gaps": 4 * maxUpdates} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h Broker
			first := h.Subscribe("c")
			defer first.Close()
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					last, n := first.From().String(), 0
					for n < total {
						s := h.Resume("c", last)
						if s.Gap() && total <= maxUpdates {
							t.Errorf("a gap after %d", n)
							return
						}
						for gap, left := s.Gap(), rand.N(500); left >= 0; left-- {
							u, ok := s.Next()
							if !ok {
								break
							}
							var said int
							if _, err := fmt.Sscan(u.Detail, &said); err != nil || said != n+1 && (!gap || said < n) {
								t.Errorf("%q follows %d, gap %v", u.Detail, n, gap)
								return
							}
							n, last, gap = said, u.ID.String(), false
						}
						s.Close()
					}
				})
			}
			for n := range total {
				h.Publish("c", told(fmt.Sprint(n+1)))
			}
			all.Wait()
		})
	}
}

// TestStreamsShareOneBound: the streams of many channels together keep at most maxKeptBytes,
// and the least recently used stream loses its oldest updates first.
func TestStreamsShareOneBound(t *testing.T) {
	t.Parallel()
	var h Broker
	const channels, each, size = 100, 10, maxKeptBytes / 760 // together about a third more than is kept
	key := func(i int) core.ChannelKey { return core.ChannelKey(strconv.Itoa(i)) }
	var subs []*Subscription
	for i := range channels {
		subs = append(subs, h.Subscribe(key(i)))
		for n := range each {
			h.Publish(key(i), core.Update{Kind: core.UpdateEvent, Raw: make([]byte, size), Detail: strconv.Itoa(n)})
			if i == channels/2 {
				h.Resume(key(0), "").Close() // a client that comes back uses the stream, too
			}
		}
	}
	total, kept := 0, make([]string, channels)
	for i, s := range subs {
		_, n := s.stream.usage()
		total += n
		back := h.Resume(key(i), s.From().String())
		kept[i] = details(unread(back))
		back.Close()
	}
	if total > maxKeptBytes || total < maxKeptBytes*7/8 {
		t.Errorf("%d bytes are kept, want nearly %d", total, maxKeptBytes)
	}
	const all = "0 1 2 3 4 5 6 7 8 9"
	if kept[0] != all || kept[1] != "" || kept[channels-1] != all {
		t.Errorf("kept of channel 0, used again: %q; of channel 1: %q; of the last: %q", kept[0], kept[1], kept[channels-1])
	}
	for i := 2; i < channels; i++ {
		if !strings.HasSuffix(all, kept[i]) || kept[i-1] != "" && kept[i] != all {
			t.Errorf("channel %d has %q after %q", i, kept[i], kept[i-1])
		}
	}
}

// FuzzSavedUpdates holds that what is read is what was written, and that what is damaged
// does no harm.
func FuzzSavedUpdates(f *testing.F) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	all := []core.Update{
		{Kind: core.UpdateEvent, At: at, Turn: "t", Messages: []core.MessageID{"a", "b"}, Raw: json.RawMessage(`{"say": "<1> &"}`)},
		{Kind: core.UpdateEvent, At: at, Raw: json.RawMessage(`{}`)},
		{Kind: core.UpdateAccepted, At: at, Message: &core.Message{ID: "a", Channel: "c"}},
		{Kind: core.UpdateRetrying, At: at, Detail: "overloaded"},
		{Kind: core.UpdateToolRegistered, At: at, Tool: &core.ToolChange{Tool: "greet", Source: "dynamic", Version: 3}},
	}
	var b bytes.Buffer
	if err := errors.Join(writeUpdates(&b, 7, all), writeUpdates(&b, 0, nil)); err != nil {
		f.Fatal(err)
	}
	got, err := readUpdates(bytes.NewReader(b.Bytes()))
	if err != nil || len(got[7]) != len(all) {
		f.Fatalf("read %+v: %v", got, err)
	}
	for i, u := range got[7] {
		if u.At = u.At.UTC(); !reflect.DeepEqual(u, all[i]) {
			f.Errorf("read %+v, want %+v", u, all[i])
		}
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = readUpdates(bytes.NewReader(b)) }) // does not panic
}

// details are what updates say, for those that are told apart by that.
func details(all []core.Update) string {
	var each []string
	for _, u := range all {
		each = append(each, u.Detail)
	}
	return strings.Join(each, " ")
}

func told(detail string) core.Update { return core.Update{Kind: core.UpdateSession, Detail: detail} }

// resumed fails unless the subscription has these updates, and a gap or not.
func resumed(t *testing.T, h *Broker, after core.UpdateID, gap bool, want string) {
	t.Helper()
	s := h.Resume("c", after.String())
	defer s.Close()
	if got := details(unread(s)); got != want || s.Gap() != gap {
		t.Errorf("after %v: %q, gap %v; want %q, gap %v", after, got, s.Gap(), want, gap)
	}
	if !gap && s.From() != after {
		t.Errorf("it begins after %v, want %v", s.From(), after)
	}
}

// unread returns what the subscription has now.
func unread(s *Subscription) (all []core.Update) {
	for u, ok := s.Next(); ok; u, ok = s.Next() {
		all = append(all, u)
	}
	return all
}
