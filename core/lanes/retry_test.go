package lanes

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"bareclaw/core"
)

// cut has a turn begin a tool and loses its process.
func (w *world) cut(texts ...string) (last *core.Ticket) {
	w.t.Helper()
	for _, text := range texts {
		last = w.submit(text)
	}
	h, id := w.running()
	if len(texts) > 1 { // the first ran alone, the others wait for it
		h.answer(id, "ok")
		synctest.Wait()
		h, id = w.running()
	}
	h.begin(id)
	h.say(core.Event{Kind: core.ToolBegun, Tool: "Bash", Target: "make it"})
	synctest.Wait()
	h.die()
	w.wants(last, core.Failed, core.CodeInterrupted, "Done before that: Bash: make it.")
	return last
}

func (w *world) retry(id core.MessageID) (*core.Ticket, error) {
	w.t.Helper()
	s, _, err := w.m.Decider.Resubmission(w.t.Context(), id)
	if err != nil {
		return nil, err
	}
	t, err := w.m.Submit(w.t.Context(), s)
	synctest.Wait()
	return t, err
}

// A turn that was cut in its work is gone on with under a new uuid, and claude is
// told what it had begun.
func TestCutTurnIsContinued(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(w *world, a core.Approval, m *core.Ticket) core.MessageID{
		"by approval": func(w *world, a core.Approval, _ *core.Ticket) core.MessageID {
			now, err := w.m.Decider.Decide(w.t.Context(), a.ID, core.Decision{Allow: true})
			if err != nil || now.State != core.ApprovalAllowed {
				w.t.Errorf("approval is %+v, %v", now, err)
			}
			return now.Retry
		},
		"by retry": func(w *world, _ core.Approval, m *core.Ticket) core.MessageID {
			again, err := w.retry(m.Message.ID)
			if err != nil {
				w.t.Fatal(err)
			}
			return again.Message.ID
		},
		"in another life": func(w *world, a core.Approval, _ *core.Ticket) core.MessageID {
			w.crash()
			w.start()
			now, err := w.m.Decider.Decide(w.t.Context(), a.ID, core.Decision{Allow: true})
			if err != nil {
				w.t.Error(err)
			}
			return now.Retry
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				m := w.cut("build it")
				a := w.pending(1)[0]
				if a.Kind != core.ApprovalContinue || a.Message != m.Message.ID || a.Channel != "c" {
					t.Errorf("approval is %+v", a)
				}
				id := decide(w, a, m)
				synctest.Wait()
				h, turn := w.running()
				text := w.handedTexts(h)[0]
				if !strings.Contains(text, "cut short") || !strings.Contains(text, "Bash: make it") || !strings.HasSuffix(text, "\n\nbuild it") {
					t.Errorf("claude is told %q", text)
				}
				h.answer(turn, "built")
				again := w.wantsNow(id, core.Answered, "", "built")
				if again.RetryOf != m.Message.ID {
					t.Errorf("it is a retry of %q, want %s", again.RetryOf, m.Message.ID)
				}
				if now := w.approval(a.ID, core.ApprovalAllowed); now.Retry != id {
					t.Errorf("approval names %q, want %s", now.Retry, id)
				}
				w.pending(0)
				second, err := w.retry(m.Message.ID)
				if err != nil || !second.Existing || second.Message.ID != id {
					t.Errorf("a second retry is %+v, %v", second, err)
				}
				if _, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true}); err == nil {
					t.Error("it is decided twice")
				}
			})
		})
	}
}

func TestCutTurnIsDropped(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		m := w.cut("build it")
		a := w.pending(1)[0]
		if now, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Message: "never mind"}); err != nil || now.State != core.ApprovalDenied {
			t.Errorf("approval is %+v, %v", now, err)
		}
		w.pending(0)
		again, err := w.retry(m.Message.ID) // who wants it all the same may have it
		if err != nil {
			t.Fatal(err)
		}
		w.serve(again, "built")
		w.approval(a.ID, core.ApprovalDenied)
	})
}

