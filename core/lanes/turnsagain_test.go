package lanes

import "testing"

// TestReplay: the gateway is killed between two turns, and the host replays events. Each is told once, as of its own turn.
func TestReplay(t *testing.T) {
	const resumed = `crash; block attach; start; watch; unblock attach; `
	scenarios(t, map[string]string{
		"a settled turn, from wherever it was acknowledged": `
			send one; acks lost; begin one; {wait 0s|ack}; say first; tool one; http 401; send two
			finish one ok; one answered ok;` + resumed + `streamed
			interrupted 1; acks kept; begin two; say second; finish two done; streamed two:started two:second two:line two:result`,
		"a turn that runs on": `
			send one; begin one; acks lost; say first; finish one ok; one answered ok; send two; begin two
			say second; {wait 0s|ack}; say third;` + resumed + `
			streamed {two:started two:second two:third|two:third}; acks kept; tool two; streamed two:line
			finish two done; two answered done`,
		"a turn that runs again in another process has not begun there": `
			send one; begin one; watch; die; wait 1s; say hello; begin one; say again
			streamed hello one:started one:again; finish one ok; one answered ok`,
	})
}
