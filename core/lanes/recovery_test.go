package lanes

import (
	"fmt"
	"testing"
)

// TestRecovery: the agent, or its host, dies. TestVerdict has the cases of what becomes of a turn.
func TestRecovery(t *testing.T) {
	scenarios(t, map[string]string{
		"a turn that called no tool runs again": `
			send one two; begin one; {exit "Claude was killed."|die|cut}; gone 1; turns one; answer one ok
			one answered ok
			answer two ok; two answered ok; stats resent=1`,
		"a turn is tried three times": `
			send deadly harmless; begin deadly; exit killed; begin deadly; exit killed; begin deadly
			deadly open; exit "Claude was killed."
			deadly failed agent_exit "Claude was killed. This message was tried 3 times."; answer harmless ok
			harmless answered ok; runs harmless 1`,
		"a turn that has begun a tool does not run again": `
			send one; begin one; {tool one|announce|record one tool|record one interrupted|records unreadable}
			die
			one failed interrupted "not run again"; records readable; works; runs one 1`,
		"the record has an end that did not come through": `
			send one; begin one; record one tool answered="from the record"; die; one answered "from the record"
			send two; begin two; record two failed=api; die; two failed api`,
		"an error that names no turn, and then the end": `
			send one; begin one; stray "Budget exhausted." error=budget; exit "exit status 1"
			one failed budget "Budget exhausted."
			works; stray Odd. error=odd; send two; begin two; exit "exit status 1"; answer two ok
			two answered ok`,
		"the agent is done with a turn that it did not run again": `
			send one; begin one; exit "Claude was killed."; done one; wait 500ms
			one failed agent_exit "Claude was killed."; works`,
		"the agent is done with a turn that it refused to begin a session for": `
			send one; begin one; {exit "Claude was killed."|crash; die; start}; process 3 resumed session=1; done one; wait 500ms
			one failed {agent_exit "Claude was killed."|interrupted "Claude ended this turn without an answer."}; works`,
		"a session that waits for room on the disk": `
			works; send one; begin one; unreadable full; die; wait 1m; one open; unreadable; wait 5s
			answer one ok; one answered ok`,
		"a ledger that cannot be read": `
			works; send one; begin one; unreadable storage; die; wait 1m; one failed storage_failed; unreadable
			works`,
		"a conversation that cannot be resumed is begun anew, which is told once": `
			works; die; forget; send two; process 3 new session=not1; recordedin two opens; answer two ok
			two answered ok notices=fresh_session
			die; send three; process 4 resumed session=3; answer three ok; three answered ok notices=""`,
		"a session without a result on record exists all the same": `
			send one; begin one; exit killed; process 3 resumed session=1; answer one ok
			one answered ok notices=""`,
		"neither begin nor resume works": `
			script refuses; send one; wait 1m; one failed agent_exit No; script; works`,
		"a session that cannot be started": `
			missing; send one; one failed agent_missing "Claude Code was not found."; block start
			send two three; unblock start
			two failed agent_missing; three failed agent_missing; found; works
			die; script late; send four; four failed agent_timeout "Claude did not start."; script; works`,
		"the start fails while the turn is frozen": `
			missing; {up|down full}; hold; send one; release; one {failed agent_missing|refused full}; up; found
			works`,
		"the session ends while a turn is frozen": `
			hold; send one; exit x {other|unknown_session|start_failed}; wait 1s; release; answer one ok
			one answered ok; works`,
		"the session ends while a turn is frozen in vain": `
			hold; send one; exit x {other|unknown_session|start_failed}; wait 1s; down full; release; up
			one refused full; works`,
		"the session dies while the turns of the one before are looked up": `
			send one; crash; hasnot; block fate; start; die; script begins; unblock fate; finish one ok; script
			one answered ok; works`,
		"the session ends unused": `works; exit ended; gone 1; works; process 2 resumed`,
		"a steered turn that was never begun runs again": `
			send one; begin one; tool one; send two steer; die; one failed interrupted; answer two ok
			two answered ok`,
		"the agent dies after a turn without a result, in another": `
			send one; begin one; send two steer; done one; begin two; exit killed; answer one 1; answer two 2
			one answered 1; two answered 2; works`,
		"a tool of the turn before is heard again": `
			send one; begin one; acks lost; tool one; finish one 1; one answered 1; send two
			{begin two|wait 0s}; restart; acks kept; exit killed
			answer two 2; two answered 2`,
		"sessions that cannot be resumed are not saved": `fleeting; works; saved 0`,
		"a folded message shares the fate on record": `
			send one; begin one; tool one; send two steer; record one tool {answered=both|done="Bash (x)"}
			record two tool into=one {answered=both|done="Bash (x)"}
			die; one {answered both|failed interrupted "Bash (x)"}; two {answered|failed interrupted} into=one
			works`,
		"joined messages that were cut before any tool run again, each by itself": `
			send one; begin one; send two steer; begin two; record one begun into=two; record two begun; die
			finish one first; one answered first; two open; answer two second; two answered second; works`,
	})
}

