package lanes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// queue returns what waits on channel c.
func (w *world) queue() []string {
	w.t.Helper()
	synctest.Wait()
	ms, err := w.m.Queue(w.t.Context(), "c")
	if err != nil {
		w.t.Fatal(err)
	}
	var texts []string
	for i := range ms {
		texts = append(texts, ms[i].Content.Text)
	}
	return texts
}

func (w *world) wantQueue(want ...string) {
	w.t.Helper()
	if got := w.queue(); !slices.Equal(got, want) {
		w.t.Errorf("what waits is %q, want %q", got, want)
	}
}

func TestQueueAndAmend(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.wantQueue()
		one, h, id := w.begun("one")
		two, three := w.submit("two", keyed("k", "h")), w.submit("three")
		w.wantQueue("two", "three")
		if err := w.m.Amend(ctx, two.Message.ID, core.Content{Text: "TWO"}); err != nil {
			t.Fatal(err)
		}
		w.wantQueue("TWO", "three")
		if again := w.submit("two", keyed("k", "h")); !again.Existing {
			t.Error("the source key was let go")
		}
		w.wantErr(w.m.Amend(ctx, one.Message.ID, core.Content{Text: "late"}), core.ErrNotWaiting)
		w.wantErr(w.m.Amend(ctx, "none", core.Content{Text: "late"}), core.ErrNotFound)
		w.wantErr(w.m.Amend(ctx, two.Message.ID, core.Content{}), core.ErrBadContent)
		w.agent.refuses = "/no"
		w.wantErr(w.m.Amend(ctx, two.Message.ID, core.Content{Text: "/no"}), core.ErrBadContent)
		w.ledger.setDown(core.ErrStorageFull)
		w.wantErr(w.m.Amend(ctx, two.Message.ID, core.Content{Text: "lost"}), core.ErrStorageFull)
		w.ledger.setDown(nil)
		h.finish(id, "1")
		w.answer("all")
		w.wantTexts(h, "one", "TWO\n\nthree")
		w.wants(three, core.Answered, "", "all")
		w.wantErr(w.m.Amend(ctx, two.Message.ID, core.Content{Text: "late"}), core.ErrNotWaiting)
	})
}

// A turn that ends while a content is being written waits for it.
func TestAmendAndDispatch(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		two := w.submit("two")
		w.ledger.slow(time.Second)
		amended := make(chan error, 1)
		go func() { amended <- w.m.Amend(t.Context(), two.Message.ID, core.Content{Text: "TWO"}) }()
		synctest.Wait()
		h.finish(id, "1")
		w.after(10 * time.Second)
		if err := <-amended; err != nil {
			t.Fatal(err)
		}
		w.wantTexts(h, "one", "TWO")
	})
}

// A crash leaves the one content or the other, and it is in the ledger what runs.
func TestAmendAndCrash(t *testing.T) {
	t.Parallel()
	for written, want := range []string{"two", "TWO"} {
		playNow(t, Options{}, func(t *testing.T, w *world) {
			one, h, id := w.begun("one")
			two := w.submit("two")
			w.ledger.hold()
			go func() { _ = w.m.Amend(t.Context(), two.Message.ID, core.Content{Text: "TWO"}) }()
			synctest.Wait()
			w.ledger.step(written)
			synctest.Wait()
			w.crash()
			w.ledger.release()
			w.start()
			w.wantQueue(want)
			h.finish(id, "1")
			w.wantsNow(one.Message.ID, core.Answered, "", "1")
			_, id = w.running()
			w.wantTexts(h, "one", want)
			h.answer(id, "2")
			w.wantsNow(two.Message.ID, core.Answered, "", "2")
		})
	}
}

// A message that is put first ends the running turn, and runs before those that came
// earlier, also for a new process.
func TestRunNow(t *testing.T) {
	t.Parallel()
	for _, again := range []func(*world){nil, (*world).restart, func(w *world) { w.crash(); w.start() }} {
		playNow(t, Options{}, func(t *testing.T, w *world) {
			one, h, id := w.begun("one")
			w.submit("two")
			three, four := w.submit("three"), w.submit("four")
			for _, m := range []*core.Ticket{four, three} {
				if err := w.m.RunNow(t.Context(), m.Message.ID); err != nil {
					t.Fatal(err)
				}
			}
			w.wantQueue("three", "four", "two")
			if n := h.interrupted(); n != 1 {
				t.Errorf("interrupted %d times", n)
			}
			if again != nil {
				again(w)
				w.wantQueue("three", "four", "two")
			}
			h.aborts(id)
			w.wantsNow(one.Message.ID, core.Cancelled, core.CodeInterrupted, "")
			w.wantErr(w.m.RunNow(t.Context(), one.Message.ID), core.ErrNotWaiting)
			w.wantErr(w.m.RunNow(t.Context(), "none"), core.ErrNotFound)
			w.after(time.Second)
			w.answer("all")
			w.wantTexts(h, "one", "three\n\nfour\n\ntwo")
			w.wantsNow(three.Message.ID, core.Answered, "", "")
			w.wantQueue()
		})
	}
}

// The turn that is interrupted is the one that ran when it was asked: a later one goes
// on. Nothing is begun in the old order meanwhile.
func TestRunNowIsLate(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		one, h, id := w.begun("one")
		two, three := w.submit("two"), w.submit("three")
		w.ledger.slow(time.Second)
		asked := make(chan error, 1)
		go func() { asked <- w.m.RunNow(t.Context(), three.Message.ID) }()
		synctest.Wait()
		h.finish(id, "1")
		w.after(10 * time.Second)
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		w.wants(one, core.Answered, "", "1")
		_, id = w.running()
		w.wantTexts(h, "one", "three\n\ntwo")
		if h.interrupted() != 0 {
			t.Error("another turn was interrupted")
		}
		w.ledger.slow(0)
		h.answer(id, "all")
		w.wants(two, core.Answered, "", "all")
	})
}

// Both can be cancelled while they are being written, amended while they are put first,
// and so on: each takes its turn.
func TestQueueChangesAtOnce(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		_, h, id := w.begun("one")
		var ms []*core.Ticket
		for i := range 4 {
			ms = append(ms, w.submit(fmt.Sprint("m", i)))
		}
		w.ledger.slow(30 * time.Millisecond)
		var errs [4]error
		go func() { errs[0] = w.m.Amend(t.Context(), ms[3].Message.ID, core.Content{Text: "M3"}) }()
		go func() { errs[1] = w.m.RunNow(t.Context(), ms[3].Message.ID) }()
		go func() { errs[2] = w.m.Amend(t.Context(), ms[1].Message.ID, core.Content{Text: "M1"}) }()
		go func() { _, errs[3] = w.m.Cancel(t.Context(), ms[1].Message.ID) }()
		w.after(time.Second)
		for i, err := range errs {
			if err != nil && (i != 2 || !strings.Contains(err.Error(), "not waiting")) {
				t.Errorf("change %d: %v", i, err)
			}
		}
		w.wantQueue("M3", "m0", "m2")
		w.ledger.slow(0)
		h.aborts(id)
		w.after(time.Second)
		w.answer("all")
		w.wantsNow(ms[0].Message.ID, core.Answered, "", "")
	})
}
