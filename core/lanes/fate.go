package lanes

import (
	"errors"
	"fmt"
	"strings"

	"bareclaw/core"
)

// maxAttempts bounds the handovers of a turn, because a message crashing the agent each time
// must not run for ever.
const maxAttempts = 3

// A cut holds the facts about a turn without a result: either the session has ended, or the
// agent has ended the turn alone.
type cut struct {
	record     core.Fate    // the agent's own record
	recordErr  error        // the record cannot be read; then record may hold a tool begun
	byAgent    bool         // the agent ended the turn, and the session goes on
	stop       *stop        // why the turn was being ended early; nil otherwise
	handed     bool         // handed over to the session that has ended
	attempts   int          // number of handovers
	toolBegun  bool         // according to the turn's events
	progress   string       // completed work, for a person; may be empty
	exit       *core.Exit   // how the agent last ended during the turn; nil if it did not, or its host was lost
	refusal    *core.Exit   // the agent's refusal to start; nil for none
	restart    bool         // the lane starts the agent again after the refusal
	unassigned *core.Result // an error result without turn ids, reported before the end
	sessionID  string
}

type verdict struct {
	again   bool       // hand the turn over again, with the same id
	uncount bool       // with again: the last handover does not count
	reply   core.Reply // without again: the outcome
	undo    bool       // settings of the channel may be the cause of the outcome
}

// verdict decides what becomes of a turn. An answer or an error on record is the outcome. A
// turn with a tool begun never runs again without a request. Any other turn is handed over
// again, maxAttempts times at most.
func (c *cut) verdict() verdict {
	outcome := func(r core.Reply) verdict { return verdict{reply: r} }
	toolBegun := c.toolBegun || c.record.ToolBegun
	switch {
	case c.recordErr == nil && c.record.Answered:
		return outcome(core.Reply{State: core.Answered, Text: c.record.Text, SessionID: c.sessionID})
	case c.recordErr == nil && c.record.Failed:
		return outcome(failure(c.record.Code, c.record.Text))
	case c.stop != nil:
		return outcome(c.stop.outcome(c.progress))
	case c.refusal != nil && c.handed && c.restart:
		return verdict{again: true, uncount: true}
	case c.refusal != nil && c.handed:
		return verdict{reply: exitReply(c.refusal, 1), undo: true}
	case c.byAgent && c.exit != nil && !toolBegun:
		return outcome(exitReply(c.exit, c.attempts)) // the agent does not run an interrupted turn more than once
	case c.byAgent:
		return outcome(interruptedReply("Claude ended this turn without an answer.", c.progress))
	case c.unassigned != nil && c.handed:
		return outcome(resultReply(c.unassigned, nil))
	case c.recordErr != nil && c.attempts > 0:
		return outcome(interruptedReply("The turn was cut, and its record cannot be read ("+c.recordErr.Error()+").", c.progress))
	case toolBegun || c.record.Interrupted:
		return outcome(interruptedReply("The turn was interrupted: "+endOf(c.exit)+".", c.progress))
	case c.attempts >= maxAttempts:
		return outcome(exitReply(c.exit, c.attempts))
	}
	return verdict{again: true}
}

// endOf returns the reason for a session's end, as part of a sentence.
func endOf(e *core.Exit) string {
	if e != nil {
		return strings.TrimSuffix(e.Text, ".")
	}
	return "the process that worked on it is gone"
}

// outcome returns the outcome of a stopped turn; done is the completed work.
func (s *stop) outcome(done string) core.Reply {
	r := s.reply
	if r.Done = done; done != "" {
		r.Error += doneBefore(done)
	}
	return r
}

func doneBefore(done string) string { return " Done before that: " + done + "." }

func interruption(text string) core.Reply {
	return core.Reply{State: core.Cancelled, Code: core.CodeInterrupted, Error: text}
}

// resultReply converts the agent's result into a reply; s is the reason if the turn was being
// ended early.
func resultReply(r *core.Result, s *stop) core.Reply {
	switch {
	case !r.IsError:
		return core.Reply{State: core.Answered, Text: r.Text}
	case r.Interrupted && s != nil:
		return s.reply
	case r.Interrupted: // on request of an earlier gateway process
		return interruption(r.Error)
	}
	return core.Reply{State: core.Failed, Code: r.Code, Error: r.Error, Text: r.Text}
}

// interruptedReply returns the outcome of an interrupted turn. The gateway must not run the
// turn again without a request.
func interruptedReply(why, done string) core.Reply {
	begun := " What it had begun is not known."
	if done != "" {
		begun = doneBefore(done)
	}
	r := failure(core.CodeInterrupted, why+begun+" It was not run again; retry it to go on from there.")
	r.Done = done
	return r
}

func exitReply(e *core.Exit, attempts int) core.Reply {
	code, text := core.CodeAgentExit, "Claude stopped unexpectedly."
	if e != nil {
		code, text = e.Code, e.Text
	}
	if attempts > 1 {
		text = fmt.Sprintf("%s This message was tried %d times.", text, attempts)
	}
	return failure(code, text)
}

func failure(code, text string) core.Reply {
	return core.Reply{State: core.Failed, Code: code, Error: text}
}

func startFailure(err error) core.Reply {
	code := core.CodeAgentFailed
	if agent := (*core.AgentError)(nil); errors.As(err, &agent) {
		code = agent.Code
	}
	return failure(code, err.Error())
}
