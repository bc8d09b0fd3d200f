package lanes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
)

func TestBadContentIsRefused(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		for name, c := range map[string]core.Content{
			"empty": {}, "no UTF-8": {Text: "\xff"}, "no JSON": {Blocks: []jsonRaw{jsonRaw(`{"type":`)}}, "empty block": {Blocks: []jsonRaw{nil}},
		} {
			s := submission("")
			s.Content = c
			if _, err := w.m.Submit(t.Context(), s); err == nil {
				t.Errorf("%s: accepted", name)
			} else {
				w.wantErr(err, core.ErrBadContent)
			}
		}
		w.works()
	})
}

// Whoever goes away before the acceptance leaves nothing behind.
func TestSubmitterLeaves(t *testing.T) {
	play(t, Options{}, func(t *testing.T, w *world) {
		w.ledger.hold()
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		go func() { _, err = w.m.Submit(ctx, submission("refused later")) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		w.wantErr(err, context.Canceled)
		w.ledger.setDown(core.ErrStorageFull)
		w.ledger.release()
		synctest.Wait()
		if n := len(w.m.tickets.open); n != 0 {
			t.Errorf("%d tickets are left of refused messages", n)
		}
		w.ledger.setDown(nil)
		w.works()
		w.after(time.Second)
		if n := len(w.m.tickets.open); n != 0 {
			t.Errorf("%d tickets are left of answered messages", n)
		}
	})
}

func TestQueue(t *testing.T) {
	scenarios(t, map[string]string{
		"one message": `
			send one; process 1 new; saved 1; wait 2s; pays one hi 0.25; one answered hi took=2s cost=0.25
			turns one`,
		"no turn can be made of a message: it ends alone, and those that wait with it run": `
			refuses bad; send first text=bad; first refused bad_content; send one before bad after
			answer one ok; answer before ok; answer after ok
			before answered ok; bad failed bad_content; after answered ok; turns one before after`,
		"its timeline": `
			send one two; begin one; tool one; position two 1
			marks one handed agent_ready started first_event tool; result one ok
			marks one handed agent_ready started first_event tool ended`,
		"what waits becomes one turn, once the agent is done with the one before": `
			send one a b c; begin one; result one 1; one answered 1; turns one; done one; turns one a,b,c
			answer c all
			a answered into=c; b answered into=c; c answered all into=""`,
		"the agent does not say that it is done": `
			send one two; begin one; result one 1; wait 1999ms; turns one; wait 1ms; turns one two; done one
			turns one two`,
		"commands are alone": `
			send one a b /compact /clear c d; answer one ok; answer a ok; answer /compact ok; answer /clear ok
			turns one a,b /compact /clear c,d`,
		"the queue is bounded": `
			with queue=3; send one a b more; begin one; more refused queue_full; send other in=d; other accepted
			answer one ok; send fits; fits accepted; stats refused=1`,
		"channels do not wait for each other": `
			send one; begin one; send other in=d; answer other ok; other answered ok`,
		"cancelled": `
			send one two three; begin one; cancel two; two cancelled cancelled; cancel two err=not_waiting
			cancel one err=not_waiting; cancel none err=not_found
			answer one ok; answer three ok; three answered ok; turns one three`,
		"a message of another adapter carries the reply": `
			send one; begin one; send two by=http; send three last by=telegram; finish one 1; answer last all
			two answered into=last via=telegram; three answered into=last via=""
			last answered all into="" via=""`,
		"status and statistics": `
			block start; send one; state running running=1; unblock start; ready; begin one; tool one
			send two three; state running running=1 waiting=2 activity=Bash messages=3 process=1
			stats lanes=1 sessions=1 running=1 waiting=2; finish one ok; result two ok; wait 1ms
			stats running=0 waiting=0 turns=2; state ready activity=""
			exit ended; state idle process=0; stats sessions=0`,
		"a subscriber sees the life of a message in order": `
			watch; send one two; begin one; tool one; result one ok
			updates accepted accepted queued started event event result`,
	})
}

func TestSteer(t *testing.T) {
	scenarios(t, map[string]string{
		"folded": `
			send one; begin one; tool one; send two steer; begin two; done two; one open; two open
			result one,two both; done one
			one answered both into=""; two answered into=one; works`,
		"not folded: a turn of its own, and what came later waits": `
			send one; begin one; send two steer; send later; send overtaking steer; finish one 1; answer two 2
			one answered 1; two answered 2
			answer later 3; later answered into=overtaking; overtaking answered 3
			turns one two later,overtaking`,
		"several are merged by the agent": `
			send one; begin one; send two three steer; finish one 1; result two,three x error=max_turns
			done two,three; one answered 1
			two failed max_turns max_turns; three failed max_turns "" into=two; works`,
		"nothing runs, or the message is a command": `
			send one /compact steer; answer one ok; one answered ok; answer /compact ok; /compact answered ok
			turns one /compact`,
		"a turn cannot be written while another is": `
			send one; begin one; hold; send two three steer; step 2; refuse begin full; release; answer one ok
			wait 3s; answer two ok; wait 3s; answer three ok
			one answered ok; two answered; three answered; works`,
	})
}

// The agent says that a turn has ended, or gives results, which name no turn.
func TestResults(t *testing.T) {
	scenarios(t, map[string]string{
		"no result names the turn: its record tells": `
			send one; begin one
			{record one answered="from the record"|record one failed=api|record one tool done="Bash (make)"|records unreadable}
			done one
			wait 500ms
			one {answered "from the record"|failed api api|failed interrupted "Done before that: Bash (make)."|failed interrupted "not run again"}
			records readable; works`,
		"the record is not asked while a result may still come": `
			send one; begin one; send two steer; begin two; done two; one open; two open; finish one first
			one answered first; wait 500ms
			two failed interrupted; works`,
		"results that name nothing": `
			watch; send one; begin one; stray nobody's; background finished; background failed error=x; one open
			answer one ok; result one "second answer"
			one answered ok; wait 1s; backgrounds failed! finished; told background times=2; works`,
		"events are acknowledged when their effect is durable": `
			send one; begin one; tool one; send two steer; begin two; ask r1; down storage
			{result one,two ok; done one,two|finish one ok; finish two ok|done one,two|done two
			finish one ok|done two; result one ok; exit gone}
			say times=128; wait 1s; kept some; up; wait 1m
			one {answered|answered|failed interrupted|answered|answered}
			two {answered|answered|failed interrupted|failed interrupted|failed interrupted}; works; kept few`,
		"the conversation goes on under a new id, which is saved": `
			send /clear; begin /clear; saving 1s; clear second; clear third; wait 2s
			finish /clear "" session=third; known third; die; works
			process - resumed session=third`,
		"retries are told": `watch; send one; begin one; http 529; told retrying "status 529"`,
	})
}
