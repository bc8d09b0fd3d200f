package schedule_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/schedule"
	"bareclaw/internal/testkit/check"
)

// A people is the agent and the user of a built-in job: how messages end, and what is
// pushed. Fields are changed only while nothing runs.
type people struct {
	w      *world
	reply  core.Reply // the outcome of messages
	why    string     // messages wait on a parked channel for this reason; empty: they do not
	until  chan struct{}
	errs   []error // of the next pushes
	pushes []core.Push
	text   func() (string, error)
	check  schedule.PrecheckResult
}

func (p *people) Wait(ctx context.Context, id core.MessageID) (core.Message, error) {
	if id == "carrier" {
		return core.Message{State: core.Answered, Reply: core.Reply{State: core.Answered, Text: "of both"}}, nil
	}
	select {
	case <-p.until:
	case <-ctx.Done():
		return core.Message{}, ctx.Err()
	}
	return core.Message{ID: id, State: p.reply.State, Reply: p.reply}, nil
}

func (p *people) WaitOrPark(ctx context.Context, id core.MessageID) (core.Message, error) {
	if p.why != "" {
		return core.Message{ID: id, State: core.Waiting}, nil
	}
	return p.Wait(ctx, id)
}

func (p *people) QueuePosition(core.MessageID) core.QueuePosition {
	return core.QueuePosition{Why: p.why}
}

func (p *people) push(_ context.Context, push core.Push) error {
	p.pushes = append(p.pushes, push)
	if len(p.errs) == 0 {
		return nil
	}
	err := p.errs[0]
	p.errs = p.errs[1:]
	return err
}

func (p *people) options() schedule.Options {
	return schedule.Options{
		Waiter: p, Push: p.push,
		Precheck: func(context.Context, string) (schedule.PrecheckResult, error) { return p.check, nil },
		BuiltIns: []schedule.BuiltIn{{
			ID: "beat", Channel: "beat", Title: "Beat", Fresh: "/clear", Precheck: "true", Notify: "tg-1", Quiet: "OK",
			Text: func() (string, error) { return p.text() },
		}},
	}
}

// beat plays a built-in job whose agent answers "Look."
func beat(t *testing.T, f func(t *testing.T, p *people)) {
	t.Helper()
	playWorld(t, func(t *testing.T, w *world) {
		p := &people{
			w:     w,
			reply: core.Reply{State: core.Answered, Text: "Look.", CostUSD: 0.5, Duration: time.Second}, until: make(chan struct{}),
			text: func() (string, error) { return "look", nil },
		}
		close(p.until)
		p.w.start(p.options())
		f(t, p)
	})
}

// slot is the beginning of the n-th slot.
func slot(n int) time.Time { return time.Date(1999, 1, 1, n, 0, 0, 0, time.UTC) }

// run triggers a slot and returns its occurrence.
func (p *people) run(n int) schedule.Occurrence {
	p.w.t.Helper()
	ctx, cancel := context.WithTimeout(p.w.t.Context(), time.Second)
	defer cancel()
	o, err := p.w.Trigger(ctx, "beat", slot(n))
	check.OK(p.w.t, err)
	synctest.Wait()
	return o
}

// sent returns the texts and keys of all messages.
func (p *people) sent() (all []string) {
	for _, s := range p.w.memory.sent() {
		all = append(all, s.Content.Text+" "+s.SourceKey)
	}
	return all
}

// TestTrigger: a slot has one message, after one that begins a fresh session, and one
// push, however often the slot is triggered.
func TestTrigger(t *testing.T) {
	t.Parallel()
	beat(t, func(t *testing.T, p *people) {
		for range 3 {
			if o := p.run(0); o.Outcome != schedule.Sent || o.Answer == nil || o.Answer.Push != schedule.Pushed || o.Answer.Text != "Look." || o.Answer.CostUSD != 0.5 {
				t.Errorf("the run is %+v", o)
			}
		}
		p.reply.Text = " **OK**.\n"
		if o := p.run(1); o.Answer.Push != schedule.Quiet {
			t.Errorf("the run is %+v", o)
		}
		key, next := schedule.SourceKey("beat", slot(0)), schedule.SourceKey("beat", slot(1))
		if want := []string{"/clear " + key + ":fresh", "look " + key, "/clear " + next + ":fresh", "look " + next}; !slices.Equal(p.sent(), want) {
			t.Errorf("sent %q, want %q", p.sent(), want)
		}
		if len(p.pushes) != 1 || p.pushes[0].Channel != "tg-1" || p.pushes[0].Text != "Look." || p.pushes[0].ID == "" {
			t.Errorf("pushed %+v", p.pushes)
		}
		if j, all, err := p.w.Job(t.Context(), "beat"); err != nil || j.Text != "look" || len(all) != 2 {
			t.Errorf("it is shown as %+v with %+v, %v", j, all, err)
		}
		if _, err := p.w.Trigger(t.Context(), "beat", time.Now().Add(time.Hour)); !errors.Is(err, schedule.ErrSlot) {
			t.Errorf("a slot that has not come: %v", err)
		}
		if _, err := p.w.Trigger(t.Context(), "other", slot(0)); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("no such job: %v", err)
		}
	})
}

