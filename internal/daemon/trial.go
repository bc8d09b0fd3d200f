package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/ledger"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/buildinfo"
	"bareclaw/internal/handover"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// A program that was upgraded to is on trial: the process that handed over to it stays
// for a while as its guard, and goes back to the old program unless the new one is
// healthy all that time. Where a service manager is told of a new main process, that
// waits too, so that the old one can go on in its own place.

const (
	// trialTime is how long a new program has to be healthy.
	trialTime = 30 * time.Second
	// lookAtTrial is how often that is looked at.
	lookAtTrial = time.Second
	// maxMisses is how often in a row it may not be: a busy machine may be slow.
	maxMisses = 3
	// lookTimeout is how long one look may take.
	lookTimeout = 3 * time.Second
	// trialGrace is how long a program that did not pass may take to end by itself.
	trialGrace = 5 * time.Second
	// trialSlack is how much longer than its time a trial may take to be decided.
	trialSlack = (maxMisses+1)*lookTimeout + trialGrace
)

// trialVariable shortens a trial in tests.
const trialVariable = "BARECLAW_TEST_TRIAL"

// trialTimes returns how long a trial takes, and how often it is looked at.
func trialTimes() (whole, look time.Duration) {
	if d, err := time.ParseDuration(os.Getenv(trialVariable)); err == nil && d > 0 {
		return d, max(d/30, 10*time.Millisecond)
	}
	return trialTime, lookAtTrial
}

// placeTrial puts another program in the place of this one, with a record of it, and
// returns that. After an error everything is as it was.
func (d *daemon) placeTrial(ctx context.Context, o api.UpgradeRequest) (*program.Trial, error) {
	place, err := program.PlaceOf(d.self)
	if err != nil {
		return nil, err
	}
	if d.place, err = place.Hold(); err != nil {
		return nil, err
	}
	t, err := d.replaceProgram(ctx, place, o)
	if err != nil {
		d.place()
	}
	return t, err
}

// replaceProgram is placeTrial for whoever holds the place.
func (d *daemon) replaceProgram(ctx context.Context, place program.Place, o api.UpgradeRequest) (_ *program.Trial, err error) {
	path := o.Path
	if o.Rollback {
		if path, err = place.Earlier(); err != nil {
			return nil, err
		}
	}
	t := &program.Trial{ID: uuid.NewString(), State: program.OnTrial, Program: place, Channel: o.Channel, BeganAt: time.Now().UTC()}
	t.From.Version = buildinfo.Version()
	if t.Guard, err = program.Self(); err == nil {
		t.From.SHA256, err = program.Sum(program.Running(place.Path())) // which is what this process can go back to
	}
	if err == nil {
		t.To.SHA256, err = place.Stage(path)
	}
	if err != nil {
		return nil, err
	}
	if t.To.Version, err = d.examine(ctx, place, t); err != nil {
		place.Discard()
		return nil, err
	}
	d.tellOnce(ctx) // of the one before, whose record this one takes the place of
	d.verdict.Lock()
	defer d.verdict.Unlock()
	err = place.KeepRunning()
	if err == nil {
		err = t.Save(d.cfg.StateDir)
	}
	if err == nil {
		err = place.Swap()
	}
	if err != nil {
		place.Discard()
		t.End(program.WentBack, err.Error())
		return nil, errors.Join(err, t.Save(d.cfg.StateDir))
	}
	return t, nil
}

// examine asks a program that was brought what it is.
func (d *daemon) examine(ctx context.Context, place program.Place, t *program.Trial) (version string, err error) {
	if t.From.SHA256 == t.To.SHA256 {
		return "", fmt.Errorf("that is the program that runs already, %s", t.From.Version)
	}
	info, err := program.Ask(ctx, place.Next())
	if err != nil {
		return "", err
	}
	file, err := ledger.Inspect(filepath.Join(d.cfg.StateDir, "ledger.db"))
	if err != nil {
		return "", err
	}
	return info.Version, info.Reads(file.MinReader)
}

// goBack puts the old program back after a trial that failed, and returns the path
// of the old program.
func (d *daemon) goBack(t *program.Trial, why error) (path string) {
	d.log.Error("going back to the program before", "from", t.To.Version, "to", t.From.Version, "err", why)
	path = d.self
	defer d.place()
	if err := t.Program.Recover(t.From.SHA256); err != nil {
		d.log.Error("the old program is gone", "err", err)
	}
	if err := t.Program.Rollback(); err != nil {
		d.log.Error("the old program is not in its place", "path", t.Program.Old(), "err", err)
		path = t.Program.Old()
	}
	t.End(program.WentBack, why.Error())
	d.note(t)
	return path
}

