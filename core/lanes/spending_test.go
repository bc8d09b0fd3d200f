package lanes

import "testing"

func TestDailyBudget(t *testing.T) {
	scenarios(t, map[string]string{
		"messages wait until midnight, and then run by themselves": `
			with budget=1; send one two; begin one; pays one ok 0.75; spent 0.75; begin two; send three steer
			turns one two three
			background bg total=1.25; send four steer; turns one two three; watch; pays two,three ok 1.5
			two answered ok; three answered into=two; spent 1.5
			told parked "The daily budget of $1.00 (BUDGET) is used up ($1.50 spent today). What waits runs at 2000-01-0" of=four
			state parked "daily budget" until=midnight waiting=1; send five
			state parked "daily budget" until=midnight waiting=2; wait midnight-1ns
			four open; five open; wait 1ns; spent 0; turns one two three four,five; pays five "next day" 1.75
			five answered "next day"; spent 0.25; works`,
		"an idle channel is parked with its next message, which is told why it waits": `
			with budget=1; send one; begin one; pays one ok 2; one answered ok; state ready; watch in=d
			send two in=d {by=a|key=k}; two open
			told parked "daily budget" of=two; live 1; wait 24h; answer two ok; two answered ok`,
		"a new process knows what was spent, and counts nothing twice": `
			with budget=1; send one two; begin one; hold; pays one ok 1.5; background bg total=1.75; crash
			start; wait 1s; spent 1.75
			state parked "daily budget" until=midnight waiting=1; crash; start; wait 1s; spent 1.75
			detach; option budget=2; start; pays two more 2; two answered more; spent 2`,
	})
}

func TestCost(t *testing.T) {
	scenarios(t, map[string]string{
		"the growth of the total": `
			send a; pays a x 0.5; a answered x cost=0.5; background bg total=0.75; wait 1s; send b; pays b x 1
			b answered x cost=0.25
			restart; send c; pays c x 1.5; c answered x cost=0.5; die; send d; pays d x 1.75
			d answered x cost=0.25`,
		"sessions": `
			send one; pays one ok 1; one answered ok; send two; begin two; tool two; die; wait 1s; send three
			pays three ok 3
			three answered ok cost=2; spent 3; die; wait 1s; send less; begin less; restart
			pays less ok 1.25 cost=0.25; less answered ok cost=0.25
			spent 3.25; restart; spent 3.25; send again; pays again ok 1.75 cost=0.5; again answered ok cost=0.5
			spent 3.75
			send four; fail four api_error; four failed api_error; send /clear; begin /clear; clear another
			finish /clear "" session=another
			/clear answered ""; send five; pays five ok 0.5 session=another; five answered ok cost=0.5
			spent 4.25`,
		"a turn that is put back was paid all the same": `
			send one two; begin one; fail one usage_limit total=0.5; wait 15m; begin two
			fail two usage_limit total=0.75; wait 15m; two open; spent 0.75
			pays two ok 1; two answered ok; spent 1`,
		"an older background result that is replayed": `
			send one; begin one; acks lost; pays one ok 1 cost=1; one answered ok; background bg total=2 cost=1
			spent 2; send two; pays two ok 3 cost=1
			two answered ok; spent 3; crash; start; wait 1s; spent 3; acks kept; send three
			pays three ok 4 cost=1; three answered ok cost=1; spent 4`,
		"what could not be written at once is written in order": `
			send one; begin one; down full; background bg total=1 cost=1; wait 5s; pays one ok 3 cost=2; up
			wait 10s; one answered ok; spent 3
			restart; send two; pays two ok 4 cost=1; two answered ok cost=1; spent 4`,
		"a process is replaced while the ledger cannot be written": `
			send one; begin one; send two steer; down full; pays one ok 2 cost=2; die; wait 1s; up; wait 10s
			pays two ok 3 cost=1
			one answered ok; two answered ok cost=1; spent 3`,
	})
}

// Between turns a session is replaced when it has spent a tenth of what one turn may, or all of it.
func TestTurnBudget(t *testing.T) {
	scenarios(t, map[string]string{
		"a tenth is spent": `
			with turnbudget=1; send one; pays one ok 0.0625; one answered ok; send two; begin two; process 1
			send three
			fail two max_budget total=1.25; two failed max_budget; wait 2s; gently 1
			process 2 resumed session=1; pays three ok 1.5
			three answered ok cost=0.25; wait 2s; gone 2; works`,
		"a background task keeps the session while something is left": `
			with turnbudget=1; send one; begin one; tasks 1; pays one ok 0.5; wait 2s; send two; begin two
			process 1; pays two ok 0.5; restart; wait 2s
			alive 1; tasks 0; wait 32s; gone 1; send three; begin three; tasks 1
			background x error=max_budget total=2; pays three ok 2; wait 2s
			send four; begin four; process 3; pays four ok 2.25; four answered ok`,
		"the news of a task": `
			with turnbudget=1; send one; begin one; tasks 1; pays one ok 0.5; one answered ok; tasks 0; wait 10s
			say type=assistant; wait 1m
			{send two|wait 1ms}; wait 1ms; gently 1 not; background news total=0.75; wait 1s; backgrounds news`,
		"the news of a task, after a restart": `
			with turnbudget=1; send one; begin one; tasks 1; pays one ok 0.01; one answered ok; tasks 0
			say type=assistant; say times=130 type=system
			restart; wait 10s; background news total=0.02; wait 1s; backgrounds news; wait 31s; gone 1`,
	})
}

