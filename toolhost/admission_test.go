package toolhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

// TestAdmission: calls wait for their turn, not for ever, no tool and no channel takes all places, and nothing
// is kept of those that have no calls.
func TestAdmission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission()
		var entered []func()
		enter := func(tool, channel string) func() {
			t.Helper()
			leave, err := a.enter(t.Context(), tool, core.ChannelKey(channel))
			if err != nil {
				t.Fatal(err)
			}
			leave = sync.OnceFunc(leave)
			entered = append(entered, leave)
			return leave
		}
		refused := func(tool, channel string) {
			t.Helper()
			began := time.Now()
			_, err := a.enter(t.Context(), tool, core.ChannelKey(channel))
			if err == nil || !strings.Contains(err.Error(), tool+" was not called, because too many calls") || time.Since(began) != admissionTimeout {
				t.Errorf("%s: %v after %s", tool, err, time.Since(began))
			}
		}
		leave := enter("many", "")
		for range maxCallsOfTool - 1 {
			enter("many", "")
		}
		refused("many", "")
		enter("many", "tg-1")()
		for i := range maxCallsOfCaller - maxCallsOfTool {
			enter(fmt.Sprint("few", i/maxCallsOfTool), "")
		}
		waiting := make(chan struct{})
		go func() { // its own share is full, and it keeps nobody else from the tool
			defer close(waiting)
			for range maxCallsOfTool {
				go func() { _, _ = a.enter(t.Context(), "other", "") }()
			}
		}()
		synctest.Wait()
		<-waiting
		enter("other", "tg-1")()
		time.Sleep(admissionTimeout)
		refused("other", "")
		for i := range maxCalls - maxCallsOfCaller {
			enter(fmt.Sprint("other", i/maxCallsOfTool), fmt.Sprint("tg-", i/maxCallsOfCaller))
		}
		refused("other", "tg-9")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.enter(ctx, "other", "tg-9"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has gone: %v", err)
		}
		time.AfterFunc(time.Second, leave)
		began := time.Now()
		enter("other", "tg-9")
		if took := time.Since(began); took != time.Second {
			t.Errorf("waited for %s", took)
		}
		for _, leave := range entered {
			leave()
		}
		if len(a.tools.byName) > 0 || len(a.callers.byName) > 0 || !a.all.TryAcquire(maxCalls) {
			t.Errorf("kept when all have left: %v, %v", a.tools.byName, a.callers.byName)
		}
	})
}
