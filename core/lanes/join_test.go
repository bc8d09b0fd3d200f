package lanes

import "testing"

// A message with the mode join continues what its sender has just sent: the turn is begun again with
// both, or is handed the message, and is never done twice.
func TestJoinMode(t *testing.T) {
	scenarios(t, map[string]string{
		"nothing was done: both are one turn": `
			watch; send one user=ann; begin one; send two join user=ann; interrupted 1; abort one; one open; turns one one,two
			answer two both; one answered into=two; two answered both; wait 1m; alive 1; process 1; interrupted 1`,
		"of somebody else: it waits": `
			send one user=ann; begin one; send two join user=bob; interrupted 0; answer one ok; answer two ok
			one answered ok; two answered ok; turns one two`,
		"a tool was begun: the turn is handed the message": `
			send one; begin one; tool one; send two join; interrupted 0; begin two; finish one,two both; turns one two
			one answered both; two answered into=one`,
		"a tool is begun meanwhile: nothing is done twice": `
			send one; begin one; send two join; interrupted 1; tool one; abort one
			one cancelled interrupted "next message of the same sender"; answer two ok; two answered ok; turns one two`,
		"the turn ends by itself meanwhile": `
			send one; begin one; send two join; interrupted 1; finish one ok; one answered ok; answer two ok; two answered ok`,
		"nothing runs": `send one join; answer one ok; one answered ok; interrupted 0`,
		"somebody stops the turn meanwhile": `
			send one; begin one; send two join; interrupted 1; interrupt one; abort one; over; one cancelled interrupted "on request"
			answer two ok; two answered ok`,
		"the agent does not obey in time": `
			send one; begin one; send two join; wait 1300ms; gone 1; answer two both; one answered into=two; two answered both`,
		"the agent ends without a result": `
			send one; begin one; send two join; done one; wait 500ms; answer two both; one answered into=two; two answered both`,
		"the turn is being frozen, or the agent started": `
			{hold|block start}; send one; send two join; {release|unblock start}; answer two both
			one answered into=two; two answered both`,
		"a third one": `
			send one; begin one; send two join; abort one; begin two; send three join; interrupted 2; abort two; answer three all
			one answered into=three; two answered into=three; three answered all`,
		"others wait": `
			send one user=ann; begin one; send other user=bob; send two join user=ann; abort one; answer two all
			one answered into=two; other answered into=two; two answered all`,
		"a command": `
			send /compact; begin /compact; send two join; interrupted 0; answer /compact ok; answer two ok; two answered ok`,
		"the gateway is killed before the turn has ended": `
			send one; begin one; send two join; interrupted 1; crash; start; abort one
			one cancelled interrupted; answer two ok; two answered ok`,
		"the gateway is killed with both in the queue": `
			send one; begin one; send two join; hold; abort one; release; crash; start; answer two both
			one answered into=two; two answered both`,
		"the turn waits behind one of the agent's own, which is not cut": `
			works; wake; {say type=assistant|wait 1s}; send one; send two join; interrupted 0; stray tick; wait 1s; backgrounds tick
			answer one ok; answer two ok; one answered ok; two answered ok; interrupted 0`,
		"the turn waits behind a report, which is not cut": `
			works; tasks 1; say type=assistant; send one; send two join; interrupted 0; background tick; tasks 0; wait 1s
			answer one ok; answer two ok; one answered ok; two answered ok; interrupted 0`,
		"a new conversation ends both, whatever is being written": `
			works; die; forget; refuse update storage 1000; send one; wait 1s; send two join; reset; wait 1s; up; wait 10s
			one cancelled channel_reset; two cancelled channel_reset; works`,
		"the daily budget is spent: the turn goes on, and the message waits": `
			with budget=1; send zero in=d; begin zero in=d; send one; begin one; pays zero ok 2; send two join; interrupted 0; finish one ok
			one answered ok; two open; state parked "daily budget" until=midnight waiting=1`,
		"the disk is full meanwhile": `
			send one; begin one; send two join; down full; abort one; wait 2s; up; wait 10s; answer two both
			one answered into=two; two answered both`,
	})
}