func TestUndecidedTurnIsDroppedWithTimeOrChannel(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.cut("build it")
		a := w.pending(1)[0]
		w.after(continueFor)
		w.pending(0)
		now, err := w.m.Decider.Decide(t.Context(), a.ID, core.Decision{Allow: true})
		if w.wantErr(err, core.ErrNotPending); now.State != core.ApprovalExpired {
			t.Errorf("approval is %+v", now)
		}
		w.cut("build another")
		a = w.pending(1)[0]
		if err := w.m.Reset(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		w.pending(0)
		w.approval(a.ID, core.ApprovalVoid)
	})
}

// What failed before claude had done anything is just said again; all messages of
// the turn are in it, and a message that went well is no case for it.
func TestRetryOfWhatHadNotBegun(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.startErr = &core.AgentError{Code: "agent_missing", Text: "No claude."}
		m := w.submit("hello")
		w.wants(m, core.Failed, "agent_missing", "No claude.")
		w.pending(0)
		w.agent.startErr = nil
		again, err := w.retry(m.Message.ID)
		if err != nil {
			t.Fatal(err)
		}
		h, turn := w.running()
		w.wantTexts(h, "hello")
		h.answer(turn, "hi")
		w.wants(again, core.Answered, "", "hi")
		_, err = w.retry(again.Message.ID)
		w.wantErr(err, core.ErrNotFailed)
		_, err = w.retry("nobody")
		w.wantErr(err, core.ErrNotFound)
	})
}

func TestRetryHasAllMessagesOfTheTurn(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		last := w.cut("zero", "one", "two")
		ms, err := w.m.Lookup.Messages(t.Context(), "c", 2, "")
		if err != nil || ms[1].Reply.Into != last.Message.ID {
			t.Fatalf("messages are %+v, %v", ms, err)
		}
		first, err := w.retry(ms[1].ID)
		if err != nil || first.Message.RetryOf != last.Message.ID {
			t.Fatalf("retry is %+v, %v", first, err)
		}
		h, turn := w.running()
		if text := w.handedTexts(h)[0]; !strings.HasSuffix(text, "\n\none\n\ntwo") {
			t.Errorf("claude is told %q", text)
		}
		h.answer(turn, "ok")
		w.wants(first, core.Answered, "", "ok")
		same, err := w.retry(last.Message.ID)
		if err != nil || !same.Existing || same.Message.ID != first.Message.ID {
			t.Errorf("retry of the other is %+v, %v", same, err)
		}
	})
}

func TestContentAgainMixesTextAndBlocks(t *testing.T) {
	t.Parallel()
	image := json.RawMessage(`{"type":"image"}`)
	members := []*core.Message{
		{Channel: "c", Adapter: "http", Origin: core.Origin{User: "Ann"}, Content: core.Content{Text: "see"}},
		{Channel: "c", Adapter: "http", Origin: core.Origin{User: "Bob"}, Content: core.Content{Blocks: []json.RawMessage{image}},
			Reply: core.Reply{State: core.Failed, Code: core.CodeInterrupted}},
		{Channel: "c", Adapter: "http", Origin: core.Origin{User: "Bob"}, Content: core.Content{Text: "and say"},
			Reply: core.Reply{State: core.Failed, Code: core.CodeInterrupted, Done: "Read (x)"}},
	}
	c, err := core.RetryContent(members, &core.Turn{})
	if err != nil || c.Text != "" || len(c.Blocks) != 4 {
		t.Fatalf("content is %+v, %v", c, err)
	}
	for i, want := range []string{"Read (x)", "user: Bob", `{"type":"image"}`, "and say"} {
		if !strings.Contains(string(c.Blocks[i]), want) {
			t.Errorf("block %d is %s, want %q in it", i, c.Blocks[i], want)
		}
	}
	if !strings.Contains(string(c.Blocks[0]), "user: Ann") {
		t.Errorf("block 0 is %s", c.Blocks[0])
	}
}
