package lanes

import (
	"context"
	"fmt"
	"strings"

	"bareclaw/core"
)

// refusalsRead is how many messages of a channel are read for the refusals since its last answer.
const refusalsRead = 10

// refusals are the kinds of refusals that a session has met since its last answer.
type refusals struct {
	session string
	kinds   map[string]bool
}

// add adds a kind of the session, and reports whether the session has met it before.
func (r *refusals) add(session, kind string) (again bool) {
	if r.session != session || r.kinds == nil {
		*r = refusals{session, map[string]bool{}}
	}
	again = r.kinds[kind]
	r.kinds[kind] = true
	return again
}

// refusalsOf reads from the ledger the refusals of a session since its last answer. A channel
// whose last message was answered costs one small read.
func (cv *conversation) refusalsOf(ctx context.Context, session string) refusals {
	var found refusals
	newest, err := cv.manager.o.Ledger.Messages(ctx, cv.key, refusalsRead, "")
	for i := range newest {
		m := &newest[i]
		if m.State == core.Answered {
			break
		}
		if m.State != core.Failed || m.Turn == "" {
			continue
		}
		var t core.Turn
		if t, err = cv.manager.o.Ledger.Turn(ctx, m.Turn); err != nil {
			break
		}
		if t.SessionID == session && t.Result != nil && t.Result.Refused != "" {
			found.add(session, t.Result.Refused)
		}
	}
	if err != nil {
		cv.log.Warn("earlier refusals of the session not known", "err", err)
	}
	return found
}

// withRemedy returns the outcome with what people can do about its cause. The first message of
// fs that is not requeued carries the text.
func (ts *turns) withRemedy(fs []*inflight, reply core.Reply, r *core.Result) core.Reply {
	advice := &ts.manager.o.Advice
	switch {
	case reply.State == core.Answered:
		ts.conv.refusals = refusals{}
	case reply.Code == core.CodeNotLoggedIn:
		if carrier := carrierOf(fs, reply.Code); carrier != nil {
			reply.Error = advice.notLoggedIn(reply.Error, carrier.ID)
			reply.Text = reply.Error
		}
	case reply.State == core.Failed && r != nil && r.Refused != "":
		again := ts.conv.refusals.add(ts.conv.id, r.Refused)
		if again || reply.Code == core.CodePromptTooLong {
			reply.Error = advice.refused(ts.key, reply, again)
			reply.Text = reply.Error
		}
		if again {
			reply.Code = core.CodeRefused
		}
	}
	return reply
}

// notLoggedIn returns the outcome of a message that met a missing login; words are the agent's.
func (a *Advice) notLoggedIn(words string, id core.MessageID) string {
	if words != "" {
		words = " (" + words + ")"
	}
	again := ""
	if a.Retry != nil {
		again = " or run " + a.Retry(id)
	}
	return "This message was not answered: Claude is not logged in" + words + "." + sentence("On the gateway's machine, ", a.Login) +
		" When Claude is logged in, send the message again" + again + "."
}

// refused returns the outcome of a message whose conversation the API refuses: for the first
// time, because the conversation is too long, or again.
func (a *Advice) refused(key core.ChannelKey, reply core.Reply, again bool) string {
	words := strings.TrimSuffix(reply.Error, ".") + "."
	if again {
		words = "This conversation cannot go on: " + words
	}
	var ways []string
	if reply.Code == core.CodePromptTooLong && a.Shorten != "" {
		ways = append(ways, fmt.Sprintf("%s shortens this conversation", a.Shorten))
	}
	if a.NewConversation != nil {
		ways = append(ways, fmt.Sprintf("%s begins a new one", a.NewConversation(key)))
	}
	if len(ways) == 0 {
		return words
	}
	return words + " " + strings.Join(ways, ", ") + "."
}
