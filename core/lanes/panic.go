package lanes

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"bareclaw/core"
)

// maxPanics bounds the panics in a row before the process ends: the lane cannot even fail
// the messages then, and the next process continues from the ledger.
const maxPanics = 5

// errInternal is returned for a request during which the lane panicked.
var errInternal = errors.New("a fault in the gateway ended the request; the log has the details")

const internalText = "A fault in the gateway ended this message. The gateway goes on and the conversation is kept; the log has the details."

// guard runs a step of the lane. After a panic, guard logs the panic and fails the channel's
// messages, instead of ending the process.
func (l *lane) guard(step func()) {
	defer func() {
		if p := recover(); p != nil {
			l.onPanic(p)
		}
	}()
	step()
	l.panics = 0
}

func (l *lane) onPanic(p any) {
	l.logPanic(p)
	if l.panics++; l.panics > maxPanics {
		panic(p)
	}
	l.guardAgain(l.abandon)
}

// guardAgain is guard for the clean-up after a panic, without resetting the panic count.
func (l *lane) guardAgain(step func()) {
	defer func() {
		if p := recover(); p != nil {
			l.onPanic(p)
		}
	}()
	step()
}

// abandon fails all messages of the channel and ends the session, after which the channel
// can be used again. The conversation is kept: the next message resumes the session.
func (l *lane) abandon() {
	l.currentSeq, l.replayOf = 0, time.Time{}
	attaching := l.attaching
	l.busy, l.parked, l.retriedPark, l.reordering = "recovering from a fault", nil, nil, false
	reply := core.Reply{State: core.Failed, IsError: true, Code: core.CodeInternal, Error: internalText, Text: internalText}
	for _, f := range slices.Clone(l.inflight) {
		switch {
		case f.answered:
		case f.frozen:
			l.finish(f, reply)
		case f.stop == nil: // freezeDone or unfreeze handles the stop
			f.stop = &stop{code: reply.Code, text: reply.Error, failed: true}
		}
	}
	var failed outcomes
	kept := l.pending[:0:0]
	for _, it := range l.pending {
		switch {
		case it.durable:
			failed.set(it, reply)
		case it.written: // acceptDone decides
			kept = append(kept, it)
		default:
			l.refuse(it, errInternal)
		}
	}
	l.pending = kept
	l.commitOutcomes(failed)
	switch {
	case l.session != nil: // sessionGone continues
		_ = l.session.Stop(core.StopNow) // the session ends even after an error
	case attaching: // attached continues
	case l.resetting != nil: // the end of the reset continues
	default:
		l.recover(slices.DeleteFunc(slices.Clone(l.inflight), func(f *inflight) bool { return f.answered }))
	}
}

func (l *lane) logPanic(p any) {
	l.log.Error("panic in a lane", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}

// rethrow raises a panic of another goroutine on the lane's goroutine.
func (l *lane) rethrow(p any) {
	l.logPanic(p)
	l.post(func() { panic(p) })
}
