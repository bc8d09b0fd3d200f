package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"bareclaw/core"
	"bareclaw/internal/mdtext"
	"bareclaw/internal/proc"
	"bareclaw/internal/wait"
	"bareclaw/observe"
	"bareclaw/observe/app"
	"bareclaw/observe/discovery"
)

const (
	// lookInterval is the time between two looks at the records of observers.
	lookInterval = 2 * time.Second
	// figuresInterval is how old the figures of observers may be that /health and /metrics show.
	figuresInterval = 15 * time.Second
	// tellTime bounds how long one attempt to tell of a dead observer may take.
	tellTime = 30 * time.Second
	// firstTellPause and lastTellPause bound the pause between two attempts, which grows.
	firstTellPause = lookInterval
	lastTellPause  = time.Minute
)

// tellings are the attempts to tell of a dead observer.
type tellings struct {
	pauses wait.Backoff
	next   time.Time // not before
}

// follow looks at the records of the observers until ctx ends, once the gateway serves.
func (o *observersPart) follow(ctx context.Context, serves <-chan struct{}) {
	select {
	case <-serves:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		o.look(ctx)
		_ = wait.Sleep(ctx, lookInterval) // an error means that ctx has ended
	}
}

// look tells people of observers that have died, and renews what is shown of the others. Without records
// it does next to nothing.
func (o *observersPart) look(ctx context.Context) {
	all, err := o.records.All()
	var running []string // the processes
	for i := range all {
		if o.records.IsLeft(&all[i]) {
			o.bury(ctx, &all[i])
		} else {
			running = append(running, all[i].Process())
		}
	}
	isKnown := slices.Equal(running, o.running) && (err == nil) == o.readable
	if isKnown && (len(running) == 0 || time.Since(o.asked) < figuresInterval) {
		return
	}
	o.running = running
	o.readable = err == nil
	o.asked = time.Now()
	shown := o.list(ctx)
	o.latest.Store(&shown)
}

// bury ends what a dead observer has left running, and tells the people of its channel, once.
func (o *observersPart) bury(ctx context.Context, r *discovery.Record) {
	if o.records.IsTold(r) {
		o.forget(r)
		return
	}
	tried := o.tried[r.Process()]
	if tried == nil {
		tried = &tellings{pauses: wait.Backoff{First: firstTellPause, Most: lastTellPause}}
		o.tried[r.Process()] = tried
	}
	if time.Now().Before(tried.next) {
		return
	}
	defer func() { tried.next = time.Now().Add(tried.pauses.Next()) }()
	if err := app.Sweep(ctx, string(o.records)); err != nil {
		o.log.Error("what a dead observer has left running cannot be ended", "directory", r.Dir, "err", err)
	}
	if err := discovery.RemovePort(r.Dir, r.Port); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.log.Warn("the port file of a dead observer is left", "directory", r.Dir, "err", err)
	}
	o.log.Warn("an observer has died", "observer", r.ID, "directory", r.Dir, "pid", r.PID, "channel", r.Channel)
	if err := o.tellDeath(ctx, r); err != nil {
		o.log.Error("nobody is told yet that an observer has died", "channel", r.Channel, "err", err)
		return
	}
	if err := o.records.SetTold(*r); err != nil {
		o.log.Error("it cannot be noted that people know of a dead observer", "observer", r.ID, "err", err)
		return
	}
	delete(o.tried, r.Process())
}

// tellDeath tells the people of an observer's channel that it has died. Under its id a push of which anything
// may have been sent before is not sent again. There is no error if nobody can be told, ever, or if it is the adapter's
// to send the rest.
func (o *observersPart) tellDeath(ctx context.Context, r *discovery.Record) error {
	if r.Channel == "" || r.Notify == string(observe.Off) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	err := o.push.Send(ctx, core.Push{
		ID:      uuid.NewSHA1(uuid.NameSpaceOID, []byte("observer died "+r.Process())).String(),
		Channel: core.ChannelKey(r.Channel),
		Text:    obituary(r),
	})
	isKind := func(kind error) bool { return errors.Is(err, kind) }
	switch {
	case errors.Is(err, core.ErrUnconfirmed):
		o.log.Warn("perhaps not all is told of an observer that has died", "channel", r.Channel, "err", err)
		return nil
	case slices.ContainsFunc([]error{core.ErrNoPusher, core.ErrNotAllowed, core.ErrBadContent, core.ErrKeyReused}, isKind):
		o.log.Warn("nobody can be told that an observer has died", "channel", r.Channel, "err", err)
		return nil
	}
	return err
}

// obituary says that an observer has died, and what to do.
func obituary(r *discovery.Record) string {
	how := "has ended unexpectedly"
	if boot, err := proc.BootID(); err == nil && boot != r.Boot {
		how = "has ended with the machine"
	}
	name := mdtext.Code(mdtext.Brief(filepath.Base(r.Dir), 100)) // else a chat makes links of it
	text := fmt.Sprintf("👁 The observer of %s %s: nobody looks at the app at %s any more", name, how, mdtext.Code(r.Proxy))
	if r.Target == "" {
		text += ", and the app has ended too"
	}
	return text + ". What was found is kept. Ask me to start it again, or run `bareclaw observe` in its directory."
}

// forget removes what is kept of a dead observer whose app is gone. Otherwise the next one takes the address from it.
func (o *observersPart) forget(r *discovery.Record) {
	if _, err := os.Stat(r.Dir); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := o.records.Forget(r.ID); err != nil {
		o.log.Warn("the record of a dead observer is left", "observer", r.ID, "err", err)
	}
}
