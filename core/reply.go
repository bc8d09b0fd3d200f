package core

import "cmp"

// Codes of outcomes that the gateway itself gives. The agent's own are those of
// package claude.
const (
	CodeCancelled   = "cancelled"      // taken out of the queue
	CodeInterrupted = "interrupted"    // the turn was ended before its time
	CodeTimeout     = "timeout"        // it took longer than is allowed
	CodeStalled     = "stalled"        // nothing was heard of it for too long
	CodeReset       = "channel_reset"  // its channel was closed
	CodeBadContent  = "bad_content"    // no turn could be made of it
	CodeAgentFailed = "agent_failed"   // the agent could not be started
	CodeAgentExit   = "agent_exit"     // the agent died on it again and again
	CodeStorage     = "storage_failed" // the ledger could not be read
	CodeInternal    = "internal_error" // a fault in the gateway (a panic)
	CodeAgentError  = "agent_error"    // the agent reports an error and does not say which

	// Two of the agent's own words park the channel.
	CodeNotLoggedIn = "not_logged_in"
	CodeUsageLimit  = "usage_limit"

	// One more has the session replaced, which has nothing left of the turn's budget.
	CodeMaxBudget = "max_budget"

	// And one may come of what the channel is set to.
	CodeBadModel = "bad_model"
)

// Complete returns the reply with all that an outcome of its state has. Every outcome but
// an answer is an error with a code and a sentence, also one that an older gateway wrote
// down without them; its text is the sentence, unless another message carries the text.
func (r Reply) Complete() Reply {
	if r.State == Answered {
		return r
	}
	r.IsError = true
	code, sentence := CodeAgentError, "Claude ended the turn with an error and did not say which."
	if r.State == Cancelled {
		code, sentence = CodeCancelled, "The message was cancelled."
	}
	r.Code = cmp.Or(r.Code, code)
	r.Error = cmp.Or(r.Error, r.Text, sentence)
	if !r.Coalesced {
		r.Text = cmp.Or(r.Text, r.Error)
	}
	return r
}

// ParkedForBudget is the code of a message that waits because the daily budget is spent.
// No outcome has it.
const ParkedForBudget = "budget"
