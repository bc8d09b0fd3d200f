package observe

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"bareclaw/observe"
)

// keepWriting has a write to a terminal or pipe without a reader fail, where it would end this process: an observer goes on
// without. The app that it starts keeps the usual treatment of the signal, which it would not if the signal were ignored.
func keepWriting() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// untilEnded returns a context that ends by a signal that ends this process: by one that a terminal sends to all its
// processes with the cause [observe.ErrInterrupted]. Stop gives the signals back.
func untilEnded(ctx context.Context) (ended context.Context, stop func()) {
	ended, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() { // ends with the context
		select {
		case s := <-signals:
			if s == syscall.SIGTERM {
				cancel(nil)
				return
			}
			cancel(observe.ErrInterrupted)
		case <-ended.Done():
		}
	}()
	return ended, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