// Two messages are steered while a turn runs, which the agent then runs as one turn under the uuid of the last.
func TestJoined(t *testing.T) {
	const joined = `send zero; begin zero; send one steer; send two steer; finish zero 0; zero answered 0; begin one; begin two; record one into=two; `
	scenarios(t, map[string]string{
		"a tool shows in an event only: neither runs again": joined + `
			announce; die; one failed interrupted; two failed interrupted; runs one 1; runs two 1; works`,
		"the answer on record is told once": joined + `
			record one answered=both into=two; record two answered=both; die; two answered both
			one answered into=two; works`,
		"a limit after a tool puts back neither": `
			send one; begin one; send two steer; crash; die; start; turns one two; begin one,two; announce
			result one,two x error=usage_limit; done one,two
			one failed usage_limit; two failed usage_limit; wait 901s`,
	})
}

// TestRestore: every kind of turn that a dead gateway leaves, with a host that knows the turn or does not, and without a host.
func TestRestore(t *testing.T) {
	scripts := map[string]string{}
	for fate, outcome := range map[string]string{
		"record one":                      "again",
		"record one begun":                "again",
		"record one tool done=Bash":       `failed interrupted "Done before that: Bash."`,
		"record one interrupted":          "failed interrupted",
		`record one answered="on record"`: `answered "on record"`,
		"record one failed=api":           "failed api api",
		"records unreadable":              `failed interrupted "cannot be read"`,
	} {
		for host, process := range map[string]int{"hasnot": 1, "die": 2, "attached impossible": 2, "wait 0s": 1} {
			end := "; one " + outcome
			switch {
			case host == "wait 0s": // it knows the turn
				end = "; one running; record one; answer one ok; one answered ok"
			case outcome == "again":
				end = fmt.Sprintf("; process %d; turns one; answer one ok; one answered ok", process)
				if process == 1 {
					end = fmt.Sprintf("; answer one ok; one answered ok; process %d", process)
				}
			}
			scripts[fate+", "+host] = "works; send one two; crash; " + fate + "; " + host +
				"; start; records readable; attached possible" + end + "; answer two next; two answered next; works"
		}
	}
	scenarios(t, scripts)
}

