package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/term"
)

// An exitError ends a command with a status, after the command has printed why.
type exitError int

// Error implements error.
func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// ErrFailed ends a command with [exitcode.Failed] after the command has printed why.
var ErrFailed error = exitError(exitcode.Failed)

// ExitWith returns an error that ends a command with a status that is not 0, as that of a program that it has run, after the
// command has printed why.
func ExitWith(status int) error { return exitError(status) }

// ErrNotRunning means that a command needs a running gateway.
var ErrNotRunning = errors.New("no gateway runs here")

// A usageError means that the arguments of a command cannot work.
type usageError struct{ error }

// Usagef returns an error that means [exitcode.Usage], with a text for a person.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// ExitStatus returns the exit status for the error of a command.
func ExitStatus(err error) int {
	_, misconfigured := errors.AsType[*config.Problem](err)
	_, misused := errors.AsType[usageError](err)
	refused, _ := errors.AsType[*client.Error](err)
	exit, exits := errors.AsType[exitError](err)
	switch {
	case err == nil:
		return exitcode.OK
	case exits:
		return int(exit)
	case misconfigured, misused, refused != nil && refused.Status == http.StatusBadRequest:
		return exitcode.Usage
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, ErrNotRunning):
		return exitcode.Unreachable
	case errors.Is(err, context.Canceled):
		return exitcode.Interrupted
	}
	return exitcode.Failed
}

// inCommands replaces routes in errors of the gateway by commands.
var inCommands = strings.NewReplacer(
	"GET /channels/{key}/rules lists", "`bareclaw channels rules` lists", "GET /channels lists", "`bareclaw channels` lists",
	"GET /schedules lists", "`bareclaw schedule list` lists", "GET /approvals lists", "`bareclaw approvals` lists",
	"worker_snapshots lists", "`bareclaw tools snapshots` lists", "worker_snapshot makes", "`bareclaw tools snapshot` makes",
	"POST /channels/{key}/interrupt", "`bareclaw channels interrupt`", "DELETE /channels/{key}", "`bareclaw channels reset`",
	"POST /schedules/{id}/run", "`bareclaw schedule run`", "DELETE /schedules/{id}", "`bareclaw schedule remove`",
)

// Silent reports whether an error needs no message: the command has printed why, or the
// user ended the command.
func Silent(err error) bool {
	_, exits := errors.AsType[exitError](err)
	return err == nil || exits || ExitStatus(err) == exitcode.Interrupted
}

// ErrorText returns the text of an error for a terminal.
func ErrorText(err error) string { return term.Safe(inCommands.Replace(err.Error())) }

// Advice returns what to do about an error, empty if the text of the error says so.
func Advice(err error) string {
	down, isDown := errors.AsType[downError](err)
	switch {
	case isDown:
		return down.Advice()
	case errors.Is(err, client.ErrUnreachable):
		return "Is it running? `bareclaw start` starts it; `bareclaw doctor` looks further."
	}
	return ""
}
