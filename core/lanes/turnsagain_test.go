package lanes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// seenAgain starts the gateway again after a crash and returns what a stream tells
// from the first event that the host says again.
func (w *world) seenAgain() *feed.Subscription {
	w.t.Helper()
	unblock := w.agent.block("attach")
	w.start()
	sub := w.m.Feeds.Subscribe("c")
	unblock()
	synctest.Wait()
	return sub
}

// says has the agent say a line with some text.
func (h *fakeHost) says(text string) {
	h.say(core.Event{Kind: core.Said, Type: "assistant", Raw: line(text)})
}

// streamed returns what a stream tells: each update in a word, with the turn that it is of,
// 1 or 2.
func streamed(s *feed.Subscription, turns ...core.TurnID) []string {
	var all []string
	for _, u := range drain(s) {
		word := string(u.Kind)
		switch {
		case u.Kind == core.UpdateEvent && strings.Contains(string(u.Raw), `"type":"result"`):
			word = "result line"
		case u.Kind == core.UpdateEvent:
			word = string(u.Raw)
		}
		all = append(all, fmt.Sprint(slices.Index(turns, u.Turn)+1, " ", word))
	}
	return all
}

func wantStreamed(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("told\n%q, want\n%q", got, want)
	}
}

// The gateway is killed between a turn that has its outcome and the next one. What the
// host says again of the first, from wherever it was acknowledged, is not taken for the
// second's, and is not told again.
func TestLinesOfASettledTurnAreNotTheNextOnes(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(h *fakeHost){
		"nothing is acknowledged":   func(*fakeHost) {},
		"its start is acknowledged": (*fakeHost).acknowledge,
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m := w.submit("one")
				h, one := w.running()
				h.loseAcks(true)
				h.begin(one)
				synctest.Wait()
				before(h)
				h.says("first")
				h.tool(one)
				h.retries(statusUnauthorized)
				w.submit("two")
				h.finish(one, "ok")
				w.wants(m, core.Answered, "", "ok")
				_, two := w.running()
				if two == one {
					t.Fatal("the second turn was not handed over")
				}
				w.crash()
				sub := w.seenAgain()
				defer sub.Close()
				wantStreamed(t, streamed(sub, one, two))
				if n := h.interrupted(); n != 1 {
					t.Errorf("%d turns were interrupted, want the first one", n)
				}
				h.loseAcks(false)
				h.begin(two)
				h.says("second")
				h.finish(two, "done")
				synctest.Wait()
				wantStreamed(t, streamed(sub, one, two), "2 started", "2 "+string(line("second")), "2 result line", "2 result")
			})
		})
	}
}

// What is said again of a turn that runs on is its own, whether its start is among it or
// was acknowledged before, and so is what was said after the end of the one before.
func TestLinesOfARunningTurnAreItsOwn(t *testing.T) {
	t.Parallel()
	for name, acked := range map[string]bool{"its start comes again": false, "its start is acknowledged": true} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m, h, one := w.begun("one")
				h.loseAcks(true)
				h.says("first")
				h.finish(one, "ok")
				w.wants(m, core.Answered, "", "ok")
				m, _, two := w.begun("two")
				h.says("second")
				synctest.Wait()
				want := []string{"2 started", "2 " + string(line("second")), "2 " + string(line("third"))}
				if acked {
					h.acknowledge()
					want = want[2:]
				}
				h.says("third")
				synctest.Wait()
				w.crash()
				sub := w.seenAgain()
				defer sub.Close()
				wantStreamed(t, streamed(sub, one, two), want...)
				h.loseAcks(false)
				h.tool(two)
				synctest.Wait()
				if got := len(streamed(sub, one, two)); got != 1 {
					t.Errorf("%d updates of a tool, want 1", got)
				}
				h.finish(two, "done")
				w.wantsNow(m.Message.ID, core.Answered, "", "done")
			})
		})
	}
}

// A turn that runs again in another process says nothing before it has begun there.
func TestTurnThatRunsAgainHasNotBegun(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		sub := w.m.Feeds.Subscribe("c")
		defer sub.Close()
		h.die()
		w.after(time.Second)
		h, _ = w.running()
		h.says("hello")
		h.begin(id)
		h.says("again")
		synctest.Wait()
		wantStreamed(t, streamed(sub, id), "0 "+string(line("hello")), "1 started", "1 "+string(line("again")))
		h.finish(id, "ok")
		w.wants(m, core.Answered, "", "ok")
	})
}
