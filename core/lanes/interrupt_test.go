package lanes

import "testing"

func TestInterrupt(t *testing.T) {
	scenarios(t, map[string]string{
		"the agent ends the turn on request, and keeps the session": `
			send one two; begin one; interrupt one took=100ms; interrupt took=100ms; interrupted 1; busy
			wait 100ms; abort one; over
			one cancelled interrupted "on request"; answer two ok; two answered ok; wait 1m; alive 1; process 1`,
		"a request names its turn": `
			interrupt err=not_found; send one; answer one ok; send two; begin two
			interrupt one err=nothing_runs
			answer two ok; two answered ok; interrupt err=nothing_runs; interrupted 0`,
		"an agent that does not obey in time is ended": `
			send one; begin one; tool one; send two; interrupt took=1.3s; wait 1299ms; one open; wait 1ms; over
			one cancelled interrupted "Done before that: Bash (make)."; answer two ok; two answered ok`,
		"the turn ends by itself meanwhile": `
			send one; begin one; interrupt; finish one "done already"; over; one answered "done already"
			wait 1m; alive 1`,
		"the turn is being frozen, or the agent started": `
			{hold|block start|hold; block start}; send one; interrupt; {release|unblock start|unblock start
			release}; over
			one cancelled interrupted; works; turns "still there?"`,
		"the lane recovers": `
			send one; begin one; block fate; die; interrupt one; unblock fate; over; one cancelled interrupted
			works; runs one 1`,
		"a new process looks for the host": `
			send one; begin one; crash; block attach; start; interrupt; unblock attach; interrupted 1; abort one
			over; one cancelled interrupted`,
		"the turn cannot be written": `
			send one; begin one; send accepted; refuse begin full; result one ok; hold; done one; interrupt
			release; over
			accepted cancelled interrupted; refuse begin full; hold; send new; interrupt; release; over
			new refused full
			works; turns one "still there?"`,
		"the agent cannot be started": `
			missing; block start; hold; send one; interrupt; unblock start; release; over
			one cancelled interrupted`,
		"the agent has not begun the turn: it is asked once more when it has": `
			send one; ready; interrupt; begin one; interrupted 2; abort one; over; one cancelled interrupted`,
		"the agent is starting, and would begin the turn: it is ended": `
			send one; send two steer; interrupt took=0s; interrupted 0 1; gone 1; one cancelled interrupted
			answer two ok; two answered ok; runs one 0`,
		"the agent ends the turn without a result": `
			send one; begin one; tool one; interrupt; done one; wait 500ms; over
			one cancelled interrupted "Done before that: Bash (make)."; works; process 1`,
		"the gateway shuts down": `send one; begin one; interrupt err=closed; leave; over`,
		"the outcome cannot be written": `
			send one; begin one; {wait 0s|send two steer}; down full; interrupt err=unwritten,full; wait 2s
			over; one open
			up; wait 10s; one cancelled interrupted; wait 1m`,
		"the disk is full, and the turn waits for a session": `
			works; send one; begin one; unreadable full; die; wait 1m; interrupt; one cancelled interrupted
			unreadable; works`,
	})
}

// A message with the mode interrupt ends the turn that ran when the message came, and no later turn.
func TestInterruptMode(t *testing.T) {
	scenarios(t, map[string]string{
		"a newer message": `
			send one; begin one; send urgent interrupt; interrupted 1; abort one
			one cancelled interrupted "newer message"
			answer urgent ok; urgent answered ok; send later interrupt; answer later ok; wait 1m; interrupted 1`,
		"a crash before anything came of it": `
			send one; begin one; unheard; send urgent interrupt; interrupted 0; crash; heard; {wait 0s|die}
			start; {interrupted 1; abort one|wait 0s}
			one cancelled interrupted "newer message"; answer urgent ok; urgent answered ok`,
		"a crash, and a later turn": `
			send one; begin one; send /context; unheard; send urgent interrupt; crash; heard; finish one ok
			start; one answered ok
			begin /context; wait 1m; interrupted 0; answer /context context; /context answered context
			answer urgent ok; urgent answered ok`,
		"a crash, and the agent is at another turn": `
			send one; begin one; send two steer; unheard; send urgent interrupt; crash; heard; finish one ok
			begin two; start; wait 1m
			one answered ok; interrupted 0; answer two both; two answered both; answer urgent ok
			urgent answered ok`,
		"a slow disk, and a later turn": `
			send one; begin one; send /context; hold; send urgent interrupt; finish one ok; release
			begin /context; wait 1m; interrupted 0
			answer /context context; /context answered context; answer urgent ok; urgent answered ok`,
		"the turn of the message itself": `
			send one; begin one; hold; send urgent interrupt; finish one ok; release; wait 1ms; one answered ok
			answer urgent ok; urgent answered ok`,
	})
}

