package lanes

import "testing"

func TestAmend(t *testing.T) {
	scenarios(t, map[string]string{
		"what waits": `
			send one two three; begin one; queue two three; amend two TWO; queue TWO three
			amend one late err=not_waiting; amend none late err=not_found; amend two "" err=bad_content
			refuses /no; amend two /no err=bad_content
			down full; amend two lost err=full; up; finish one 1; turns one TWO,three; answer three all
			three answered all; amend two late err=not_waiting`,
		"a source key stays": `
			send one; begin one; send two key=k hash=h; amend two TWO; send again text=two key=k hash=h
			again existing two`,
		"a turn that ends meanwhile": `
			send one two; begin one; slow 1s; amend two TWO; busy; finish one 1; wait 10s; over; turns one TWO`,
		"a crash leaves the one content or the other": `
			send one two; begin one; hold; amend two TWO {err=closed|by=a}; step {0|1}; crash; over; start
			queue {two|TWO}; finish one 1; one answered 1
			turns one {two|TWO}; answer two 2; two answered 2`,
	})
}

func TestRunNow(t *testing.T) {
	scenarios(t, map[string]string{
		"a message that is put first ends the running turn, also for a new process": `
			send one two three four; begin one; first four; first three; queue three four two; interrupted 1
			{wait 0s|restart|crash; start}
			queue three four two; abort one; one cancelled interrupted; first one err=not_waiting
			first none err=not_found
			wait 1s; turns one three,four,two; answer two all; two answered all; queue`,
		"the turn that ran is meant, and no later turn": `
			send one two three; begin one; slow 1s; first three; busy; finish one 1; wait 10s; over
			one answered 1; turns one three,two; interrupted 0
			slow 0s; answer two all; two answered all`,
		"changes at once take their turns": `
			send one m0 m1 m2 m3; begin one; slow 30ms; amend m3 M3; first m3; amend m1 M1; cancel m1; wait 1s
			over; queue M3 m0 m2
			slow 0s; abort one; wait 1s; answer m0 all; m0 answered`,
	})
}
