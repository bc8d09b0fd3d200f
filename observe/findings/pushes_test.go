package findings

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/observe/rules"
)

// wantNews ends the test if people must be told something else, and tells it.
func (a *app) wantNews(want ...ChangeKind) {
	a.t.Helper()
	var got []ChangeKind
	push, _ := a.store.Pushes().NextPush()
	for _, c := range push.Changes {
		got = append(got, c.Kind)
	}
	if !slices.Equal(got, want) {
		a.t.Fatalf("told %q, want %q", got, want)
	}
	a.store.Pushes().Delivered(push)
	if left := a.untold(); len(left) > 0 {
		a.t.Fatalf("told twice: %+v", left)
	}
}

// untold returns what people must be told.
func (a *app) untold() []Change {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	return a.store.pushes.untold()
}

// TestPushSurvivesKill: until a push is delivered it is the same one, whatever else is found, and a cleared
// store is another one.
func TestPushSurvivesKill(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	if push, ok := a.store.Pushes().NextPush(); ok {
		t.Errorf("nothing was found, and told is %+v", push)
	}
	request := a.request(flaw(7))
	request.At = time.Now()
	a.store.Judge(request)
	first, ok := a.store.Pushes().NextPush()
	if !ok {
		t.Fatal("nothing to tell")
	}
	other := a.request(rules.Match{Description: rules.Describe("another problem")})
	a.store.Judge(other)
	a.store.save()
	a.open()
	again, _ := a.store.Pushes().NextPush()
	if first.Key != again.Key || asJSON(t, first) != asJSON(t, again) {
		t.Errorf("the push was\n%+v\nand became\n%+v", first, again)
	}
	if untold := a.untold(); len(untold) != 2 {
		t.Errorf("untold are %+v", untold)
	}
	a.store.Pushes().Delivered(again)
	a.open()
	second, ok := a.store.Pushes().NextPush()
	if !ok || len(second.Changes) != 1 || second.Changes[0].Finding.Description != "another problem" || second.Key == first.Key {
		t.Errorf("the next push is %+v", second)
	}
	key := second.Changes[0].Key()
	if count := a.store.Clear(); count != 2 {
		t.Errorf("%d findings were cleared", count)
	}
	a.store.Pushes().Delivered(second)
	a.store.Judge(other)
	late := a.request(rules.Match{Description: rules.Describe("another problem")})
	a.open()
	if all := a.store.All(); len(all) != 0 {
		t.Errorf("after the store was cleared: %+v", all)
	}
	a.store.Judge(late)
	third, ok := a.store.Pushes().NextPush()
	if !ok || third.Changes[0].Key() == key {
		t.Errorf("the same finding in a cleared store: %+v", third)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	check.OK(t, err)
	return string(b)
}

// TestNotTold: nobody is told of what nobody will fix, nor of what is good to know only, nor of what came and went.
func TestNotTold(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.store.Judge(a.request(flaw(7)))
	a.clean(CleanHitsForResolution)
	a.wantNews()
	a.store.Judge(a.request(flaw(7)))
	_, err := a.store.Report(a.only().ID, WontFix, "")
	check.OK(t, err)
	a.wantNews()
	a.clean(CleanHitsForResolution)
	a.store.Judge(a.request(flaw(7)))
	a.wantState(Open)
	a.wantNews()
	info := a.request(rules.Match{Description: rules.Describe("large")})
	info.Rule.Severity = rules.Info
	a.store.Judge(info)
	a.wantNews()
}
