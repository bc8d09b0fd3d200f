package core

import (
	"testing"
	"time"
)

func TestActivity(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var a Activity
	step := func(what string, act func(), busy, news bool) {
		t.Helper()
		if act(); a.Busy() != busy || a.NewsUntil.IsZero() == news {
			t.Errorf("%s: %+v", what, a)
		}
	}
	step("in a turn", func() { a.Speaks(true) }, false, false)
	step("its end", func() { a.TurnEnds() }, false, false)
	step("a task", func() { a.SetTasks(1, now) }, true, false)
	step("its end", func() { a.SetTasks(0, now) }, false, true)
	step("no task still", func() { a.SetTasks(0, now.Add(time.Hour)) }, false, true)
	if want := now.Add(NewsGrace); !a.NewsUntil.Equal(want) {
		t.Errorf("news may begin until %s, want %s", a.NewsUntil, want)
	}
	step("the news", func() { a.Speaks(false) }, true, true)
	step("their end", func() { a.TurnEnds() }, false, false)
}
