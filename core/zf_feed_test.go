package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestResume(t *testing.T) {
	t.Parallel()
	var h hub
	s := h.subscribe("c")
	defer s.Close()
	for _, detail := range []string{"a", "b", "c"} {
		h.publish("c", told(detail))
	}
	h.publish("other", told("elsewhere")) // where nobody listens
	all := unread(s)
	resumed(t, &h, s.From(), false, "a b c")
	resumed(t, &h, all[0].ID, false, "b c")
	resumed(t, &h, all[2].ID, false, "")
	resumed(t, &h, UpdateID{all[0].ID.feed, 4}, true, "a b c")
	resumed(t, &h, UpdateID{all[0].ID.feed + 1, 1}, true, "a b c")
	if s := h.resume("c", "none"); !s.Gap() || len(unread(s)) != 3 {
		t.Errorf("after no id: gap %v", s.Gap())
	}
	if s := h.resume("other", all[1].ID.String()); !s.Gap() || len(unread(s)) != 0 {
		t.Errorf("an id of another channel: gap %v", s.Gap())
	}
}

// What a feed keeps is bounded, by number and by size.
func TestFeedKeepsTheNewest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ size, published, kept int }{
		"many":     {1, keptUpdates + 100, keptUpdates},
		"large":    {keptBytes / 4, 20, 4},
		"too much": {keptBytes + 1, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h hub
			s := h.subscribe("c")
			defer s.Close()
			var ids []UpdateID
			for range c.published {
				h.publish("c", Update{Kind: UpdateEvent, Raw: make([]byte, c.size)})
				u, _ := s.Next()
				ids = append(ids, u.ID)
			}
			for missed, gap := range map[int]bool{0: false, c.kept: false, c.kept + 1: true} {
				s := h.resume("c", ids[len(ids)-1-min(missed, len(ids)-1)].String())
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
		var h hub
		s := h.subscribe("c")
		start := s.From()
		s.Close()
		s.Close() // again
		for _, detail := range []string{"a", "b", "c"} {
			time.Sleep(keptFor - time.Second)
			h.publish("c", told(detail))
			s := h.resume("c", start.String())
			time.Sleep(2 * time.Second) // past the end that the one before has set
			if s.Gap() {
				t.Fatalf("a gap after %q", detail)
			}
			s.Close()
		}
		time.Sleep(keptFor - 1)
		synctest.Wait()
		resumed(t, &h, start, false, "a b c")
		time.Sleep(keptFor)
		synctest.Wait()
		if len(h.feeds) != 0 {
			t.Error("the feed is still there")
		}
		h.publish("c", told("unheard"))
		resumed(t, &h, start, true, "")
	})
}

// Clients come and go while much is said: each gets everything once, or is told
// of a gap.
func TestResumeWhilePublishing(t *testing.T) {
	t.Parallel()
	for name, total := range map[string]int{"all is kept": keptUpdates, "with gaps": 4 * keptUpdates} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h hub
			first := h.subscribe("c")
			defer first.Close()
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					last, n := first.From().String(), 0
					for n < total {
						s := h.resume("c", last)
						if s.Gap() && total <= keptUpdates {
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
				h.publish("c", told(fmt.Sprint(n+1)))
			}
			all.Wait()
		})
	}
}

// TestFeedsKeepSoMuchTogether: the feeds of many channels keep no more than keptTotal, and
// those that keep little lose nothing.
func TestFeedsKeepSoMuchTogether(t *testing.T) {
	t.Parallel()
	var h hub
	const channels, size = 100, 10 << 10
	small := h.subscribe("small")
	h.publish("small", Update{Kind: UpdateEvent, Raw: make([]byte, size)})
	for n := range 2 * keptBytes / size {
		for i := range channels {
			key := ChannelKey(strconv.Itoa(i))
			if n == 0 {
				h.subscribe(key)
			}
			h.publish(key, Update{Kind: UpdateEvent, Raw: make([]byte, size)})
		}
	}
	total := 0
	for _, f := range h.feeds {
		total += f.weight()
	}
	if most := keptTotal + 2*keptBytes; total > most || total < keptTotal/2 {
		t.Errorf("%d bytes are kept, want at most %d and not much less", total, most)
	}
	if s := h.resume("small", small.From().String()); s.Gap() || len(unread(s)) != 1 {
		t.Error("a feed that keeps little has lost it")
	}
}

func TestFairShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weights []int
		total   int
		most    int
	}{
		{nil, 10, 10}, {[]int{4, 6}, 10, 10}, {[]int{20}, 10, 10}, {[]int{20, 20}, 10, 5}, {[]int{20, 1, 20}, 11, 5}, {[]int{0, 9, 2}, 10, 8},
	} {
		if got := fairShare(c.weights, c.total); got != c.most {
			t.Errorf("fairShare(%v, %d) = %d, want %d", c.weights, c.total, got, c.most)
		}
	}
}

// FuzzSavedUpdates holds that what is read is what was written, and that what is damaged
// does no harm.
func FuzzSavedUpdates(f *testing.F) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	all := []Update{
		{Kind: UpdateEvent, At: at, Turn: "t", Messages: []MessageID{"a", "b"}, Raw: json.RawMessage(`{"say": "<1> &"}`)},
		{Kind: UpdateEvent, At: at, Raw: json.RawMessage(`{}`)},
		{Kind: UpdateAccepted, At: at, Message: &Message{ID: "a", Channel: "c"}},
		{Kind: UpdateRetrying, At: at, Detail: "overloaded"},
	}
	var b bytes.Buffer
	for _, u := range all {
		if err := writeUpdate(&b, u); err != nil {
			f.Fatal(err)
		}
	}
	got, err := readUpdates(b.Bytes())
	if err != nil || len(got) != len(all) {
		f.Fatalf("read %d updates: %v", len(got), err)
	}
	for i, u := range got {
		if got[i].At = u.At.UTC(); !reflect.DeepEqual(got[i], all[i]) {
			f.Errorf("read %+v, want %+v", got[i], all[i])
		}
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()/2])
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = readUpdates(b) }) // does not panic
}

// details are what updates say, for those that are told apart by that.
func details(all []Update) string {
	var each []string
	for _, u := range all {
		each = append(each, u.Detail)
	}
	return strings.Join(each, " ")
}

func told(detail string) Update { return Update{Kind: UpdateSession, Detail: detail} }

// resumed fails unless the subscription has these updates, and a gap or not.
func resumed(t *testing.T, h *hub, after UpdateID, gap bool, want string) {
	t.Helper()
	s := h.resume("c", after.String())
	defer s.Close()
	if got := details(unread(s)); got != want || s.Gap() != gap {
		t.Errorf("after %v: %q, gap %v; want %q, gap %v", after, got, s.Gap(), want, gap)
	}
	if !gap && s.From() != after {
		t.Errorf("it begins after %v, want %v", s.From(), after)
	}
}

// unread returns what the subscription has now.
func unread(s *Subscription) (all []Update) {
	for u, ok := s.Next(); ok; u, ok = s.Next() {
		all = append(all, u)
	}
	return all
}