// guard watches a successor that is on trial, and says what became of it: nil when it
// has stayed healthy, else why not. errLeft means that it has ended as it was told to.
func (d *daemon) guard(ctx context.Context, s *handover.Successor) error {
	whole, look := trialTimes()
	until, misses := time.Now().Add(whole), 0
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.Ended():
			if d.leftTrial(s) {
				return errLeft
			}
			return fmt.Errorf("the new program ended while it was on trial: %w", s.Err())
		case <-tick.C:
		}
		err := d.lookAt(ctx, s.PID())
		switch {
		case ctx.Err() != nil:
			continue
		case err == nil:
			if misses = 0; time.Now().After(until) {
				return nil
			}
		case d.leftTrial(s): // its end is waited for
		default:
			d.log.Warn("the new program is not well", "err", err)
			if misses++; misses == maxMisses {
				endProcess(s)
				return err
			}
		}
	}
}

// errLeft means that a program on trial has ended, or ends, as it was told to.
var errLeft = errors.New("it was told to end")

// leftTrial reports whether a successor has been told to end.
func (d *daemon) leftTrial(s *handover.Successor) bool {
	if t, err := program.Load(d.cfg.StateDir); err == nil && t != nil && t.Leaving {
		return true
	}
	h, err := lockfile.ReadHolder(d.lockPath())
	return err == nil && h.PID == s.PID() && h.Ended
}

// lookAt returns why the daemon with that pid is not well.
func (d *daemon) lookAt(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("it does not answer within %s", lookTimeout))
	defer cancel()
	var h api.Health
	err := client.OverSocket(d.apiSocket()).Do(ctx, "GET", api.PathHealth, nil, &h)
	switch {
	case err != nil:
		return err
	case h.PID != pid:
		return fmt.Errorf("process %d answers in its place", h.PID)
	case !h.Ready:
		return errors.New("it is not ready")
	case h.Ledger == nil:
		return errors.New("it cannot read the ledger")
	case h.Ledger.Problem != "" && !noRoom(d.cfg.StateDir): // the old program would not even start then
		return fmt.Errorf("it cannot write the ledger: %s", h.Ledger.Problem)
	}
	return nil
}

// noRoom reports whether a file system is full.
func noRoom(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 1<<20
}

// endProcess has a successor end by itself, or ends it.
func endProcess(s *handover.Successor) {
	if start, err := proc.StartTime(s.PID()); err == nil {
		_ = proc.Signal(s.PID(), start, syscall.SIGTERM) // it may have ended
	}
	grace := time.NewTimer(trialGrace)
	defer grace.Stop()
	select {
	case <-s.Ended():
	case <-grace.C:
		s.Kill()
	}
}

// confirm makes the program that was on trial the one that stays.
func (d *daemon) confirm(t *program.Trial) {
	if d.place != nil { // nil in a program that confirms itself
		d.place()
	}
	t.End(program.Confirmed, "")
	if err := t.Save(d.cfg.StateDir); err != nil {
		d.log.Error("upgrade not noted", "err", err) // the new process looks at it when nobody watches it any more
		return
	}
	d.log.Info("upgraded", "from", t.From.Version, "to", t.To.Version)
}

// takeTrial finds, in a process that begins, whether its program is on trial. One that
// could not stay is replaced by the old one, in this process.
func (d *daemon) takeTrial() error {
	t, verdict, err := program.Begin(d.cfg.StateDir, d.self)
	switch {
	case err != nil:
		d.log.Error("the last upgrade is not looked at", "err", err)
		d.onTrial.Store(verdict == program.Go) // though its start could not be counted
	case verdict == program.Go:
		d.onTrial.Store(true)
		d.log.Info("this program is on trial", "from", t.From.Version, "to", t.To.Version, "start", t.Starts)
	case verdict == program.GoneBack:
		d.log.Error("going back to the program before", "from", t.To.Version, "to", t.From.Version, "err", t.Reason)
		if d.predecessor != nil {
			return errors.New(t.Reason) // that has the old program
		}
		return d.beginAnew(d.self, nil)
	}
	return nil
}

// afterTrial waits, in a program that is on trial, until that is over. Then, and where
// there is no trial, it makes of the ledger what only this program and later ones
// read, and tells who asked for the upgrade. It ends with ctx.
func (d *daemon) afterTrial(ctx context.Context) {
	if d.onTrial.Load() && !d.awaitTrial(ctx) {
		return
	}
	d.onTrial.Store(false)
	if err := d.engine.ledger.Settle(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, core.ErrClosed) {
		d.log.Error("ledger not settled; it is tried again at the next start", "err", err)
	}
	d.tellUpgrade(ctx)
}

