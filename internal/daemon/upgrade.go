package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/core/ledger"
	"bareclaw/heartbeat/program"
	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/buildinfo"
)

// upgrades looks after the program that the gateway runs: another one takes its place, on
// trial, and the channel that asked is told what became of it.
type upgrades struct {
	cfg     config.Config
	log     *slog.Logger
	self    string   // path of this program
	environ []string // of the tool chain
	parent  *supervisor.Parent
	ledger  func() *ledger.Ledger
	push    *core.PushRegistry

	onTrial atomic.Bool // this program was upgraded to, and may have to go again
	verdict sync.Mutex  // held while the record of an upgrade that is over is read, told and written
}

// lookTimeout is how long one look at a program on trial may take.
const lookTimeout = 3 * time.Second

// A candidate is the program of a restart.
type candidate struct {
	path  string
	trial *program.Trial // of a program that was put in place; nil for none
	hold  *os.File       // keeps others from replacing the program; nil for nothing
}

func (c candidate) release() {
	if c.hold != nil {
		_ = c.hold.Close()
	}
}

// placeUpgrade puts another program in the place of this one. After an error everything is
// as before.
func (u *upgrades) placeUpgrade(ctx context.Context, o api.UpgradeRequest) (c candidate, err error) {
	place, err := program.PlaceOf(u.self)
	if err != nil {
		return c, err
	}
	if c.hold, err = place.Hold(); err != nil {
		return c, err
	}
	path := o.Path
	if o.Rollback {
		path, err = place.Earlier()
	}
	var sum string
	if err == nil {
		sum, err = place.Stage(path)
	}
	if err == nil {
		c.path = place.Path()
		c.trial, err = u.replaceProgram(ctx, place, sum, o.Channel)
	}
	if err == nil && c.trial == nil {
		err = fmt.Errorf("that is the program that runs already, %s", buildinfo.Version())
	}
	if err != nil {
		c.release()
	}
	return c, err
}

// placeBuild builds the source, and puts the program in place unless this one is the same.
// After an error everything is as before.
func (u *upgrades) placeBuild(ctx context.Context, source string) (c candidate, err error) {
	place := program.Place(program.Built(u.cfg.StateDir))
	if err := os.MkdirAll(filepath.Dir(place.Path()), 0o700); err != nil {
		return c, fmt.Errorf("make room for the new program: %w", err)
	}
	if c.hold, err = place.Hold(); err != nil {
		return c, err
	}
	err = u.build(ctx, source, place.Next())
	var sum string
	if err == nil {
		sum, err = program.Sum(place.Next())
	}
	if err == nil {
		c.trial, err = u.replaceProgram(ctx, place, sum, "")
	}
	if err != nil {
		c.release()
		return c, err
	}
	c.path = place.Path()
	if c.trial == nil {
		c.path = u.self
	}
	return c, nil
}

// replaceProgram puts the staged program of a place on trial, and returns the record. The
// record is nil if this process runs the same program: then nothing is replaced.
func (u *upgrades) replaceProgram(ctx context.Context, place program.Place, sum, channel string) (t *program.Trial, err error) {
	t = &program.Trial{ID: uuid.NewString(), State: program.OnTrial, Program: place, Channel: channel, BeganAt: time.Now().UTC()}
	t.From.Version, t.To.SHA256 = buildinfo.Version(), sum
	t.From.SHA256, err = program.Sum(program.Running(u.self))
	if err == nil && t.From.SHA256 == sum {
		place.Discard()
		return nil, nil
	}
	if err == nil {
		t.To.Version, err = u.examine(ctx, place)
	}
	if err != nil {
		place.Discard()
		return nil, err
	}
	u.tellOnce(ctx) // of the upgrade before, whose record this one replaces
	u.verdict.Lock()
	defer u.verdict.Unlock()
	err = place.KeepRunning(u.self)
	if err == nil {
		err = t.Save(u.cfg.StateDir)
	}
	if err == nil {
		err = place.Swap()
	}
	if err != nil {
		place.Discard()
		t.End(program.WentBack, err.Error())
		return nil, errors.Join(err, t.Save(u.cfg.StateDir))
	}
	return t, nil
}

// examine asks a staged program for its version, and whether it can read the ledger.
func (u *upgrades) examine(ctx context.Context, place program.Place) (version string, err error) {
	info, err := program.Ask(ctx, place.Next())
	if err != nil {
		return "", err
	}
	file, err := ledger.Inspect(filepath.Join(u.cfg.StateDir, "ledger.db"))
	if err != nil {
		return "", err
	}
	return info.Version, info.Reads(file.MinReader)
}

// revert puts the old program back when a candidate could not take over.
func (u *upgrades) revert(c candidate, why error) {
	if c.trial == nil {
		return
	}
	u.log.Error("going back to the program before", "from", c.trial.To.Version, "to", c.trial.From.Version, "err", why)
	if _, err := c.trial.GoBack(u.cfg.StateDir, why); err != nil {
		u.log.Error("going back is not complete", "err", err)
	}
}