// TestTriggerKilled kills the process before each of the steps that it records, several
// times: the next one goes on, and nothing is sent or pushed twice.
func TestTriggerKilled(t *testing.T) {
	t.Parallel()
	const steps = 5
	for step := range steps + 1 {
		fail := func(m *memory) { m.puts, m.failPut = 0, step+1 }
		if step == steps { // between clearing the session and the question
			fail = func(m *memory) { m.submits, m.failSubmit = 0, 2 }
		}
		beat(t, func(t *testing.T, p *people) {
			for range 2 {
				p.w.memory.set(fail)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, _ = p.w.Trigger(ctx, "beat", slot(0))
				cancel()
				p.w.end()
				p.w.memory.set(func(m *memory) { m.failPut, m.failSubmit = 0, 0 })
				p.w.start(p.options())
				synctest.Wait()
			}
			if o := p.run(0); o.Answer == nil || o.Answer.Push != schedule.Pushed {
				t.Errorf("step %d: the run is %+v", step, o)
			}
			ids := map[string]bool{}
			for _, push := range p.pushes {
				ids[push.ID] = true
			}
			if len(p.sent()) != 2 || len(ids) != 1 {
				t.Errorf("step %d: sent %q, pushed %+v", step, p.sent(), p.pushes)
			}
		})
	}
}

// TestPushIsTriedAgain under another id where it is known that nothing was delivered,
// under the same id where that is not known, and not at all where it cannot help.
func TestPushIsTriedAgain(t *testing.T) {
	t.Parallel()
	failed := &core.PushError{Text: "blocked"}
	for name, c := range map[string]struct {
		errs   []error
		pushes int
		ids    int
		want   schedule.PushState
	}{
		"not delivered": {[]error{failed, failed}, 3, 1, schedule.Pushed},
		"ended":         {[]error{core.ErrClosed, core.ErrStorageFull}, 3, 1, schedule.Pushed},
		"unconfirmed":   {[]error{&core.PushError{Kind: core.ErrUnconfirmed, Text: "who knows"}}, 1, 1, schedule.NotPushed},
		"nobody's":      {[]error{core.ErrNoPusher}, 1, 1, schedule.NotPushed},
		"hopeless":      {slices.Repeat([]error{failed}, schedule.MaxAttempts), schedule.MaxAttempts, 1, schedule.NotPushed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beat(t, func(t *testing.T, p *people) {
				p.errs = c.errs
				for range c.errs {
					if o := p.run(0); o.Answer.Problem == "" {
						t.Errorf("no problem is told: %+v", o.Answer)
					}
				}
				o := p.run(0)
				ids := map[string]bool{}
				for _, push := range p.pushes {
					ids[push.ID] = true
				}
				if o.Answer.Push != c.want || len(p.pushes) != c.pushes || len(ids) != c.ids || len(p.sent()) != 2 {
					t.Errorf("%+v after %d pushes under %d ids; want %s after %d under %d", o.Answer, len(p.pushes), len(ids), c.want, c.pushes, c.ids)
				}
			})
		})
	}
}

// TestPendingAnswersArePushedTogether once that works, except those of an attempt whose
// outcome is unknown, which is repeated first.
func TestPendingAnswersArePushedTogether(t *testing.T) {
	t.Parallel()
	beat(t, func(t *testing.T, p *people) {
		failed := &core.PushError{Text: "blocked"}
		p.errs = []error{core.ErrClosed, core.ErrClosed, nil, failed, failed}
		p.run(0)
		p.reply.Text = "There is mail."
		p.run(1) // repeats the first attempt
		p.run(2)
		if len(p.pushes) != 4 || p.pushes[0] != p.pushes[1] || p.pushes[1] != p.pushes[2] || p.pushes[3].Text != "There is mail." {
			t.Errorf("pushed %+v", p.pushes)
		}
		p.reply.Text = "The disk is full."
		p.run(3)
		p.reply.Text = "OK"
		p.run(4)
		last := p.pushes[len(p.pushes)-1]
		if len(p.pushes) != 6 || !strings.HasPrefix(last.Text, "Beat: these answers could not be sent before.") ||
			strings.Count(last.Text, "There is mail.") != 1 || strings.Count(last.Text, "The disk is full.") != 1 {
			t.Errorf("%d pushes, the last one is %+v", len(p.pushes), last)
		}
		_, all, _ := p.w.Job(t.Context(), "beat")
		for _, o := range all {
			if o.Answer.Push == schedule.Pending || o.Answer.PushID != "" {
				t.Errorf("left is %+v", o.Answer)
			}
		}
	})
}

