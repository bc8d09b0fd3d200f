// Package guard turns panics into errors: a fault in handling one message, file or channel must not
// end the process.
package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// ErrPanic marks an error that Do has made of a panic.
var ErrPanic = errors.New("internal error")

// Do calls f and returns its error. Do logs a panic of f with the stack, and returns ErrPanic. The
// text says what f does, as in "handling the update", and attrs are further attributes of the log's record.
func Do(log *slog.Logger, doing string, f func() error, attrs ...any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("recovered from a panic", append([]any{"while", doing, "panic", fmt.Sprint(p), "stack", string(debug.Stack())}, attrs...)...)
			err = fmt.Errorf("%w while %s", ErrPanic, doing)
		}
	}()
	return f()
}
