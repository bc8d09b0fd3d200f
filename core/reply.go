package core

import (
	"cmp"
	"errors"
	"fmt"
)

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

	CodeAgentMissing = "agent_missing" // the agent could not be run
	CodeAgentStart   = "agent_start"   // the agent ended while it started

	// Codes of the agent that park the channel.
	CodeNotLoggedIn = "not_logged_in"
	CodeUsageLimit  = "usage_limit"

	// CodeMaxBudget has the session replaced: the session has no budget left for a turn.
	CodeMaxBudget = "max_budget"

	// CodeBadModel may be caused by the channel's settings.
	CodeBadModel = "bad_model"

	// CodePromptTooLong means that the conversation is too long for the model, and
	// CodeRefused that the API has refused the conversation for the same reason before:
	// every further message of the conversation would be refused too.
	CodePromptTooLong = "prompt_too_long"
	CodeRefused       = "conversation_refused"
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

// Errors for callers to branch on. The errors come wrapped; use errors.Is.
var (
	// ErrNotFound: the message, approval, turn or channel does not exist.
	ErrNotFound = errors.New("not found")
	// ErrQueueFull: the channel already holds the maximum number of messages.
	ErrQueueFull = errors.New("queue full")
	// ErrKeyReused: the source key was used before with another content.
	ErrKeyReused = errors.New("idempotency key was used with a different message")
	// ErrNotWaiting: the message is running or has its outcome already.
	ErrNotWaiting = errors.New("message is not waiting")
	// ErrBusy: the channel has messages without an outcome.
	ErrBusy = errors.New("channel has open messages")
	// ErrNotFailed: the message was answered, or has no outcome yet.
	ErrNotFailed = errors.New("message has not failed")
	// ErrCannotAsk: no person can be asked to decide.
	ErrCannotAsk = errors.New("nobody can be asked")
	// ErrNotPending: the approval has been decided, has expired or is void.
	ErrNotPending = errors.New("approval is not pending")
	// ErrNothingRuns: no turn is running.
	ErrNothingRuns = errors.New("no turn is running")
	// ErrClosed: the gateway is shutting down.
	ErrClosed = errors.New("gateway is shutting down")
	// ErrStorageFull: the ledger's disk is full; nothing was accepted.
	ErrStorageFull = errors.New("ledger: no space left on the disk")
	// ErrStorage: the ledger could not be written; nothing was accepted.
	ErrStorage = errors.New("ledger: cannot be written")
	// ErrUnwritten: the turn has ended, and the outcome waits to be written. Comes with
	// ErrStorageFull or ErrStorage.
	ErrUnwritten = errors.New("the turn has ended, and its outcome waits to be written")
	// ErrNoHost: the channel has no live session host.
	ErrNoHost = errors.New("no live session host")
	// ErrBadContent: the content cannot be handed to the agent.
	ErrBadContent = errors.New("bad content")
	// ErrBadSetting: the agent could not read the setting, or would misread the setting.
	ErrBadSetting = errors.New("bad setting")
)

// A DuplicateError reports that a source key is known already.
type DuplicateError struct {
	Existing MessageID
	Hash     string
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("source key belongs to message %s", e.Existing)
}

// An AgentError says why the agent could not be started or ended. Code is a stable word
// (agent_missing, agent_exit, agent_timeout, …); Text gives the reason and the remedy to a
// person.
type AgentError struct {
	Code string
	Text string
	Wait string // as in Exit
	Err  error
}

func (e *AgentError) Error() string {
	if e.Err != nil {
		return e.Text + ": " + e.Err.Error()
	}
	return e.Text
}

func (e *AgentError) Unwrap() error { return e.Err }
