package findings

import (
	"testing"

	"bareclaw/observe/rules"
)

// TestLaterLook: another look at the latest request, of which more is known, says what is shown; one at an earlier request
// does not.
func TestLaterLook(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	first := a.request(flaw(6))
	second := a.request(flaw(7))
	a.store.Judge(first)
	a.store.Judge(second)
	second.Matches = []rules.Match{flaw(8)}
	a.store.Judge(second)
	first.Matches = []rules.Match{flaw(9)}
	a.store.Judge(first)
	a.store.save()
	a.open()
	if f := a.only(); f.Description != "8 queries of items" || f.Occurrences != 2 {
		t.Errorf("the finding is %+v", f)
	}
}