// TestFailuresAreToldOnce, and again when the reason becomes another.
func TestFailuresAreToldOnce(t *testing.T) {
	t.Parallel()
	beat(t, func(t *testing.T, p *people) {
		p.reply = core.Reply{State: core.Failed, Code: core.CodeNotLoggedIn, Error: "No\x1b login.", Notices: []core.Notice{{Text: "Log in."}}}
		p.run(0)
		p.run(1)
		p.reply.Code = core.CodeUsageLimit
		p.run(2)
		p.reply = core.Reply{State: core.Cancelled, Error: "It was cancelled."}
		p.run(3)
		p.reply = core.Reply{State: core.Failed, Code: core.CodeUsageLimit, Error: "No login."}
		p.run(4)
		if len(p.pushes) != 2 || p.pushes[0].Text != "Beat: No login.\n\nLog in." {
			t.Errorf("pushed %+v", p.pushes)
		}
	})
}

// TestParked: people are told once that a message waits, slots are skipped meanwhile, and
// the answer is pushed when there is one.
func TestParked(t *testing.T) {
	t.Parallel()
	beat(t, func(t *testing.T, p *people) {
		p.why, p.until = "The budget is spent.", make(chan struct{})
		for range 2 {
			if o := p.run(0); o.Outcome != schedule.Sent || o.Answer != nil || o.Why != p.why {
				t.Errorf("the run is %+v", o)
			}
		}
		if o := p.run(1); o.Outcome != schedule.Skipped || o.Status != 0 || !strings.HasSuffix(o.Why, p.why) {
			t.Errorf("the next run is %+v", o)
		}
		p.w.end() // and the next process waits on
		p.w.start(p.options())
		synctest.Wait()
		p.why = ""
		close(p.until)
		synctest.Wait()
		if o := p.run(0); o.Answer == nil || o.Answer.Push != schedule.Pushed || o.Why != "" {
			t.Errorf("the run is %+v", o)
		}
		var told []string
		for _, push := range p.pushes {
			told = append(told, push.Text)
		}
		if want := []string{"Beat: The budget is spent.", "Look."}; !slices.Equal(slices.Compact(told), want) || p.pushes[0].ID != p.pushes[len(p.pushes)-2].ID {
			t.Errorf("pushed %+v", p.pushes)
		}
		if o := p.run(1); o.Outcome != schedule.Sent { // a slot that was skipped may be tried again
			t.Errorf("the run is %+v", o)
		}
	})
}

// TestNothingIsSent where the precheck finds nothing, or there is no text.
func TestNothingIsSent(t *testing.T) {
	t.Parallel()
	beat(t, func(t *testing.T, p *people) {
		p.check = schedule.PrecheckResult{Status: 3, Said: "quiet here"}
		if o := p.run(0); o.Outcome != schedule.Skipped || o.Status != 3 || !strings.Contains(o.Why, "quiet here") {
			t.Errorf("the run is %+v", o)
		}
		p.check = schedule.PrecheckResult{}
		p.text = func() (string, error) { return "", errors.New("no file") }
		if o := p.run(0); o.Outcome != schedule.Refused || !strings.Contains(o.Why, "no file") {
			t.Errorf("the run is %+v", o)
		}
		if len(p.sent()) > 0 {
			t.Errorf("sent %q", p.sent())
		}
	})
}

// TestAnswers of messages that have none of their own.
func TestAnswers(t *testing.T) {
	t.Parallel()
	beat(t, func(t *testing.T, p *people) {
		p.reply = core.Reply{State: core.Answered, Coalesced: true, Into: "carrier"}
		if o := p.run(0); o.Answer.Text != "of both" || o.Answer.Push != schedule.Pushed {
			t.Errorf("the answer is %+v", o.Answer)
		}
		p.reply = core.Reply{State: core.Answered, Text: " \n\x1b"}
		if o := p.run(1); o.Answer.Push != schedule.NotPushed || o.Answer.Problem != "the answer is empty" {
			t.Errorf("the answer is %+v", o.Answer)
		}
	})
}
