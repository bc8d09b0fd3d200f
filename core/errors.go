package core

import (
	"errors"
	"fmt"
)

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
	// ErrNotFailed: the message was answered, or has no outcome yet.
	ErrNotFailed = errors.New("message has not failed")
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
	Err  error
}

func (e *AgentError) Error() string {
	if e.Err != nil {
		return e.Text + ": " + e.Err.Error()
	}
	return e.Text
}

func (e *AgentError) Unwrap() error { return e.Err }
