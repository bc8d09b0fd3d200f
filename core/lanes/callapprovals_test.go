package lanes

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// askingTools has people decide about each call, and answers with what they have decided.
type askingTools struct {
	w    *world
	lost atomic.Bool // answers, as of a process that ends before it has carried out a call
}

func (s *askingTools) Answer(ctx context.Context, channel core.ChannelKey, _ string, r core.ToolRequest) json.RawMessage {
	a, err := s.w.m.Decider.AskCall(ctx, core.CallRequest{
		ID:        "approval of " + r.ID,
		Channel:   channel,
		RequestID: r.ID,
		Turn:      r.Turn,
		Tool:      "mcp__bareclaw__act",
		Input:     json.RawMessage(`{"n":1}`),
		Why:       "It acts on others.",
	})
	switch {
	case errors.Is(err, core.ErrClosed), s.lost.Load():
		return nil
	case err != nil:
		return json.RawMessage(strconv.Quote(err.Error()))
	}
	return json.RawMessage(strconv.Quote(string(a.State) + " " + a.Reason + " " + string(a.Input)))
}

func (*askingTools) CallsOf(context.Context, string, core.TurnID) ([]core.ToolCall, error) {
	return nil, nil
}

// playCalls runs a test in a world whose tools ask, in a turn in which a person can be asked.
func playCalls(t *testing.T, test func(t *testing.T, w *world, h *fakeHost, id core.TurnID)) {
	t.Helper()
	playCallsOf(t, &askingTools{}, test)
}

func playCallsOf(t *testing.T, server *askingTools, test func(t *testing.T, w *world, h *fakeHost, id core.TurnID)) {
	t.Helper()
	t.Run("", func(t *testing.T) {
		t.Parallel()
		playWith(t, server, Options{ApprovalTimeout: 10 * time.Minute, Approvals: ApprovalsByAdapter}, func(t *testing.T, w *world) {
			server.w = w
			_, h, id := w.begun("one", askable)
			h.call("k1", `{}`)
			test(t, w, h, id)
		})
	})
}

// wantResponse checks what a call is answered with.
func (h *fakeHost) wantResponse(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	if got := h.response("k1"); got != want {
		t.Errorf("the call is answered with %s, want %s", got, want)
	}
}

const approvalOfCall = "approval of k1"

// TestCallIsAsked: a call waits for a person's decision, which reaches the tool.
func TestCallIsAsked(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]core.Decision{
		`"allowed  {\"n\":1}"`:          {Allow: true},
		`"allowed  {\"n\":2}"`:          {Allow: true, UpdatedInput: jsonRaw(`{"n":2}`)},
		`"denied  {\"n\":1}"`:           {},
		`"denied rather not {\"n\":1}"`: {Message: "rather not"},
	} {
		playCalls(t, func(t *testing.T, w *world, h *fakeHost, id core.TurnID) {
			a := w.pending(1)[0]
			if a.Kind != core.ApprovalCall || a.Turn != id || a.Why != "It acts on others." || a.Tool != "mcp__bareclaw__act" {
				t.Errorf("the approval is %+v", a)
			}
			w.after(5 * time.Minute)
			h.wantResponse(t, "")
			_, err := w.m.Decider.Decide(t.Context(), a.ID, d)
			w.wantErr(err, nil)
			h.wantResponse(t, want)
			if answer, ok := h.answered("k1"); ok {
				t.Errorf("the agent is also told %+v", answer)
			}
			h.result("ok", id)
		})
	}
}

// TestCallNobodyDecides: a call about which nobody decides ends with its time, its turn or its session.
func TestCallNobodyDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   func(w *world, h *fakeHost, id core.TurnID)
		state core.ApprovalState
	}{
		"in time": {func(w *world, _ *fakeHost, _ core.TurnID) { w.after(10 * time.Minute) }, core.ApprovalExpired},
		"the agent withdraws it": {func(_ *world, h *fakeHost, _ core.TurnID) {
			h.say(core.Event{Kind: core.ToolCancelled, Type: "control_request", ToolRequest: &core.ToolRequest{MessageID: "11"}})
		}, core.ApprovalVoid},
		"the turn ends":    {func(_ *world, h *fakeHost, id core.TurnID) { h.result("ok", id) }, core.ApprovalVoid},
		"the session ends": {func(_ *world, h *fakeHost, _ core.TurnID) { h.die() }, core.ApprovalVoid},
		"the session ends while no gateway runs": {func(w *world, h *fakeHost, _ core.TurnID) {
			w.crash()
			h.die()
			w.start()
		}, core.ApprovalVoid},
	} {
		t.Run(name, func(t *testing.T) {
			playCalls(t, func(_ *testing.T, w *world, h *fakeHost, id core.TurnID) {
				w.pending(1)
				c.end(w, h, id)
				w.pending(0)
				w.approval(approvalOfCall, c.state)
			})
		})
	}
}

