package lanes

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// TestPanic: a panic in a lane fails the messages of its channel. The channel can be used
// again, and other channels and the process notice nothing.
func TestPanic(t *testing.T) {
	t.Parallel()
	for method, code := range map[string]string{"compose": core.CodeInternal, "hand": core.CodeInternal, "fate": core.CodeInternal, "start": core.CodeInternal} {
		t.Run(method, func(t *testing.T) {
			play(t, Options{}, func(t *testing.T, w *world) {
				other := w.submit("elsewhere", func(s *core.Submission) { s.Channel = "other" })
				synctest.Wait()
				var failed []*core.Ticket
				if method != "start" {
					m, h, id := w.begun("one")
					failed = append(failed, w.submit("two"))
					if method == "fate" {
						failed = append(failed, m)
					}
					w.agent.mu.Lock()
					w.agent.panicIn = method
					w.agent.mu.Unlock()
					if method == "fate" {
						h.die()
					} else {
						h.finish(id, "ok")
						w.wants(m, core.Answered, "", "ok")
					}
				} else {
					w.agent.mu.Lock()
					w.agent.panicIn = method
					w.agent.mu.Unlock()
					failed = append(failed, w.submit("one"))
				}
				w.after(time.Minute)
				for _, m := range failed {
					w.wants(m, core.Failed, code, internalText)
				}
				w.works()
				oh := w.hostOf("other")
				oh.answer(oh.handed()[0], "ok")
				w.wants(other, core.Answered, "", "ok")
				if log := w.log.String(); !strings.Contains(log, "a fault in "+method) || !strings.Contains(log, "channel.go") {
					t.Error("the log has no stack")
				}
			})
		})
	}
}

// TestPanicBeforeAcceptance: a message is refused if its lane panics before the message is
// accepted.
func TestPanicBeforeAcceptance(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.agent.panicIn = "compose"
		_, err := w.m.Submit(t.Context(), submission("one"))
		w.wantErr(err, errInternal)
		w.works()
	})
}
