package lanes

import "testing"

// An agent that cannot be started now, and may be later, is tried again after pauses that grow.
func TestHold(t *testing.T) {
	scenarios(t, map[string]string{
		"a turn waits until the agent is there again": `
			watch; {missing wait="Claude is being updated."|script broken}; send one two; wait 3s
			told held "Claude is being updated." of=one; one open; state running "Claude is being updated." waiting=1
			{found|script}; wait 5s; answer one ok; one answered ok; runs one 1; answer two ok; two answered ok; state ready why=""`,
		"a moment is not worth a word": `
			watch; {missing wait="Claude is being updated."|script broken}; send one; {found|script}; wait 250ms
			answer one ok; one answered ok; told held times=0`,
		"a start that fails for good ends the turn": `
			{missing wait="Claude is being updated."|script broken}; send one two; wait 10s; {missing|script late}; wait 5s
			one failed {agent_missing|agent_timeout}; two failed {agent_missing|agent_timeout}; {found|script}; works`,
		"a turn that waits can be stopped, and its successor cancelled": `
			{missing wait="Claude is being updated."|script broken}; send one two; wait 3s; cancel two; two cancelled cancelled
			interrupt; one cancelled interrupted; {found|script}; wait 5s; works`,
		"a new conversation ends the wait": `
			{missing wait="Claude is being updated."|script broken}; send one; wait 10s; reset; one cancelled channel_reset; {found|script}; works`,
		"the wait goes on after a restart": `
			{missing wait="Claude is being updated."|script broken}; send one; wait 3s; {restart|crash; start}; wait 10s; one open
			{found|script}; wait 5s; answer one ok; one answered ok; runs one 1`,
		"a turn that has begun a tool does not run again": `
			send one two; begin one; tool one; missing wait="Claude is being updated."; die; one failed interrupted
			wait 1m; two open; found; wait 5s; answer two ok; two answered ok; runs one 1`,
		"a turn that only wrote runs again": `
			works; watch; send one; begin one; missing wait="Claude is being updated."; die; wait 10s
			told held of=one; one open; found; wait 5s; answer one ok; one answered ok`,
		"what its sender goes on with joins a turn that waits": `
			{missing wait=Away.|script broken}; send one; wait 3s; send two join; one open; {found|script}; wait 6s; answer two both
			one answered into=two; two answered both; runs two 1`,
		"the records cannot be read meanwhile": `
			works; {missing wait=Away.|script broken}; records unreadable; send one; wait 10s; one open; records readable; {found|script}; wait 6s; answer one ok
			one answered ok; runs one 1`,
		"the storage fails meanwhile": `
			{missing wait=Away.|script broken}; send one; wait 3s; down full; send two; two refused full; {found|script}; wait 6s; up; wait 6s; answer one ok
			one answered ok; runs one 1`,
		"each wait begins with a short pause": `
			missing wait=no; send one; wait 1m; interrupt; one cancelled interrupted; found; wait 5m; works; die
			missing wait=no; send two; found; wait 250ms; answer two ok; two answered ok`,
	})
}