// TestCallNobodyCanDecide: without a person the call is refused at once.
func TestCallNobodyCanDecide(t *testing.T) {
	t.Parallel()
	server := &askingTools{}
	playWith(t, server, Options{Approvals: ApprovalsByAdapter}, func(t *testing.T, w *world) {
		server.w = w
		_, h, id := w.begun("one")
		h.call("k1", `{}`)
		h.wantResponse(t, strconv.Quote(core.ErrCannotAsk.Error()))
		w.pending(0)
		h.result("ok", id)
	})
}

// TestCallIsAskedOnce: the process that takes a channel over finds the approval of a call, pending or
// decided, and nobody is asked twice.
func TestCallIsAskedOnce(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(w *world){
		"restart":  (*world).restart,
		"handover": (*world).handOver,
		"kill": func(w *world) {
			w.crash()
			w.start()
		},
	} {
		for _, early := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				server := &askingTools{}
				playCallsOf(t, server, func(t *testing.T, w *world, h *fakeHost, id core.TurnID) {
					asked := w.pending(1)[0]
					w.after(time.Minute)
					decide := func() {
						_, err := w.m.Decider.Decide(t.Context(), approvalOfCall, core.Decision{Allow: true})
						w.wantErr(err, nil)
					}
					if early {
						server.lost.Store(true)
						decide()
						synctest.Wait()
						server.lost.Store(false)
						next(w)
						w.pending(0)
					} else {
						next(w)
						if a := w.pending(1)[0]; !a.ExpiresAt.Equal(asked.ExpiresAt) {
							t.Errorf("the approval expires at %s, was to expire at %s", a.ExpiresAt, asked.ExpiresAt)
						}
						decide()
					}
					h.wantResponse(t, `"allowed  {\"n\":1}"`)
					w.approval(approvalOfCall, core.ApprovalAllowed)
					h.result("ok", id)
				})
			})
		}
	}
}

// TestCallOfATurnThatEnded: nobody is asked in the next turn about a call of the one before.
func TestCallOfATurnThatEnded(t *testing.T) {
	t.Parallel()
	playNow(t, Options{Approvals: ApprovalsByAdapter}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		w.submit("two", askable)
		h.result("ok", id)
		w.after(time.Minute)
		_, next := w.running()
		h.begin(next)
		for turn, want := range map[core.TurnID]core.ApprovalState{id: core.ApprovalVoid, "unknown": core.ApprovalVoid} {
			a, err := w.m.Decider.AskCall(t.Context(), core.CallRequest{ID: "of " + string(turn), Channel: "c", RequestID: "k1", Turn: turn})
			if err != nil || a.State != want {
				t.Errorf("%s: %s, %v", turn, a.State, err)
			}
		}
		w.pending(0)
		h.result("ok", next)
	})
}

// TestCallExpiresWhileNoGatewayRuns: a call whose time was over before it came again is not asked about
// anew.
func TestCallExpiresWhileNoGatewayRuns(t *testing.T) {
	t.Parallel()
	playCalls(t, func(t *testing.T, w *world, h *fakeHost, id core.TurnID) {
		w.pending(1)
		w.crash()
		w.after(11 * time.Minute)
		w.start()
		h.wantResponse(t, `"expired Nobody answered the permission request for mcp__bareclaw__act within 10m0s, so it was denied. {\"n\":1}"`)
		w.pending(0)
		w.approval(approvalOfCall, core.ApprovalExpired)
		h.result("ok", id)
	})
}

