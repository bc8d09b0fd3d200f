package lanes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bareclaw/core"
)

// A turn that the agent begins by itself may end with a result that names nothing.
func TestOwnTurns(t *testing.T) {
	scenarios(t, map[string]string{
		"a result that names nobody is told, recorded and counted": `
			with budget=10 deliver=c:chat; send one; pays one ok 0.5; watch; wake "a schedule"; say type=assistant
			stray "LOOP tick" total=0.75; wait 1s; backgrounds "LOOP tick"; told background times=1; spent 0.75
			delivered chat 1 "LOOP tick"; log "a schedule"
			send two; pays two ok 1; two answered ok cost=0.25; spent 1`,
		"one before a message that was handed over is not cut": `
			with budget=1; send zero in=d; begin zero in=d; send one; pays one ok 0.5; wake; send two; turns one two; pays zero ok 2
			stray tick total=0.75; wake "a schedule"; interrupted 0; stray tock total=0.8; wait 1s; backgrounds tock tick
			pays two ok 1; two answered ok`,
		"the agent does not say that it begins": `
			send one; pays one ok 0.5; stray tick total=0.75; wait 1s; backgrounds tick; spent 0.75; works`,
		"an error of a turn of its own": `
			send one; pays one ok 0.5; wake; stray "API Error: 400" error=api; wait 1s; backgrounds "API Error: 400!"; works`,
		"a turn of its own that says nothing is counted, and told to nobody": `
			with budget=10 deliver=c:chat; send one; pays one ok 0.5; watch; wake; stray "" total=0.75; wait 1s
			spent 0.75; told background times=0; delivered chat 0; works`,
		"a message waits behind a turn of its own": `
			send one; pays one ok 0.5; wake; send two; turns one two; say type=assistant; stray tick total=0.75; wait 1s
			backgrounds tick; two open; pays two ok 1; two answered ok cost=0.25`,
		"an error of a turn of its own is no error of the message that waits behind it": `
			send one; answer one ok; wake; send two; turns one two; stray odd error=odd; exit "exit status 1"; wait 1s
			backgrounds odd!; answer two ok; two answered ok`,
		"a message is folded into a turn of its own": `
			send one; pays one ok 0.5; wake; send two; begin two; done two; pays two ok 0.75; two answered ok; wait 1s
			backgrounds; works`,
		"nobody was there": `
			send one; pays one ok 0.5; detach; wake; say type=assistant; stray tick total=0.75; {wait 1s|say times=130}; start; wait 1s
			backgrounds tick; spent 0.75; crash; start; wait 1s; backgrounds tick; spent 0.75; works`,
		"the gateway crashes before the result is on record": `
			send one; pays one ok 0.5; wake; hold; stray tick total=0.75; crash; start; wait 1s; backgrounds tick; spent 0.75; works`,
		"a gateway comes while a turn of its own runs": `
			send one; pays one ok 0.5; wake; say type=assistant times=70; wait 1s; {restart|crash; start}; wait 1s; send two; turns one two
			stray tick total=0.75; wait 1s; backgrounds tick; pays two ok 1; two answered ok`,
		"the error of a turn with an outcome is not told again": `
			send one; begin one; acks lost; tool one; interrupt one; stray aborted error=interrupted; die; wait 1s
			one cancelled interrupted; crash; start; wait 1s; backgrounds; works`,
		"an error before the agent is ready is not told": `
			script begins; send one; begin one; detach; start; wait 1s; stray odd error=odd; wait 1s; backgrounds; finish one ok; one answered ok`,
		"it does not begin when the daily budget is spent, and the channel is told once": `
			with budget=1 deliver=c:chat; send one; pays one ok 1.5; one answered ok; watch; wake "a schedule"; interrupted 1
			stray aborted error=interrupted total=1.75; wait 1s; spent 1.75
			delivered chat 1 "Claude began a turn by itself (a schedule), which was ended: The daily budget of $1.00 (BUDGET) is used up ($1.75 spent today). The conversation goes on with your next message."
			wake "a schedule"; wake; interrupted 2; stray aborted error=interrupted total=2; wait 1s; spent 2
			told background times=1`,
		"one that runs when the daily budget is reached may finish": `
			with budget=1; send one; pays one ok 0.75; wake; say type=assistant; stray tick total=1.5; wait 1s; interrupted 0
			backgrounds tick; spent 1.5; send two; state parked "daily budget" until=midnight waiting=1`,
		"what is only replayed is not interrupted": `
			with budget=1; send one; pays one ok 1.5; one answered ok; detach; wake; say type=assistant; start; wait 1s; interrupted 0
			stray tick total=1.75; wait 1s; backgrounds tick; spent 1.75`,
	})
}

// Warnings of the agent come with the reply.
func TestWarnings(t *testing.T) {
	scenarios(t, map[string]string{
		"in a turn":       `send one; begin one; warn "hook blocked"; warn "hook blocked"; finish one ok; one answered ok notices=claude_warning`,
		"outside a turn":  `works; warn refused; send one; answer one ok; one answered ok notices=claude_warning; send two; answer two ok; two answered ok notices=""`,
		"a crash between": `send one; begin one; warn "hook blocked"; crash; start; wait 1s; finish one ok; one answered ok notices=claude_warning`,
	})
}

// ownTurn plays a turn of the agent's own, and reports whether the process goes on.
func (c *chaos) ownTurn(h *fakeHost, rnd *rand.Rand, pause func() bool) bool {
	if rnd.IntN(3) > 0 {
		h.say(core.Event{Kind: core.OwnTurn, Type: "command_lifecycle", Detail: "a schedule"})
	}
	if rnd.IntN(3) > 0 {
		h.say(core.Event{Kind: core.OwnTurn, Type: "system"})
	}
	for range rnd.IntN(3) {
		if !pause() {
			return false
		}
		h.say(core.Event{Kind: core.Said, Type: "assistant"})
	}
	r := core.Result{Text: fmt.Sprint("own ", rnd.Uint64()), SessionID: h.launch.SessionID}
	if rnd.IntN(6) == 0 {
		r.IsError, r.Code, r.Error, r.Text = true, "api", r.Text, ""
	}
	c.pays(h, r)
	return true
}

// ownResults checks that each result of a turn of the agent's own was recorded once at most, and
// answered no message.
func (c *chaos) ownResults() {
	seen := map[string]bool{}
	for _, key := range chaosChannels {
		all, err := c.m.Lookup.Backgrounds(c.t.Context(), key, 1000)
		if err != nil {
			c.t.Error(err)
		}
		for _, b := range all {
			if seen[b.Text] || !strings.HasPrefix(b.Text, "own ") && !strings.HasPrefix(b.Text, "bg") {
				c.t.Errorf("background result of channel %s: %+v, seen before: %v", key, b, seen[b.Text])
			}
			seen[b.Text] = true
		}
		ms, err := c.m.Lookup.Messages(c.t.Context(), key, 1000, "")
		if err != nil {
			c.t.Error(err)
		}
		for _, m := range ms {
			if strings.HasPrefix(m.Reply.Text+m.Reply.Error, "own ") {
				c.t.Errorf("message %s has the result of a turn of the agent's own: %+v", m.ID, m.Reply)
			}
		}
	}
}
