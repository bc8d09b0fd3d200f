package supervisor

import (
	"errors"
	"os"
	"syscall"
	"time"

	"bareclaw/heartbeat/program"
	"bareclaw/internal/lockfile"
)

const (
	// trialTime is how long a new program must serve in good health.
	trialTime = 30 * time.Second
	// lookTime is the time between two reports of a worker's health.
	lookTime = time.Second
	// maxMisses is how many bad reports in a row end a trial: a busy machine may be slow.
	maxMisses = 3
	// maxSilence is how long a worker may report nothing.
	maxSilence = 12 * time.Second
	// endGrace is how long a program that cannot stay may take to end by itself.
	endGrace = 5 * time.Second
)

// TrialVariable shortens a trial in tests: a duration, as of time.ParseDuration.
const TrialVariable = "BARECLAW_TEST_TRIAL"

// TrialTimes returns how long a trial takes, and how often a worker on trial reports its
// health.
func TrialTimes() (whole, look time.Duration) {
	if d, err := time.ParseDuration(os.Getenv(TrialVariable)); err == nil && d > 0 {
		return d, max(d/30, 10*time.Millisecond)
	}
	return trialTime, lookTime
}

// A trial counts how the worker of a new program is until the program stays or goes.
type trial struct {
	until  time.Time
	misses int
}

// report takes a report of the worker. An error means that the program cannot stay.
func (t *trial) report(problem string) (over bool, err error) {
	if problem == "" {
		t.misses = 0
		return time.Now().After(t.until), nil
	}
	if t.misses++; t.misses >= maxMisses {
		return false, errors.New(problem)
	}
	return false, nil
}

// beginTrial begins the trial of a worker that serves, which a silent worker does not survive.
func (s *supervisor) beginTrial(w *worker) {
	whole, _ := TrialTimes()
	s.trial = &trial{until: time.Now().Add(whole)}
	w.bound(maxSilence)
}

func (s *supervisor) onHealth(w *worker, problem string) {
	if s.trial == nil || w != s.current || w.failed != nil || w.told {
		return
	}
	w.bound(maxSilence)
	if problem != "" {
		s.Log.Warn("the new program is not well", "err", problem)
	}
	switch over, err := s.trial.report(problem); {
	case err != nil:
		s.reject(w, err)
	case over:
		s.confirm(w)
	}
}

// reject ends a worker whose program cannot stay. When the worker has ended, the earlier
// program goes on.
func (s *supervisor) reject(w *worker, why error) {
	w.failed = why
	w.signal(syscall.SIGTERM)
	w.bound(endGrace)
}

// confirm makes the program on trial the one that stays.
func (s *supervisor) confirm(w *worker) {
	s.trial, w.trial = nil, false
	w.unbound()
	w.release()
	t, err := program.Amend(s.StateDir, func(t *program.Trial) { t.End(program.Confirmed, "") })
	if err != nil || t == nil {
		s.Log.Error("the upgrade is not recorded", "err", err)
	} else {
		s.Log.Info("upgraded", "from", t.From.Version, "to", t.To.Version)
	}
	w.tell(message{Kind: msgTrialOver})
}

// isCondemned reports whether the end of a worker is the fault of its program, which is on trial. A
// first worker that says why it cannot begin may have met a wrong setting or another gateway: then
// the number of starts decides. So it does while another process holds the state directory.
func (s *supervisor) isCondemned(w *worker) bool {
	switch {
	case w.failedForNow:
		return false
	case w.heir || w.phase >= starting:
		return w.failed != nil || !w.told
	}
	return w.failed == nil && !w.told && !lockfile.IsStateHeld(s.StateDir)
}

// goBack puts the earlier program back after a trial that failed, and returns the path of
// the program to start.
func (s *supervisor) goBack(why error) (path string) {
	s.trial = nil
	t, err := program.Load(s.StateDir)
	if err != nil || t == nil || t.State != program.OnTrial {
		s.Log.Error("the record of the upgrade is lost", "err", err)
		return s.known()
	}
	s.Log.Error("going back to the program before", "from", t.To.Version, "to", t.From.Version, "err", why)
	path, err = t.GoBack(s.StateDir, why)
	if err != nil {
		s.Log.Error("going back is not complete", "err", err)
	}
	if path == "" {
		return s.known()
	}
	return path
}