// TestCallFromOutside: a call from outside of sessions is asked about only where everything is, and ends with
// its client, its time or the gateway.
func TestCallFromOutside(t *testing.T) {
	t.Parallel()
	request := core.CallRequest{ID: "outside", Tool: "mcp__bareclaw__act", Input: jsonRaw(`{"n":1}`)}
	playNow(t, Options{Approvals: ApprovalsByAdapter}, func(t *testing.T, w *world) {
		_, err := w.m.Decider.AskCall(t.Context(), request)
		w.wantErr(err, core.ErrCannotAsk)
		w.pending(0)
	})
	for name, c := range map[string]struct {
		end   func(w *world, leave context.CancelFunc)
		state core.ApprovalState // as the call hears it; empty: it does not
		kept  core.ApprovalState // on record
		err   error
	}{
		"allowed": {func(w *world, _ context.CancelFunc) {
			_, err := w.m.Decider.Decide(w.t.Context(), "outside", core.Decision{Allow: true, By: "Ann"})
			w.wantErr(err, nil)
		}, core.ApprovalAllowed, core.ApprovalAllowed, nil},
		"denied": {func(w *world, _ context.CancelFunc) {
			_, err := w.m.Decider.Decide(w.t.Context(), "outside", core.Decision{Message: "no"})
			w.wantErr(err, nil)
			_, err = w.m.Decider.Decide(w.t.Context(), "outside", core.Decision{Allow: true})
			w.wantErr(err, core.ErrNotPending)
		}, core.ApprovalDenied, core.ApprovalDenied, nil},
		"expired":           {func(w *world, _ context.CancelFunc) { w.after(10 * time.Minute) }, core.ApprovalExpired, core.ApprovalExpired, nil},
		"the client leaves": {func(_ *world, leave context.CancelFunc) { leave() }, "", core.ApprovalVoid, context.Canceled},
		"the gateway ends":  {func(w *world, _ context.CancelFunc) { w.restart() }, "", core.ApprovalVoid, core.ErrClosed},
		"the gateway is killed": {func(w *world, _ context.CancelFunc) {
			w.crash()
			w.start()
		}, "", core.ApprovalVoid, core.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{Approvals: ApprovalsAsk, ApprovalTimeout: 10 * time.Minute}, func(t *testing.T, w *world) {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				type heard struct {
					core.Approval
					err error
				}
				told := make(chan heard, 1)
				m := w.m
				request := request
				isAsked := atomic.Bool{}
				request.Asked = func() { isAsked.Store(true) }
				go func() {
					a, err := m.Decider.AskCall(ctx, request)
					told <- heard{a, err}
				}()
				if a := w.pending(1)[0]; a.Channel != "" || a.Kind != core.ApprovalCall {
					t.Errorf("the approval is %+v", a)
				}
				synctest.Wait()
				if !isAsked.Load() {
					t.Error("the call does not hear that a person is asked")
				}
				c.end(w, leave)
				got := <-told
				if !errors.Is(got.err, c.err) || got.State != c.state {
					t.Errorf("the call hears %s, %v; want %s, %v", got.State, got.err, c.state, c.err)
				}
				w.pending(0)
				w.approval("outside", c.kept)
			})
		})
	}
}

// TestTooManyCallsFromOutside: a call that is one too many hears so, and is not told to have people asked.
func TestTooManyCallsFromOutside(t *testing.T) {
	t.Parallel()
	playNow(t, Options{Approvals: ApprovalsAsk, ApprovalTimeout: time.Hour}, func(t *testing.T, w *world) {
		ctx, leave := context.WithCancel(t.Context())
		for i := range maxOutside {
			request := core.CallRequest{ID: "outside " + strconv.Itoa(i), Tool: "act", Input: jsonRaw(`{}`)}
			go func() { _, _ = w.m.Decider.AskCall(ctx, request) }() // ends with ctx
		}
		w.pending(maxOutside)
		request := core.CallRequest{ID: "one more", Tool: "act", Input: jsonRaw(`{}`)}
		_, err := w.m.Decider.AskCall(t.Context(), request)
		if err == nil || err.Error() != "100 calls wait for a person already; decide about some of them first" {
			t.Errorf("one more hears %v", err)
		}
		leave()
		w.pending(0)
	})
}