// awaitTrial waits until the trial of this program is over, and reports whether it
// stays. Where nobody watches it, it is for this process to say so.
func (d *daemon) awaitTrial(ctx context.Context) bool {
	whole, look := trialTimes()
	tick := time.NewTicker(look)
	defer tick.Stop()
	var alone time.Time // since when nobody watches
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		t, err := program.Load(d.cfg.StateDir)
		switch {
		case err != nil || t == nil:
			d.log.Error("the record of the upgrade is lost", "err", err)
			return true
		case t.State != program.OnTrial:
			return t.State == program.Confirmed
		case t.Guarded() || d.engine.ledger.Problem() != nil:
			alone = time.Time{}
		case alone.IsZero():
			alone = time.Now()
		case time.Since(alone) >= whole:
			d.confirm(t)
			return true
		}
	}
}

// leaveTrial notes that a program on trial ends because it was told to.
func (d *daemon) leaveTrial() {
	if !d.onTrial.Load() {
		return
	}
	t, err := program.Load(d.cfg.StateDir)
	if err == nil && t != nil && t.State == program.OnTrial {
		t.Leaving = true
		err = t.Save(d.cfg.StateDir)
	}
	if err != nil {
		d.log.Error("the end of the trial is not noted", "err", err)
	}
}

// tellUpgrade tells the channel that asked for the last upgrade what became of it, once.
// What the other side does not take now is tried again. It ends with ctx.
func (d *daemon) tellUpgrade(ctx context.Context) {
	_, look := trialTimes()
	first := looksToTell * look
	for pause := first; d.tellOnce(ctx); pause += first {
		select {
		case <-ctx.Done():
			return // the next process tells it
		case <-time.After(pause):
		}
	}
}

const (
	// looksToTell is how many looks at a trial are as long as the first pause before a
	// verdict that was not taken is sent again: a minute.
	looksToTell = 60
	// maxTells is how often that is tried.
	maxTells = 24
)

// tellOnce tries once to tell what became of the last upgrade, and reports whether that
// is to be tried again. The record says under which id: a process that is killed
// meanwhile is followed by one that sends the same, which is there once.
func (d *daemon) tellOnce(ctx context.Context) (again bool) {
	d.verdict.Lock()
	defer d.verdict.Unlock()
	t, err := program.Load(d.cfg.StateDir)
	if err != nil || t == nil || t.Notified || t.State == program.OnTrial || ctx.Err() != nil {
		return false
	}
	log := d.log.With("upgrade", t.Summary())
	if t.Channel != "" {
		// Not with ctx: a push whose caller leaves is taken back, and the next process could
		// not send it. It ends with the adapter.
		err = d.push.Send(context.WithoutCancel(ctx), core.Push{ID: t.PushID(), Channel: core.ChannelKey(t.Channel), Text: t.Summary()})
		if err != nil {
			log = log.With("channel", t.Channel, "not_told", err.Error())
		}
		switch refused, isRefused := errors.AsType[*core.PushError](err); {
		case err == nil || errors.Is(err, core.ErrNoPusher) || errors.Is(err, core.ErrKeyReused):
		case errors.Is(err, core.ErrClosed):
			return false // the next process tells it
		case !isRefused: // it is not on record, or it is not known what became of it
			log.Warn("the verdict is to be told again")
			return true
		case refused.Kind == nil: // it was not sent, and under this id never will be
			if t.NotifyAttempts++; t.NotifyAttempts < maxTells {
				log.Warn("the verdict is to be told again")
				d.note(t)
				return true
			}
		}
	}
	log.Info("the last upgrade is over")
	t.Notified = true
	d.note(t)
	return false
}

// note writes the record of an upgrade, as far as that can be.
func (d *daemon) note(t *program.Trial) {
	if err := t.Save(d.cfg.StateDir); err != nil {
		d.log.Error("upgrade not noted", "err", err)
	}
}

// lastUpgrade tells of the last upgrade; ok is false if there was none.
func (d *daemon) lastUpgrade() (u api.Upgrade, ok bool, err error) {
	t, err := program.Load(d.cfg.StateDir)
	if errors.Is(err, program.ErrDamaged) { // which must not keep anybody from the next one
		d.log.Warn("what became of the last upgrade is not known", "err", err)
		return u, false, nil
	}
	if err != nil || t == nil {
		return u, false, err
	}
	if d.onTrial.Load() { // the guard's verdict may be there, and this process does not know of it yet
		t.State, t.EndedAt = program.OnTrial, time.Time{}
	}
	return api.Upgrade{
		State: string(t.State), From: t.From.Version, To: t.To.Version, Program: t.Program.Path(), Channel: t.Channel,
		BeganAt: t.BeganAt, EndedAt: t.EndedAt, Reason: t.Reason,
	}, true, nil
}