func TestTimeout(t *testing.T) {
	scenarios(t, map[string]string{
		"a turn that takes too long": `
			with timeout=1m; send one; begin one; send two; wait 59999ms; interrupted 0; wait 1ms; interrupted 1
			abort one
			one failed timeout "longer than TIMEOUT allows"; wait 50s; answer two ok; two answered ok; wait 1h
			interrupted 1`,
		"the time bounds the turn, however often it is handed over": `
			with timeout=1m; send one; begin one; wait 40s; die; begin one; wait 21300ms; one failed timeout
			works`,
		"a turn whose tool only an earlier process has seen can be continued, and claude is told so": `
			with timeout=1m; send "build it"; begin "build it"; tool "build it"; say times=130 type=user
			restart; wait 61s; interrupted 1
			abort "build it"; "build it" failed timeout; pending continue; retry "build it" again
			handed "cut short"`,
	})
}

// A turn of which nothing is heard.
func TestStall(t *testing.T) {
	scenarios(t, map[string]string{
		"the channel is told, once for each silence": `
			with stall=10m; watch; send one; begin one; wait 599s; tool one call=t1; wait 599s
			told stalled times=0; wait 1s
			told stalled "10m0s (last known: Bash: make)" of=one; marked one stalled; log "turn is stuck"
			wait 1h; told stalled times=0
			interrupted 0; alive 1; say type=assistant; wait 10m; told stalled; answer one ok; one answered ok
			wait 1h; told stalled times=0`,
		"never": `with action=kill; send one; begin one; wait 1000h; answer one slow; one answered slow`,
		"a tool is given the time that it asks for": `
			with stall=10m action=kill; send one; begin one; tool one call=long for=1h
			state running activity=Bash; tool one call=short for=1m
			tooled short; wait 4199s; one open; tooled long; wait 599s; one open; wait 1s
			one failed stalled "Its process was ended"`,
		"a tool that has ended": `
			with stall=10m; watch; send one; begin one; tool one call=long for=1h; tooled long; wait 10m
			told stalled "after Bash: make"; state running activity=""`,
		"a person decides": `
			with stall=10m action=kill approvaltime=5h; send one ask; begin one; ask r; wait 4h; decide r allow
			wait 599s; one open; answer one ok; one answered ok`,
		"the turn is interrupted": `
			with stall=10m action=interrupt; send one; begin one; send two; wait 10m; interrupted 1; abort one
			one failed stalled "was interrupted"; answer two ok; two answered ok; process 1`,
		"the agent does not obey, and nothing is begun before it is gone": `
			with stall=10m action=interrupt; send one; begin one; tool one call=t; send two; deaf; wait 665s
			one open; two open; process 1
			die; one failed stalled "Done before that: Bash (make)."; answer two ok; two answered ok`,
		"somebody interrupts a turn that is being ended": `
			with stall=10m action=interrupt; send one; begin one; wait 10m; interrupt one; wait 2s; over
			one failed stalled`,
		"the process is ended": `
			with stall=10m action=kill; send one; begin one; {wait 0s|restart}; wait 10m; wait 1s
			one failed stalled "Its process was ended"
			interrupted 0; works; process - resumed session=1`,
		"the host cannot keep what is said": `
			with stall=10m action=kill; watch; send one; begin one; say type=status; kept some; full; kept one
			state running why=""
			full "no space is left"; state running "no space is left" blocked; wait 30m
			told stalled "no space is left" of=one
			say type=status; state running "" blocked why=""; finish one ok; one answered ok; wait 1m`,
		"the host cannot keep the result that names a folded turn, whose end is acknowledged then": `
			send one; begin one; {send two steer|wait 0s}; down full; lax; done {two|one}; full
			kept {noend|end}; up; {finish one,two both|wait 0s}; wait 1m`,
	})
}
