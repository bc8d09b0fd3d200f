package lanes

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// A host says again to the next process what was not acknowledged: it is told
// once, and what was said meanwhile is not lost.
func TestFeedsAreHandedOver(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		sub := w.m.Feeds.Subscribe("c")
		m, h, id := w.begun("one")
		h.say(core.Event{Kind: core.Said, Raw: line("<1> &")})
		h.results(core.Result{Background: true, Text: "bg"})
		h.say(core.Event{Kind: core.Retrying, Detail: "overloaded"})
		synctest.Wait()
		last := wantKinds(t, sub, core.UpdateAccepted, core.UpdateStarted, core.UpdateEvent, core.UpdateEvent, core.UpdateBackground, core.UpdateRetrying)
		if h.kept() == 0 {
			t.Fatal("all is acknowledged: nothing will be said again")
		}
		w.detach()
		h.say(core.Event{Kind: core.Said, Raw: line("2")}) // nobody is there
		w.start()
		w.handOver() // at once again, perhaps before all was said again
		back := w.m.Feeds.Resume("c", last.String())
		defer back.Close()
		wantKinds(t, back, core.UpdateEvent)
		h.say(core.Event{Kind: core.Said, Raw: line("3")})
		h.finish(id, "ok")
		w.wantsNow(m.Message.ID, core.Answered, "", "ok")
		last = wantKinds(t, back, core.UpdateEvent, core.UpdateEvent, core.UpdateResult)
		w.handOver()
		end := w.m.Feeds.Resume("c", last.String())
		defer end.Close()
		all := w.m.Feeds.Resume("c", sub.From().String())
		defer all.Close()
		if got := drain(all); len(got) != 10 || string(got[2].Raw) != string(line("<1> &")) || got[9].Message.Reply.Text != "ok" {
			t.Errorf("all updates: %+v", got)
		}
		wantKinds(t, end)
		w.works()
		wantKinds(t, end, core.UpdateAccepted, core.UpdateStarted, core.UpdateEvent, core.UpdateResult)
	})
}

// A feed keeps what was asked, in short, also for the next process: contents may be large.
func TestFeedsKeepShortPrompts(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		sub := w.m.Feeds.Subscribe("c")
		long := strings.Repeat("a long question ", 1000)
		_, h, id := w.begun(long)
		h.answer(id, "ok")
		synctest.Wait()
		w.handOver()
		all := w.m.Feeds.Resume("c", sub.From().String())
		defer all.Close()
		told := 0
		for _, u := range drain(all) {
			if u.Message == nil {
				continue
			}
			told++
			if p := u.Message.Prompt; p.Text != long[:core.ShortPromptBytes] || !p.Truncated || u.Message.Content.Text != "" {
				t.Errorf("%s has the prompt %+.100v and the content %+.100v", u.Kind, p, u.Message.Content)
			}
		}
		if told != 2 {
			t.Errorf("%d updates have a message, want 2", told)
		}
	})
}

func TestSavedFeedsThatAreNoUse(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		sub := w.m.Feeds.Subscribe("c")
		w.detach()
		saved, index := w.saved, string(w.saved.Index)
		for _, bad := range []string{
			"", "{", "[]", "null", `{"Version":1}`, strings.Replace(index, `"Kept":0`, `"Kept":1`, 1),
			strings.Replace(index, `"ID":`, `"ID":0,"Was":`, 1), index[:len(index)/2],
		} {
			m := New(w.m.o)
			if err := m.Feeds.Restore([]byte(bad), m.o.Now(), m.o.Log, written(saved)); err == nil {
				t.Errorf("%q is taken", bad)
			}
			if s := m.Feeds.Resume("c", sub.From().String()); !s.Gap() {
				t.Errorf("%q: no gap", bad)
			}
		}
		w.saved = nil
		w.start()
		for _, gap := range []bool{false, true} {
			m := New(w.m.o)
			if err := m.Feeds.Restore(saved.Index, m.o.Now(), m.o.Log, written(saved)); err != nil {
				t.Error(err)
			}
			if s := m.Feeds.Resume("c", sub.From().String()); s.Gap() != gap {
				t.Errorf("gap %v, want %v", s.Gap(), gap)
			}
			time.Sleep(2*time.Minute + time.Second) // it is too old then
		}
		w.detach()
		if w.saved != nil {
			t.Errorf("saved of nothing: %s", w.saved.Index)
		}
	})
}

// TestUpdatesAreReadWhenTheyAreMissed: the updates of an earlier process are not asked for
// until a client comes back that has not seen all of them. What was written in part is a gap.
func TestUpdatesAreReadWhenTheyAreMissed(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		sub := w.m.Feeds.Subscribe("c")
		_, h, _ := w.begun("one")
		h.say(core.Event{Kind: core.Said, Raw: line("1")})
		synctest.Wait()
		last := wantKinds(t, sub, core.UpdateAccepted, core.UpdateStarted, core.UpdateEvent)
		w.detach()
		saved := w.saved
		w.saved = nil
		w.start()
		if len(saved.Index) > 500 {
			t.Errorf("what is read before serving has updates in it: %s", saved.Index)
		}
		for _, part := range []int64{0, 2} { // of the last document, which marks the end
			asked := 0
			m := New(w.m.o)
			err := m.Feeds.Restore(saved.Index, m.o.Now(), m.o.Log, func() (*io.SectionReader, error) {
				asked++
				all, err := written(saved)()
				return io.NewSectionReader(all, 0, all.Size()-part), err
			})
			if err != nil {
				t.Fatal(err)
			}
			if s := m.Feeds.Resume("c", last.String()); s.Gap() || asked != 0 {
				t.Errorf("who has seen all: gap %v, asked %d times", s.Gap(), asked)
			}
			m.Feeds.Subscribe("c")
			if asked != 0 {
				t.Error("who begins anew asks for what was")
			}
			for range 2 {
				s := m.Feeds.Resume("c", sub.From().String())
				if got := len(drain(s)); s.Gap() != (part > 0) || part == 0 && got != 3 || asked != 1 {
					t.Errorf("cut by %d: gap %v, %d updates, asked %d times", part, s.Gap(), got, asked)
				}
			}
		}
	})
}

// TestFeeds: a stream goes on without listeners, and in the next process.
func TestFeeds(t *testing.T) {
	scenarios(t, map[string]string{
		"what happens while nobody listens is told to whoever comes back": `
			watch; send one; begin one; unwatch; tool one; finish one ok; one answered ok; rewatch all
			updates accepted started event event result`,
		"another host's events have nothing to do with those that the feed has": `
			watch; send one; begin one; say 1; updates accepted started event; detach; die; start; answer one ok
			one answered ok; rewatch
			updates started event result`,
		"an outcome that nobody was left to tell": `
			watch; send one two; begin one; updates accepted accepted queued started; hold
			cancel two err=closed; detach; over; release; start; rewatch; updates result
			detach; start; rewatch; updates; finish one ok; one answered ok; updates event result`,
		"an outcome that was heard, and neither told nor written": `
			watch; send one; begin one; interrupt err=unwritten; down full; abort one
			updates accepted started event; detach; up; start
			one cancelled interrupted; rewatch; updates result`,
	})
}