// The gateway ends, in order or by kill -9.
func TestRestart(t *testing.T) {
	scripts := map[string]string{
		"a turn runs, and others wait": `
			send one two; begin one; send three key=k hash=h; {restart|crash; start}; tool one; one running
			two waiting; send four; {restart|crash; start}
			send again text=three key=k hash=h; again existing three; finish one 1; one answered 1; process 1
			turns one two,three,four
			answer four all; two answered into=four; again answered into=four; four answered all`,
		"a result comes while nobody listens": `
			send one; begin one; detach; say times=1000; finish one meanwhile; start; one answered meanwhile
			works`,
		"waiting messages without a process": `
			block start; send one two; crash; unblock start; start; answer one ok; answer two ok
			two answered ok; turns one two`,
		"the id of the session was not saved": `
			sessions unsaved; send one; begin one; crash; sessions saved; {finish one ok; restart|restart
			restart; finish one ok}; one answered ok
			restart; send two; answer two ok; recordedin two; die; send three; answer three ok
			process 2 resumed session=1`,
		"a host that does not answer is ended": `
			works; detach; attached impossible; start; live 0; attached possible; works`,
		"a shutdown ends the hosts": `
			send one; begin one; send idle in=d; shutdown; live 0; start; answer one ok; one answered ok`,
		"a decision is written while the gateway leaves": `
			with approvals=ask; send one; begin one; ask r1; pending r1; slow 1s; decide r1 allow; busy; restart
			wait 10s; over; reply r1 allow; pending
			result one ok; one answered ok`,
		"messages are written while the gateway leaves, however long that takes": `
			send one; begin one; slow {2s|4s|8s|15s}; send two; send three in=d; two unknown; detach
			two accepted; three accepted; accounted`,
		"killed after each write": `
			send one; begin one; tool one; send two steer; begin two; hold; done two; finish one ok
			background bg; step {0|1|2|3|4|5|6|7}
			crash; start; wait 1s; one answered ok; two failed interrupted; backgrounds bg; works`,
	}
	for writes := range 12 { // of a message's life
		scripts[fmt.Sprint("killed at write ", writes)] = fmt.Sprint("script answers; hold; step ", writes, `
			send m0 {by=a|key=k hash=h}; send m1 {by=a|key=k hash=h}; send m2 {by=a|key=k hash=h}; wait 10ms
			crash; start; wait 1m; accounted answered; once`)
	}
	for name, phase := range map[string][2]string{ // in which the gateway may be told to leave
		"accepting":   {"hold", "release"},
		"refusing":    {"hold; down full", "release"},
		"starting":    {"block start", "unblock start"},
		"running":     {"wait 0s", "wait 0s"},
		"recovering":  {"works; block reap; die", "unblock reap"},
		"attaching":   {"works; detach; block attach; start", "unblock attach"},
		"ledger down": {"send x; begin x; down storage; answer x ok; x answered ok", "wait 0s"},
	} {
		scripts["told to leave while "+name] = phase[0] + `; send one two; send three key=k hash=h
			{` + phase[1] + `|wait 0s}; leave; send late; {wait 0s|` + phase[1] + `}; late refused closed; up; start; wait 1m; accounted`
	}
	scenarios(t, scripts)
}

func TestReset(t *testing.T) {
	scripts := map[string]string{"unknown channel": "reset err=not_found"}
	for name, phase := range map[string][2]string{
		"idle":                   {"works", ""},
		"running":                {"send one two; begin one", ""},
		"deaf":                   {"send one; begin one; deaf", "die"},
		"starting":               {"block start; send one", "unblock start"},
		"recovering":             {"send one; begin one; block fate; die", "unblock fate"},
		"interrupted":            {"send one; begin one; interrupt", ""},
		"folded, not named":      {"send one two; begin one; done one", ""},
		"freezing":               {"works; hold; send one", "release"},
		"session id being saved": {"send /clear; begin /clear; finish /clear ok; saving 1s; clear 00000000-0000-4000-8000-000000000002", "wait 1m"},
		"ledger down":            {"send one two; begin one; down storage; answer one ok", "up; wait 1m"},
		"attaching":              {"send one; begin one; detach; block attach; start", "unblock attach"},
	} {
		scripts[name] = phase[0] + "; reset; " + phase[1] + "; over; wait 1m; saved 0; live 0; tickets 0; works; process - new"
	}
	scenarios(t, scripts)
}