// A login that is refused, or a usage limit, parks a channel.
func TestPark(t *testing.T) {
	scripts := map[string]string{
		"a refused login ends the turn at once": `
			send one two; begin one; http 401; http 401; interrupted 1; watch; abort one
			one failed not_logged_in "the API answered 401"
			told parked "log in" of=two; state parked "log in" until=5m waiting=1
			position two 1; wait 5m; process 2
			answer two ok; two answered ok; state ready why=""`,
		"an agent that does not obey is ended, with the same code": `
			send one; begin one; http 401; wait 5s; one failed not_logged_in "log in"`,
		"a new message is a reason to try, and fails if that does": `
			send one two; fail one not_logged_in; one failed not_logged_in; wait 1m; send three; turns two,three
			begin two; http 401; abort two
			three failed not_logged_in "log in"; state parked "log in" until=5m waiting=1; wait 5m
			turns two; fail two not_logged_in
			state parked "log in" until=5m waiting=1; send four; answer four ok; two answered into=four
			four answered ok`,
		"a turn with a tool is not run again": `
			send one two; fail one not_logged_in; wait 5m; begin two; tool two; fail two usage_limit
			two failed usage_limit`,
		"a usage limit parks until its end": `
			send one two; begin one; {fail one usage_limit until=3h|limited 3h; fail one usage_limit}
			one failed usage_limit notices=parked; watch
			send three; told queued "tried again at"; state parked "usage limit" until=3h waiting=2
			position two 1; position three 2; wait 3h; turns one two,three
			answer three ok; two answered into=three; three answered ok`,
		"a limit that lasts longer": `
			send one two; fail one usage_limit until=1h; wait 1h; fail two usage_limit until=1ns
			state parked "usage limit" until=1m waiting=1; wait 1m
			fail two usage_limit; state parked "usage limit" until=15m waiting=1; wait 15m; answer two ok
			two answered ok`,
		"a new process finds out by trying once": `
			send one two three; fail one usage_limit until=1h; wait 1m; {restart|crash; start}
			turns one two,three; fail two usage_limit until=59m
			state parked "usage limit" until=59m waiting=2; wait 1h; answer two ok; two answered
			three answered ok`,
		"a crash just when messages are put back: they fail": `
			send one two; fail one usage_limit until=1h; wait 1h; hold; fail two usage_limit until=1h; crash
			start; wait 1s; two failed usage_limit`,
		"a new process does not know what the turn had done": `
			send one; begin one; tool one; say times=64 type=system; crash; start; fail one usage_limit until=1h
			one failed usage_limit`,
		"but a turn that is handed over again is known": `
			send one; crash; die; start; fail one usage_limit until=1h; one waiting; wait 1h; answer one ok
			one answered ok`,
		"notices are told with the reply that there is in the end": `
			send one two; fail one not_logged_in; wait 1s; forget; wait 5m; fail two not_logged_in; wait 5m
			answer two ok; two answered ok notices=fresh_session`,
		"what waits can be cancelled, and the channel closed": `
			send one two three; fail one usage_limit until=1h; cancel two
			state parked "usage limit" until=1h waiting=1; reset; three cancelled channel_reset; works`,
		"a message that is put back is not used before that is written": `
			send one two; fail one not_logged_in; wait 5m; refuse requeue storage 1000; fail two not_logged_in
			cancel two err=not_waiting; send three
			wait 1m; two open; three open; unlogged "turn not written"; up; wait 10s; turns two,three
			answer three ok; two answered into=three; three answered ok`,
		"a turn whose record cannot be read may have begun a tool": `
			send one two; fail one not_logged_in; wait 5m; begin two; http 401; records unreadable; wait 5s
			two failed not_logged_in "log in"`,
	}
	scenarios(t, scripts)
}

// The wall clock may jump: nothing lasts less than no time, nothing changes its order, and nothing waits longer for it.
func TestClockJumps(t *testing.T) {
	scenarios(t, map[string]string{
		"back and forth": `
			with approvaltime=1m timeout=1h; send one ask; begin one; send two; ask r1; pending r1; clock -24h
			send three; restart; send four; wait 1m
			approval r1 expired; finish one ok; one answered ok took=0s; clock 24h; answer four ok; works
			turns one two,three,four "still there?"`,
		"the machine sleeps beyond the end of a limit: what waits is tried soon": `
			send one two; fail one usage_limit until=5h; state parked limit until=5h waiting=1; clock 8h
			wait 1m; answer two ok; two answered ok`,
		"the machine sleeps beyond the end of the day: the first message shows the time": `
			with budget=1; send one two; pays one ok 1; one answered ok; two open; clock 24h; send three
			turns one two,three; answer three ok
			two answered into=three; three answered ok`,
	})
}

// Whoever waits for the outcome of a message is told when its channel is parked.
func TestWaiterOfParkedChannel(t *testing.T) {
	scenarios(t, map[string]string{
		"the daily budget": `
			with budget=1; send one wait; begin one; send two wait; two unknown; pays one ok 1; one answered ok
			two accepted; send three wait; three accepted
			two parked 1 "daily budget" until=midnight; three parked 2 "daily budget" until=midnight; await two
			await three; two waiting; wait 24h
			await three; busy; answer three ok; over; three answered ok`,
		"a message that comes is a try": `
			send one; begin one; send two wait; fail one not_logged_in; two parked 1 "not logged in" until=5m
			wait 1m; send three wait; three unknown
			fail three not_logged_in; three failed not_logged_in`,
		"the second park": `
			send one two; fail one usage_limit; two parked 1; wait 15m; await two; busy
			fail two usage_limit until=1h; over; two waiting; wait 1h
			answer two ok; two answered ok`,
	})
}
