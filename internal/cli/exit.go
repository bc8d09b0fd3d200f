package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/term"
)

// ErrFailed ends a command with ExitFailed when it has said what is wrong already.
var ErrFailed = errors.New("failed")

// ErrNotRunning is in the error of a command for which a gateway must run.
var ErrNotRunning = errors.New("no gateway runs here")

// ErrUsage is in the error of a command that was called in a way that cannot work.
var ErrUsage = errors.New("usage")

// Usagef returns an error that means ExitUsage, with a text for a person.
func Usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ error }

// Is reports whether target is ErrUsage.
func (usageError) Is(target error) bool { return target == ErrUsage }

// Unwrap returns what it was made of.
func (e usageError) Unwrap() error { return e.error }

// A Signalled is the error of a command that a signal has ended. The status is the one
// that a shell shows for a process which died of the signal.
type Signalled struct{ Signal syscall.Signal }

// Error names the signal.
func (s Signalled) Error() string { return "ended by signal: " + s.Signal.String() }

// ExitStatus returns the exit status that an error of a command means.
func ExitStatus(err error) int {
	_, misconfigured := errors.AsType[*config.Problem](err)
	signalled, ended := errors.AsType[Signalled](err)
	switch {
	case err == nil:
		return exitcode.OK
	case ended:
		return 128 + int(signalled.Signal)
	case misconfigured, errors.Is(err, ErrUsage):
		return exitcode.Usage
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, ErrNotRunning):
		return exitcode.Unreachable
	case errors.Is(err, context.Canceled):
		return exitcode.Interrupted
	}
	return exitcode.Failed
}

// inCommands names by its command what the gateway names by its route.
var inCommands = strings.NewReplacer(
	"GET /channels/{key}/rules lists", "`bareclaw channels rules` lists", "GET /channels lists", "`bareclaw channels` lists",
	"GET /schedules lists", "`bareclaw schedule list` lists", "GET /approvals lists", "`bareclaw approvals` lists",
	"POST /channels/{key}/interrupt", "`bareclaw channels interrupt`", "DELETE /schedules/{id}", "`bareclaw schedule remove`",
)

// Silent reports whether nothing is to be said of an error: the command has said what is
// wrong, or somebody ended the command.
func Silent(err error) bool {
	_, ended := errors.AsType[Signalled](err)
	return err == nil || ended || errors.Is(err, ErrFailed) || ExitStatus(err) == exitcode.Interrupted
}

// Text returns what an error of a command says to a person in a terminal.
func Text(err error) string { return term.Safe(inCommands.Replace(err.Error())) }

// Advice returns what to do about an error of a command, empty if its text says it.
func Advice(err error) string {
	if _, isNew := errors.AsType[*neverRan](err); isNew {
		return "Set it up with `bareclaw init`, or start it as it is with `bareclaw serve`."
	}
	if errors.Is(err, client.ErrUnreachable) {
		return "Is it running? Start it with `bareclaw serve`, or `bareclaw service install`; `bareclaw doctor` looks further."
	}
	return ""
}

// A neverRan is why no gateway is reached on a machine where none has run yet.
type neverRan struct{ error }

// Unwrap returns the error itself.
func (n *neverRan) Unwrap() error { return n.error }

// neverRanHere marks an error as one of a machine where no gateway has run yet.
func neverRanHere(err error) error { return &neverRan{err} }