// lookAt returns why the daemon with that pid is not well.
func (u *upgrades) lookAt(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("it does not answer within %s", lookTimeout))
	defer cancel()
	var h api.Health
	err := client.OverSocket(client.Socket(u.cfg)).Do(ctx, "GET", api.PathHealth, nil, &h)
	switch {
	case err != nil:
		return err
	case h.PID != pid:
		return fmt.Errorf("process %d answers in its place", h.PID)
	case !h.Ready:
		return errors.New("it is not ready")
	case h.Ledger == nil:
		return errors.New("it cannot read the ledger")
	case h.Ledger.Problem != "" && !noRoom(u.cfg.StateDir): // the old program would not even start then
		return fmt.Errorf("it cannot write the ledger: %s", h.Ledger.Problem)
	}
	return nil
}

// noRoom reports whether a file system is full.
func noRoom(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 1<<20
}

// takeTrial finds, in a process that begins, whether its program is on trial. A program
// that could not stay is replaced by the old one.
func (u *upgrades) takeTrial() error {
	t, verdict, err := program.Begin(u.cfg.StateDir, u.self)
	switch {
	case err != nil:
		u.log.Error("the last upgrade is not looked at", "err", err)
		u.onTrial.Store(verdict == program.Go) // though its start could not be counted
	case verdict == program.Go:
		u.onTrial.Store(true)
		u.log.Info("this program is on trial", "from", t.From.Version, "to", t.To.Version, "start", t.Starts)
	case verdict == program.GoneBack:
		u.log.Error("going back to the program before", "from", t.To.Version, "to", t.From.Version, "err", t.Reason)
		if u.parent.IsHeir() {
			return errors.New(t.Reason) // the old program serves
		}
		return ErrStartAgain
	}
	return nil
}

// afterTrial reports the health of a program on trial until the program stays. Then, and
// where there is no trial, afterTrial tells who asked for the upgrade. It ends with ctx.
func (u *upgrades) afterTrial(ctx context.Context) {
	if u.onTrial.Load() && !u.reportHealth(ctx) {
		return
	}
	u.onTrial.Store(false)
	u.tellUpgrade(ctx)
}

// reportHealth reports to the supervisor how this program is, until the trial is over or
// ctx ends, and reports whether the program stays.
func (u *upgrades) reportHealth(ctx context.Context) bool {
	_, look := supervisor.TrialTimes()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-u.parent.TrialOver():
			return true
		case <-tick.C:
			if err := u.lookAt(ctx, os.Getpid()); ctx.Err() == nil {
				u.parent.Health(err)
			}
		}
	}
}

// leaveTrial notes that a program on trial ends because it was told to.
func (u *upgrades) leaveTrial() {
	if !u.onTrial.Load() {
		return
	}
	t, err := program.Load(u.cfg.StateDir)
	if err == nil && t != nil && t.State == program.OnTrial {
		t.Leaving = true
		err = t.Save(u.cfg.StateDir)
	}
	if err != nil {
		u.log.Error("the end of the trial is not noted", "err", err)
	}
}

// tellUpgrade tells the channel that asked for the last upgrade what became of it, once.
// What the other side does not take now is tried again. It ends with ctx.
func (u *upgrades) tellUpgrade(ctx context.Context) {
	_, look := supervisor.TrialTimes()
	first := looksToTell * look
	for pause := first; u.tellOnce(ctx); pause += first {
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
func (u *upgrades) tellOnce(ctx context.Context) (again bool) {
	u.verdict.Lock()
	defer u.verdict.Unlock()
	t, err := program.Load(u.cfg.StateDir)
	if err != nil || t == nil || t.Notified || t.State == program.OnTrial || ctx.Err() != nil {
		return false
	}
	log := u.log.With("upgrade", t.Summary())
	if t.Channel != "" {
		// Not with ctx: a push whose caller leaves is taken back, and the next process could
		// not send it. It ends with the adapter.
		err = u.push.Send(context.WithoutCancel(ctx), core.Push{ID: t.PushID(), Channel: core.ChannelKey(t.Channel), Text: t.Summary()})
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
				u.note(t)
				return true
			}
		}
	}
	log.Info("the last upgrade is over")
	t.Notified = true
	u.note(t)
	return false
}

// note writes the record of an upgrade, as far as that can be.
func (u *upgrades) note(t *program.Trial) {
	if err := t.Save(u.cfg.StateDir); err != nil {
		u.log.Error("upgrade not noted", "err", err)
	}
}

// lastUpgrade tells of the last upgrade; ok is false if there was none.
func (u *upgrades) lastUpgrade() (last api.Upgrade, ok bool, err error) {
	t, err := program.Load(u.cfg.StateDir)
	if errors.Is(err, program.ErrDamaged) { // which must not keep anybody from the next one
		u.log.Warn("what became of the last upgrade is not known", "err", err)
		return last, false, nil
	}
	if err != nil || t == nil {
		return last, false, err
	}
	if u.onTrial.Load() { // the supervisor's verdict may be there, and this process not know yet
		t.State, t.EndedAt = program.OnTrial, time.Time{}
	}
	return api.Upgrade{
		State: string(t.State), From: t.From.Version, To: t.To.Version, Program: t.Program.Path(), Channel: t.Channel,
		BeganAt: t.BeganAt, EndedAt: t.EndedAt, Reason: t.Reason,
	}, true, nil
}
