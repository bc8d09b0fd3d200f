package observe

import (
	"context"
	"sync"
)

// Loops are goroutines that are stopped together.
type loops struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// startLoops starts loops, each of which returns when its context ends: by stop, whatever becomes of ctx.
func startLoops(ctx context.Context, all ...func(context.Context)) *loops {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &loops{cancel: cancel}
	for _, loop := range all {
		l.running.Go(func() { loop(ctx) })
	}
	return l
}

// stop blocks until all have returned.
func (l *loops) stop() {
	l.cancel()
	l.running.Wait()
}

// finish is stop for loops that return by themselves: they may do so until ctx ends.
func (l *loops) finish(ctx context.Context) {
	defer context.AfterFunc(ctx, l.cancel)()
	l.running.Wait()
	l.cancel()
}
