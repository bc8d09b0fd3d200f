package lanes

import "testing"

// A channel is removed with its history, and without taking away an outcome that nobody was told.
func TestRemove(t *testing.T) {
	scenarios(t, map[string]string{
		"what was spent stays, and the channel begins anew": `
			with budget=10; send one; pays one ok 1; remove kept=0; remove err=not_found; spent 1; {restart|crash; start}; spent 1
			send two; process 2 new session=not1; pays two ok 1; two answered ok cost=1; spent 2; works`,
		"a channel with messages stays": `
			send one two; begin one; remove err=busy; finish one ok; answer two ok; one answered ok; two answered ok`,
		"a turn that waits for its agent": `
			missing wait=Away.; send one; wait 3s; remove err=busy; found; wait 5s; answer one ok; one answered ok`,
		"a turn that is to begin again": `
			send one; begin one; send two join; remove err=busy; abort one; remove err=busy; answer two ok
			one answered into=two; two answered ok`,
		"an outcome that is not delivered yet stays until it is": `
			send one by=chat deliver; answer one ok; remove kept=1; deliver chat reply:one; {restart|crash; start}
			one answered ok recorded; deliver chat reply:one`,
		"an outcome that is not on record yet": `
			send one by=chat deliver; begin one; refuse settle storage 5; finish one ok; remove kept=1; wait 1m
			one answered ok recorded; deliver chat reply:one; works`,
		"the channel is wanted while it is removed": `
			works; hold; remove; send two; release; answer two ok; two answered ok`,
		"a retired channel": `with idle=1s; send one; answer one ok; wait 1m; remove kept=0; remove err=not_found`,
	})
}
