package lanes

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// A heldTools is a server of tools whose answers a test gives.
type heldTools struct {
	mu    sync.Mutex
	begun []string // channel, session and message of each request
	turns []core.TurnID
	depth []int
	calls []core.ToolCall // of every turn
	ended []error         // why requests ended without an answer
	wait  chan string
}

func (h *heldTools) Answer(ctx context.Context, channel core.ChannelKey, session string, r core.ToolRequest) json.RawMessage {
	h.mu.Lock()
	h.begun = append(h.begun, string(channel)+" "+session+" "+string(r.Message))
	h.turns = append(h.turns, r.Turn)
	h.depth = append(h.depth, r.Depth)
	h.mu.Unlock()
	select {
	case answer := <-h.wait:
		if answer == "" {
			return nil
		}
		return json.RawMessage(answer)
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended = append(h.ended, context.Cause(ctx))
		return nil
	}
}

func (h *heldTools) CallsOf(context.Context, string, core.TurnID) ([]core.ToolCall, error) {
	return h.calls, nil
}

func (h *heldTools) counts() (begun, ended int) {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.begun), len(h.ended)
}

func (h *heldTools) want(t *testing.T, begun, ended int) {
	t.Helper()
	if b, e := h.counts(); b != begun || e != ended {
		t.Fatalf("%d requests begun and %d ended, want %d and %d", b, e, begun, ended)
	}
}

func TestToolRequest(t *testing.T) {
	server := &heldTools{}
	t.Parallel()
	playWith(t, server, Options{StallAfter: time.Minute, IdleTimeout: time.Minute}, func(t *testing.T, w *world) {
		server.wait = make(chan string) // in the bubble
		m, h, id := w.begun("one")
		h.call("k1", `{"a":1}`)
		server.want(t, 1, 0)
		w.after(time.Hour) // neither a stall nor idleness
		if n := w.m.stats.Stalled.Load(); n != 0 || h.response("k1") != "" {
			t.Errorf("%d stalls, response %q", n, h.response("k1"))
		}
		if want := "c " + h.launch.SessionID + ` {"a":1}`; server.begun[0] != want {
			t.Errorf("begun as %q, want %q", server.begun[0], want)
		}
		if server.turns[0] != id {
			t.Errorf("begun in turn %q, want %q", server.turns[0], id)
		}
		server.wait <- `{"b":2}`
		synctest.Wait()
		if got := h.response("k1"); got != `{"b":2}` {
			t.Errorf("response %q", got)
		}
		for _, stalls := range []int64{0, 1} { // the agent's silence counts from the response
			if n := w.m.stats.Stalled.Load(); n != stalls {
				t.Errorf("%d stalls, want %d", n, stalls)
			}
			w.after(time.Minute)
		}
		h.result("ok", id)
		w.wants(m, core.Answered, "", "ok")
	})
}

// TestDepthOfToolRequest: a request is as deep as the deepest message of its turn, also for the process
// that takes the turn over.
func TestDepthOfToolRequest(t *testing.T) {
	server := &heldTools{}
	t.Parallel()
	playWith(t, server, Options{}, func(t *testing.T, w *world) {
		server.wait = make(chan string)
		deep := func(n int) func(*core.Submission) {
			return func(s *core.Submission) { s.Depth = n }
		}
		_, h, id := w.begun("one")
		for n := 3; n > 0; n-- {
			w.submit("queued", deep(n))
		}
		h.call("k1", `{}`)
		server.want(t, 1, 0)
		server.wait <- `{}`
		h.result("ok", id)
		w.after(time.Minute) // the agent does not say that it is done
		h, id = w.running()
		h.begin(id)
		h.call("k2", `{}`)
		server.want(t, 2, 0)
		w.restart()
		server.want(t, 3, 1)
		if want := []int{0, 3, 3}; !slices.Equal(server.depth, want) {
			t.Errorf("the depths are %v, want %v", server.depth, want)
		}
	})
}

// A request that the agent withdraws, by either way, and one of a session that ends, is
// cancelled and gets no response.
func TestToolRequestCancelled(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(h *fakeHost){
		"by MCP": func(h *fakeHost) {
			h.say(core.Event{Kind: core.ToolCancelled, Type: "control_request", ToolRequest: &core.ToolRequest{MessageID: "11"}})
		},
		"as a control request": func(h *fakeHost) {
			h.say(core.Event{Kind: core.RequestGone, Type: "control_cancel_request", Request: &core.Request{ID: "k1"}})
		},
		"by the end of the session": func(h *fakeHost) { h.die() },
	} {
		server := &heldTools{}
		t.Run(name, func(t *testing.T) {
			playWith(t, server, Options{}, func(t *testing.T, w *world) {
				server.wait = make(chan string)
				_, h, _ := w.begun("one")
				h.call("k1", `{}`)
				h.call("k2", `{}`)
				server.want(t, 2, 0)
				cancel(h)
				if _, ended := server.counts(); ended == 0 || !errors.Is(server.ended[0], context.Canceled) || h.response("k1") != "" {
					t.Errorf("ended: %v, response %q", server.ended, h.response("k1"))
				}
			})
		})
	}
}

// A request that a process leaves unanswered is answered by the next one, once.
func TestToolRequestTakenOver(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(w *world){"left": (*world).detach, "killed": (*world).crash} {
		server := &heldTools{}
		t.Run(name, func(t *testing.T) {
			playWith(t, server, Options{}, func(t *testing.T, w *world) {
				server.wait = make(chan string)
				_, h, _ := w.begun("one")
				h.call("k1", `{}`)
				server.want(t, 1, 0)
				leave(w)
				w.start()
				server.want(t, 2, 1)
				server.wait <- `"done"`
				synctest.Wait()
				if got := h.response("k1"); got != `"done"` {
					t.Errorf("response %q", got)
				}
				w.restart()
				server.want(t, 2, 1) // nothing is asked again
			})
		})
	}
}

// TestToolRequestLeft: a request without a response is left to the next process.
func TestToolRequestLeft(t *testing.T) {
	server := &heldTools{}
	t.Parallel()
	playWith(t, server, Options{}, func(t *testing.T, w *world) {
		server.wait = make(chan string)
		_, h, _ := w.begun("one")
		h.call("k1", `{}`)
		server.wait <- "" // no response
		synctest.Wait()
		if got := h.response("k1"); got != "" {
			t.Errorf("response %q", got)
		}
		w.restart()
		server.wait <- `"done"`
		synctest.Wait()
		if got := h.response("k1"); got != `"done"` {
			t.Errorf("response %q of the next process", got)
		}
	})
}

// TestToolsOfACutTurn: the message that continues a cut turn says what became of the turn's calls.
func TestToolsOfACutTurn(t *testing.T) {
	server := &heldTools{calls: []core.ToolCall{{Tool: "push_send", Outcome: core.ToolDone}, {Tool: "restart_self", Outcome: core.ToolUnknown}}}
	t.Parallel()
	playWith(t, server, Options{}, func(t *testing.T, w *world) {
		m, h, id := w.begun("one")
		h.tool(id)
		h.die()
		w.wants(m, core.Failed, core.CodeInterrupted, "")
		s, _, err := w.m.Decider.Resubmission(t.Context(), m.Message.ID)
		if want := "push_send (done), restart_self (outcome unknown)."; err != nil || !strings.Contains(s.Content.Text, want) {
			t.Errorf("%q, %v; want %q in it", s.Content.Text, err, want)
		}
	})
}
