package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core"
	"bareclaw/heartbeat/program"
	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/wait"
)

// lookTimeout is how long one look at a program on trial may take.
const lookTimeout = 3 * time.Second

func (r *restarts) lookAt(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTimeout, fmt.Errorf("it does not answer within %s", lookTimeout))
	defer cancel()
	var h api.Health
	err := client.OverSocket(client.Socket(r.cfg)).Do(ctx, "GET", api.PathHealth, nil, &h)
	switch {
	case err != nil:
		return err
	case h.PID != pid:
		return fmt.Errorf("process %d answers in its place", h.PID)
	case !h.Ready:
		return errors.New("it is not ready")
	case h.Ledger == nil:
		return errors.New("it cannot read the ledger")
	case h.Ledger.Problem != "" && !noRoom(r.cfg.StateDir()): // the old program would not even start then
		return fmt.Errorf("it cannot write the ledger: %s", h.Ledger.Problem)
	}
	return nil
}

func noRoom(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Bavail*uint64(st.Bsize) < 1<<20
}

// takeTrial finds out at the start of this process whether its program is on trial. An upgrade that
// was cut short is over.
func (r *restarts) takeTrial() {
	t, onTrial, err := program.Judge(r.cfg.StateDir(), r.self)
	r.onTrial.Store(onTrial)
	switch {
	case err != nil:
		r.log.Error("the record of the last upgrade is not used", "err", err)
	case onTrial:
		r.log.Info("this program is on trial", "from", t.From.Version, "to", t.To.Version, "start", t.Starts)
	}
}

// afterTrial reports the health of a program on trial until the trial is over. Then, or at
// once without a trial, afterTrial reports the last upgrade's result. It ends with ctx.
func (r *restarts) afterTrial(ctx context.Context) {
	if r.onTrial.Load() && !r.reportHealth(ctx) {
		return
	}
	r.onTrial.Store(false)
	r.tellUpgrade(ctx)
}

// reportHealth reports to the supervisor how this program is, until the trial is over or
// ctx ends, and reports whether the program stays.
func (r *restarts) reportHealth(ctx context.Context) bool {
	_, look := supervisor.TrialTimes()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-r.parent.TrialOver():
			return true
		case <-tick.C:
			if err := r.lookAt(ctx, os.Getpid()); ctx.Err() == nil {
				r.parent.Health(err)
			}
		}
	}
}

// leaveTrial notes that a program on trial ends because it was told to.
func (r *restarts) leaveTrial() {
	if !r.onTrial.Load() {
		return
	}
	if _, err := program.Amend(r.cfg.StateDir(), func(t *program.Trial) { t.Leaving = true }); err != nil {
		r.log.Error("the end of the trial is not noted", "err", err)
	}
}

// tellUpgrade reports the last upgrade's result, once, to the channel that requested the
// upgrade. It tries again after a failure, until ctx ends.
func (r *restarts) tellUpgrade(ctx context.Context) {
	_, look := supervisor.TrialTimes()
	first := looksToTell * look
	for pause := first; r.tellOnce(ctx); pause += first {
		if wait.Sleep(ctx, pause) != nil {
			return // the next process tells it
		}
	}
}

const (
	// looksToTell is the first pause before the result is sent again, in looks at a trial: a
	// minute.
	looksToTell = 60
	// maxTells bounds the attempts to send the result.
	maxTells = 24
)

// tellOnce tries once to report the last upgrade's result, and returns whether to try again.
// The id of the push is that of the upgrade: after a kill the next process sends the same
// push, which arrives once.
func (r *restarts) tellOnce(ctx context.Context) (again bool) {
	r.verdict.Lock()
	defer r.verdict.Unlock()
	t, err := program.Load(r.cfg.StateDir())
	if err != nil || t == nil || t.Notified || t.State == program.OnTrial || ctx.Err() != nil {
		return false
	}
	log := r.log.With("upgrade", t.Summary())
	if t.Channel != "" {
		// Not with ctx: a push whose caller leaves is withdrawn, and the next process could not
		// send the push again. Send returns when the adapter ends.
		err = r.push.Send(context.WithoutCancel(ctx), core.Push{ID: t.ID, Channel: core.ChannelKey(t.Channel), Text: t.Summary()})
		if err != nil {
			log = log.With("channel", t.Channel, "not_told", err.Error())
		}
		switch refused, isRefused := errors.AsType[*core.PushError](err); {
		case err == nil || errors.Is(err, core.ErrNoPusher) || errors.Is(err, core.ErrKeyReused):
		case errors.Is(err, core.ErrClosed):
			return false // the next process tells it
		case !isRefused: // the push is not recorded, or its outcome is unknown
			log.Warn("the result of the upgrade is not reported yet")
			return true
		case refused.Kind == nil: // nothing of the push was sent
			if t.NotifyAttempts++; t.NotifyAttempts < maxTells {
				log.Warn("the result of the upgrade is not reported yet")
				r.note(t)
				return true
			}
		}
	}
	log.Info("the last upgrade is over")
	t.Notified = true
	r.note(t)
	return false
}

func (r *restarts) note(t *program.Trial) {
	if err := t.Save(r.cfg.StateDir()); err != nil {
		r.log.Error("the record of the upgrade is not written", "err", err)
	}
}

// lastUpgrade returns the last upgrade; without any upgrade its state is "none".
func (r *restarts) lastUpgrade() (api.Upgrade, error) {
	none := api.Upgrade{State: "none"}
	t, err := program.Load(r.cfg.StateDir())
	if errors.Is(err, program.ErrDamaged) { // must not prevent the next upgrade
		r.log.Warn("what became of the last upgrade is not known", "err", err)
		return none, nil
	}
	if err != nil || t == nil {
		return none, err
	}
	if r.onTrial.Load() { // the supervisor may have decided without this process knowing yet
		t.State, t.EndedAt = program.OnTrial, time.Time{}
	}
	return api.Upgrade{
		State:   string(t.State),
		From:    t.From.Version,
		To:      t.To.Version,
		Program: t.Program.Path(),
		Channel: t.Channel,
		BeganAt: t.BeganAt,
		EndedAt: t.EndedAt,
		Reason:  t.Reason,
	}, nil
}
