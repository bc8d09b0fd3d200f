package toolhost

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestAdmission: calls wait for their turn, not for ever, no tool takes all places, and nothing is kept
// of tools that have no calls.
func TestAdmission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission()
		var entered []func()
		enter := func(tool string) func() {
			t.Helper()
			leave, err := a.enter(t.Context(), tool)
			if err != nil {
				t.Fatal(err)
			}
			leave = sync.OnceFunc(leave)
			entered = append(entered, leave)
			return leave
		}
		refused := func(tool string) {
			t.Helper()
			began := time.Now()
			_, err := a.enter(t.Context(), tool)
			if err == nil || !strings.Contains(err.Error(), tool+" was not called, because too many calls") || time.Since(began) != admissionTimeout {
				t.Errorf("%s: %v after %s", tool, err, time.Since(began))
			}
		}
		leave := enter("many")
		for range maxCallsOfTool - 1 {
			enter("many")
		}
		refused("many")
		for range maxCalls - maxCallsOfTool {
			enter("other")
		}
		refused("other")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.enter(ctx, "other"); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that has gone: %v", err)
		}
		time.AfterFunc(time.Second, leave)
		began := time.Now()
		enter("third")
		if took := time.Since(began); took != time.Second {
			t.Errorf("waited for %s", took)
		}
		for _, leave := range entered {
			leave()
		}
		if len(a.tools) > 0 || !a.all.TryAcquire(maxCalls) {
			t.Errorf("kept when all have left: %v", a.tools)
		}
	})
}
