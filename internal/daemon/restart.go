package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/httpapi/api"
	"bareclaw/core"
	"bareclaw/core/config"
	"bareclaw/core/ledger/sqlite"
	"bareclaw/heartbeat/program"
	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/buildinfo"
)

// restarts replaces this worker by a worker of the same program, or of a new program, which
// is then on trial. The channel that requested an upgrade gets the result.
type restarts struct {
	*base
	engine   *engine
	prepared chan struct{} // receives when another worker could take over; capacity 1

	ending  atomic.Bool // no restart any more
	onTrial atomic.Bool // this program is new, and is replaced by the old program if it fails
	verdict sync.Mutex  // held while the record of a finished upgrade is read, reported and written

	mu      sync.Mutex         // protects the fields below
	attempt *attempt           // a restart under way
	failure *api.FailedRestart // the last one; nil if none has failed
}

// An attempt is a restart that is being prepared. Whoever asks meanwhile shares the
// attempt.
type attempt struct {
	done    chan struct{}     // closed when err is known
	err     error             // why no other worker can take over
	answers []<-chan struct{} // closed when callers have their answer, which comes before the hand-over
}

// answerGrace bounds how long the hand-over waits for the answers of callers.
const answerGrace = 2 * time.Second

// errOnTrial refuses a restart while this program is on trial.
var errOnTrial = errors.New("a new program is on trial; try again when that is over, in half a minute")

// request has the supervisor start another worker. It returns nil when that worker is ready
// and about to take over, or the reason why no worker can.
func (r *restarts) request(ctx context.Context) error { return r.requestBy(ctx, nil) }

// requestBy is request for a caller whose answer needs this worker: the hand-over waits until
// answered is closed.
func (r *restarts) requestBy(ctx context.Context, answered <-chan struct{}) error {
	if r.onTrial.Load() {
		r.log.Error("not restarted", "err", errOnTrial)
		return errOnTrial
	}
	return r.begin(ctx, nil, answered)
}

// requestUpgrade is request with another program, which is on trial then.
func (r *restarts) requestUpgrade(ctx context.Context, o api.UpgradeRequest) error {
	if source := r.restartSource(); source != "" {
		return fmt.Errorf("every restart builds this gateway from %s: change the source and restart the gateway, or set BARECLAW_SOURCE=off", source)
	}
	if r.onTrial.Load() {
		return fmt.Errorf("%w: %w", httpapi.ErrUpgrading, errOnTrial)
	}
	return r.begin(ctx, &o, nil)
}

// begin begins an attempt, or shares the one under way, and waits for its end. An upgrade
// shares none.
func (r *restarts) begin(ctx context.Context, upgrade *api.UpgradeRequest, answered <-chan struct{}) error {
	r.mu.Lock()
	a := r.attempt
	switch {
	case a != nil && upgrade != nil:
		r.mu.Unlock()
		return fmt.Errorf("%w: a restart is under way", httpapi.ErrUpgrading)
	case a == nil:
		a = &attempt{done: make(chan struct{})}
		r.attempt = a
		go r.try(a, upgrade) // ends within the time that building and starting may take
	}
	if answered != nil {
		a.answers = append(a.answers, answered)
	}
	r.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *restarts) try(a *attempt, upgrade *api.UpgradeRequest) {
	a.err = r.startSuccessor(upgrade)
	r.mu.Lock()
	if a.err == nil && r.ending.Load() {
		a.err = core.ErrClosed
	}
	if a.err != nil {
		r.attempt = nil // the next one tries again
		r.failure = &api.FailedRestart{At: time.Now().UTC(), Error: a.err.Error()}
	}
	answers := a.answers
	r.mu.Unlock()
	close(a.done)
	if a.err != nil {
		r.log.Error("not restarted", "err", a.err)
		r.tellUpgrade(r.life)
		return
	}
	awaitAnswers(answers)
	r.prepared <- struct{}{} // capacity 1, and there is one attempt at a time
}

// awaitAnswers returns when all callers have their answers, or the grace is over.
func awaitAnswers(answers []<-chan struct{}) {
	late := time.After(answerGrace)
	for _, answered := range answers {
		select {
		case <-answered:
		case <-late:
			return
		}
	}
}

