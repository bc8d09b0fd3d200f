package lanes

import "testing"

// TestNextCondition: operations come before turns, and turns before a park.
func TestNextCondition(t *testing.T) {
	t.Parallel()
	p := &park{code: "limit"}
	for _, c := range []struct {
		operation condition
		turns     int
		parked    *park
		want      string
	}{
		{noOperation, 0, nil, "idle: "},
		{noOperation, 0, p, "parked: limit"},
		{noOperation, 2, p, "running: turns in flight"},
		{attaching, 1, nil, "starting: looking for the session host"},
		{recovering, 1, p, "starting: recovering"},
		{endingUnused, 0, p, "draining: ending the unused session"},
		{resetting, 1, nil, "draining: closing the channel"},
		{leaving, 1, p, "closed: closing"},
	} {
		if got := nextCondition(c.operation, c.turns, c.parked); got.state.String()+": "+got.reason != c.want {
			t.Errorf("%v, %d turns, %v: %v", c.operation, c.turns, c.parked, got)
		}
	}
}
