package core

import "cmp"

// Codes of outcomes produced by the gateway. Package claude declares the agent's own codes.
const (
	CodeCancelled   = "cancelled"      // removed from the queue
	CodeInterrupted = "interrupted"    // the turn was ended early
	CodeTimeout     = "timeout"        // the turn exceeded its time limit
	CodeStalled     = "stalled"        // the agent was silent for too long
	CodeReset       = "channel_reset"  // the channel was closed
	CodeBadContent  = "bad_content"    // the content could not be made into a turn
	CodeAgentFailed = "agent_failed"   // the agent could not be started
	CodeAgentExit   = "agent_exit"     // the agent died repeatedly while running the turn
	CodeStorage     = "storage_failed" // the ledger could not be read
	CodeInternal    = "internal_error" // a fault in the gateway (a panic)
	CodeAgentError  = "agent_error"    // the agent reported an error without a code

	// Codes of the agent that park the channel.
	CodeNotLoggedIn = "not_logged_in"
	CodeUsageLimit  = "usage_limit"

	// CodeMaxBudget has the session replaced: the session has no budget left for a turn.
	CodeMaxBudget = "max_budget"

	// CodeBadModel may be caused by the channel's settings.
	CodeBadModel = "bad_model"
)

// Complete returns the reply with all fields required for an outcome of its state. Every
// outcome but an answer is an error with a code and a sentence, including outcomes recorded
// without both by an older gateway. The text of an error is the sentence, unless another
// message carries the text.
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

// ParkedForBudget is the code of a message waiting because the daily budget is spent.
// ParkedForBudget never appears in an outcome.
const ParkedForBudget = "budget"