// startSuccessor starts a worker of the upgrade's program, of a build of the source, or else
// of this program, and returns when the worker is ready to take over. An error changes
// nothing.
func (r *restarts) startSuccessor(upgrade *api.UpgradeRequest) error {
	if r.ending.Load() {
		return core.ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	if err := r.engine.ledger.Probe(ctx); err != nil { // the new process could not begin
		return err
	}
	c, err := r.candidate(ctx, upgrade)
	if err != nil {
		return err
	}
	defer func() { _ = c.hold.Close() }() // nil is no file
	err = r.parent.Restart(c.path, c.trial != nil, c.hold)
	switch {
	case errors.Is(err, supervisor.ErrGone): // file and record are the next start's, which may be under way
		return fmt.Errorf("%w: %w", core.ErrClosed, err)
	case err != nil && c.trial != nil:
		r.log.Error("going back to the program before", "from", c.trial.To.Version, "to", c.trial.From.Version, "err", err)
		if _, err := c.trial.GoBack(r.cfg.StateDir(), err); err != nil {
			r.log.Error("going back is not complete", "err", err)
		}
	}
	return err
}

// lastFailure returns the last restart or upgrade since the start of this process that failed, nil
// if none has.
func (r *restarts) lastFailure() *api.FailedRestart {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// A candidate is the program of a restart.
type candidate struct {
	path  string
	trial *program.Trial // of a program that was put in place; nil for none
	hold  *os.File       // keeps others from replacing the program; nil for nothing
}

// candidate puts the program of an upgrade, or of the source if restarts build it, in place.
// Without either, the candidate is this program. After an error everything is as before.
func (r *restarts) candidate(ctx context.Context, upgrade *api.UpgradeRequest) (c candidate, err error) {
	if upgrade == nil && !r.restartBuilds() {
		return candidate{path: r.self}, runnable(r.self)
	}
	place := program.Place(program.Built(r.cfg.StateDir()))
	if upgrade != nil {
		place, err = program.PlaceOf(r.self)
	} else if err = os.MkdirAll(filepath.Dir(place.Path()), 0o700); err != nil {
		err = fmt.Errorf("make room for the new program: %w", err)
	}
	if err == nil {
		c.hold, err = place.Hold()
	}
	if err != nil {
		return c, err
	}
	c.path = place.Path()
	c.trial, err = r.stage(ctx, place, upgrade)
	if err == nil && c.trial == nil { // this program is the same
		c.path = r.self
		if upgrade != nil {
			err = fmt.Errorf("that is the program that runs already, %s", buildinfo.Version())
		}
	}
	if err != nil {
		_ = c.hold.Close() // nil is no file
	}
	return c, err
}

// stage copies or builds a program beside the one in place, and puts the new program in place.
func (r *restarts) stage(ctx context.Context, place program.Place, upgrade *api.UpgradeRequest) (t *program.Trial, err error) {
	var sum, path, channel string
	if upgrade == nil {
		if err = r.build(ctx, r.restartSource(), place.Next()); err == nil {
			sum, err = program.Sum(place.Next())
		}
	} else {
		path, channel = upgrade.Path, upgrade.Channel
		if upgrade.Rollback {
			path, err = place.Earlier()
		}
		if err == nil {
			sum, err = place.Stage(path)
		}
	}
	if err != nil {
		return nil, err
	}
	if t, err = r.replaceProgram(ctx, place, sum, channel); t == nil {
		place.Discard()
	}
	return t, err
}

// replaceProgram puts the staged program of a place on trial, and returns the record. The
// record is nil if this process runs the same program: then nothing is replaced.
func (r *restarts) replaceProgram(ctx context.Context, place program.Place, sum, channel string) (t *program.Trial, err error) {
	t = &program.Trial{ID: uuid.NewString(), State: program.OnTrial, Program: place, Channel: channel, BeganAt: time.Now().UTC()}
	t.From.Version, t.To.SHA256 = buildinfo.Version(), sum
	if t.From.SHA256, err = program.Sum(program.Running(r.self)); err != nil || t.From.SHA256 == sum {
		return nil, err
	}
	if t.To.Version, err = r.examine(ctx, place); err != nil {
		return nil, err
	}
	r.tellOnce(ctx) // of the upgrade before, whose record this one replaces
	r.verdict.Lock()
	defer r.verdict.Unlock()
	err = place.KeepRunning(r.self)
	if err == nil {
		err = t.Save(r.cfg.StateDir())
	}
	if err == nil {
		err = place.Swap()
	}
	if err != nil {
		t.End(program.WentBack, err.Error())
		return nil, errors.Join(err, t.Save(r.cfg.StateDir()))
	}
	return t, nil
}

func (r *restarts) examine(ctx context.Context, place program.Place) (version string, err error) {
	info, err := program.Ask(ctx, place.Next())
	if err != nil {
		return "", err
	}
	file, err := sqlite.Inspect(filepath.Join(r.cfg.StateDir(), "ledger.db"))
	if err != nil {
		return "", err
	}
	return info.Version, info.Reads(file.MinReader)
}

// buildTimeout bounds how long the Go tool chain may take on a restart.
const buildTimeout = 5 * time.Minute

// build builds the program of a source tree as the file next. What the compiler says is
// the error.
func (b *base) build(ctx context.Context, source, next string) error {
	began := time.Now()
	var out bytes.Buffer
	err := program.Build(ctx, source, next, b.environ, &out)
	switch says := strings.TrimSpace(strings.ToValidUTF8(out.String(), "\uFFFD")); {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w (BARECLAW_SOURCE=off restarts the program as it is)", err)
	case err != nil && says != "":
		return fmt.Errorf("%w:\n%s", err, says)
	case err != nil:
		return err
	}
	b.log.Info("built", "source", source, "path", next, "took", time.Since(began))
	return nil
}

// restartSource returns the source tree that a restart builds the program from, empty for
// none: the configured one, or that of a gateway that `go run` has started.
func (b *base) restartSource() string {
	switch {
	case b.cfg.Files.Source == config.SourceOff:
		return ""
	case b.cfg.Files.Source != "":
		return string(b.cfg.Files.Source)
	case program.IsTemporary(b.self) || b.self == program.Built(b.cfg.StateDir()):
		return builtFrom()
	}
	return ""
}

// restartBuilds reports whether a restart builds the program from a source tree.
func (b *base) restartBuilds() bool { return b.restartSource() != "" }

// knownSource returns the source tree of this program, empty if there is none on this
// machine.
func (b *base) knownSource() string {
	if b.cfg.Files.Source != "" && b.cfg.Files.Source != config.SourceOff {
		return string(b.cfg.Files.Source)
	}
	return builtFrom()
}

// builtFrom returns the source tree that this program was built from, empty if the tree is
// not known or is gone.
func builtFrom() string {
	_, file, _, ok := runtime.Caller(0) // not a path at all with -trimpath
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	if dir := filepath.Join(filepath.Dir(file), "../.."); program.IsSource(dir) {
		return dir
	}
	return ""
}

func runnable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("this program's file is gone: %w", err)
	case st.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", path)
	}
	return nil
}
