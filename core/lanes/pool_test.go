package lanes

import (
	"context"
	"testing"
	"time"
)

// A session that was asked to make room, and is in use again by then, is kept;
// another one makes room.
func TestSessionInUseMakesNoRoom(t *testing.T) {
	play(t, Options{MaxSessions: 2}, func(t *testing.T, w *world) {
		a, b := w.served("a"), w.served("b")
		la, _ := w.m.lanes.find("a")
		la.post(func() { // it is put to use in the moment in which it is asked
			la.beginOperation(recovering)
			if _, err := w.m.Submit(context.Background(), submission("hello", in("c"))); err != nil {
				t.Error(err)
			}
		})
		w.after(2 * time.Second)
		if !a.alive() || b.alive() {
			t.Errorf("a alive: %v, b alive: %v", a.alive(), b.alive())
		}
		la.post(func() { la.endOperation() })
		w.served("a")
	})
}

func TestSessionPool(t *testing.T) {
	scenarios(t, map[string]string{
		"the session that was not used for the longest time makes room": `
			with sessions=2; send one in=a; answer one ok; send two in=b; answer two ok; send three in=a
			answer three ok; send four; wait 2s
			alive 1; gone 2; gently 2; answer four ok; four answered ok; live 2; send five in=b; wait 2s; gone 1
			process 4 resumed session=2 in=b
			answer five ok; five answered ok`,
		"all are busy: a message waits, and is told why": `
			with sessions=1; send one in=a; watch; send two; told queued "All 1 sessions (SESSIONS) are busy"
			wait 1h; two waiting
			state waiting busy waiting=1; send three; live 1; answer one ok; one answered ok; wait 2s
			turns two,three; answer three ok
			two answered into=three; three answered ok`,
		"and so is who sends a message with a key, which is accepted before": `
			with sessions=1; send one in=a; watch; send two key=k; wait 1s
			told queued "All 1 sessions (SESSIONS) are busy" last; answer one ok; wait 2s
			answer two ok; two answered ok`,
		"in the order in which they asked": `
			with sessions=1; send one in=a; send two in=d; send three in=b; send four; answer one ok; wait 2s
			live 1; answer two ok; wait 2s; live 1
			answer three ok; wait 2s; live 1; answer four ok; four answered ok`,
		"a session that works otherwise makes no room": `
			with sessions=1; send one in=a; answer one ok; {tasks 1|say type=assistant} in=a; send two; wait 1h
			two waiting; alive 1
			{tasks 0|background done} in=a; wait 2s; answer two ok; two answered ok`,
		"sessions of an earlier life count": `
			with sessions=3; send one in=a; answer one ok; send two in=b; answer two ok; send three in=d
			answer three ok; detach; option sessions=2; start
			send four; wait 3s; live 2; answer four ok; four answered ok`,
		"an open turn of an earlier life waits too": `
			with sessions=1; block start; send one; crash; unblock start; start; answer one ok; one answered ok`,
		"a wish is given up with the message": `
			with sessions=1; send one in=a; send two; cancel two; answer one ok; wait 1h; alive 1`,
		"a session that could not be started": `
			with sessions=1; missing; send one in=a; one failed agent_missing; found; works`,
		"a session that dies": `
			with sessions=1; send one in=a; answer one ok; die in=a; works`,
		"who was asked to make room waits behind": `
			with sessions=1; send zero in=a; answer zero ok; block reap; send one; send two in=a; wait 2s
			unblock reap; answer one ok; one answered ok
			two open; wait 2s; answer two ok; two answered ok`,
	})
}

// A new channel gets a session that waits, if there is one; a channel that has a session does not ask for another.
func TestSpares(t *testing.T) {
	scenarios(t, map[string]string{
		"taken": `
			spare first second; send one in=a; answer one ok; process 1 new session=first in=a; send two in=a
			answer two ok; process 1 in=a
			send three in=b; answer three ok; process 2 session=second in=b; send four
			process 3 session=notsecond`,
		"not with settings": `
			spare first; set model=haiku mode=plan; rule "Bash(npm test:*)"; send one
			process 1 session=notfirst model=haiku mode=plan rules=1
			send two in=d; process 2 session=first model="" rules=0 in=d`,
	})
}
