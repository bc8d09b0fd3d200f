package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bareclaw/internal/atomicfile"
	"bareclaw/internal/lockfile"
)

// A State says how far an upgrade is.
type State string

// The states of an upgrade. All but the first are final.
const (
	OnTrial   State = "trial"
	Confirmed State = "confirmed"
	WentBack  State = "went_back" // the old program is in place again
)

// maxStarts is the number of the start on trial at which the program, instead of serving,
// puts the old program back.
const maxStarts = 3

// A Trial is the record of the last upgrade. The worker that prepares the upgrade makes the
// record, the supervisor counts the starts of the new program and decides the trial, the new worker
// notes its own end, and the worker that serves afterwards notes the attempts to send the Summary.
type Trial struct {
	ID             string    `json:"id"`
	State          State     `json:"state"`
	Program        Place     `json:"program"` // place of the replaced program
	From           Side      `json:"from"`
	To             Side      `json:"to"`
	Channel        string    `json:"channel,omitempty"` // gets the Summary
	BeganAt        time.Time `json:"began_at"`
	EndedAt        time.Time `json:"ended_at,omitzero"`
	Reason         string    `json:"reason,omitempty"`  // why the gateway went back
	Starts         int       `json:"starts"`            // of the new program
	Leaving        bool      `json:"leaving,omitempty"` // the new program was told to end meanwhile
	NotifyAttempts int       `json:"tells,omitempty"`   // pushes of the Summary of which nothing was sent
	Notified       bool      `json:"told,omitempty"`    // the channel got the Summary, or all attempts are over
}

// A Side is one of the two programs.
type Side struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// Name is the record's file name in the state directory.
const Name = "upgrade.json"

// Load returns the record in a state directory, nil if there is none.
func Load(stateDir string) (*Trial, error) {
	b, err := os.ReadFile(filepath.Join(stateDir, Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var t Trial
	if err != nil {
		return nil, fmt.Errorf("read the record of the last upgrade: %w", err)
	}
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrDamaged, filepath.Join(stateDir, Name), err)
	}
	return &t, nil
}

// ErrDamaged means that the result of the last upgrade is unknown. The next upgrade replaces
// the record.
var ErrDamaged = errors.New("the record of the last upgrade is damaged")

// Save writes the record, as a whole and durably.
func (t *Trial) Save(stateDir string) error {
	// WriteJSON never shares a temporary file: supervisor and worker may save at the same time.
	if err := atomicfile.WriteJSON(filepath.Join(stateDir, Name), t); err != nil {
		return fmt.Errorf("write the record of the upgrade: %w", err)
	}
	return nil
}

// Amend changes the record of an upgrade that is on trial, and returns the record, nil if there is
// none. Worker and supervisor may do so at the same time.
func Amend(stateDir string, change func(*Trial)) (*Trial, error) {
	lock, err := lockfile.Open(filepath.Join(stateDir, Name+".lock"), lockfile.Acquire)
	if err != nil {
		return nil, fmt.Errorf("lock the record of the upgrade: %w", err)
	}
	defer func() { _ = lock.Close() }()
	t, err := Load(stateDir)
	if err == nil && t != nil && t.State == OnTrial {
		change(t)
		err = t.Save(stateDir)
	}
	return t, err
}

// GoBack puts the old program back in place after a trial that failed, ends and saves the
// record, and returns the path of the old program, empty if there is none. The error names
// the steps that failed.
func (t *Trial) GoBack(stateDir string, why error) (path string, err error) {
	errs := []error{t.Program.Recover(t.From.SHA256)}
	path = t.Program.Path()
	if err := t.Program.Rollback(); err != nil {
		errs = append(errs, err)
		path = t.Program.Old()
	}
	if _, err := os.Stat(path); err != nil {
		path = ""
	}
	t.End(WentBack, why.Error())
	return path, errors.Join(append(errs, t.Save(stateDir))...)
}

// End makes the record final. The reason is why it went back.
func (t *Trial) End(s State, reason string) {
	t.State, t.Reason, t.EndedAt = s, reason, time.Now().UTC()
}

// Summary returns a sentence for a person: what became of the upgrade, or that it is on
// trial.
func (t *Trial) Summary() string {
	switch t.State {
	case Confirmed:
		return fmt.Sprintf("The gateway was upgraded from %s to %s.", t.From.Version, t.To.Version)
	case WentBack:
		return fmt.Sprintf("The gateway went back from %s to %s: %s", t.To.Version, t.From.Version, t.Reason)
	}
	return fmt.Sprintf("The gateway tries %s instead of %s.", t.To.Version, t.From.Version)
}

// A Verdict says what an upgrade on trial means for a supervisor that starts its first worker.
type Verdict int

// The verdicts.
const (
	NoTrial  Verdict = iota // the program of this process is not on trial
	Go                      // it is, and may be started
	GoneBack                // it was, and the old program is in place again: start that
)

// CountStart counts the start of a new program's worker. The supervisor counts it, since the worker
// may be one that does nothing. The start after an end that was asked for does not count.
func CountStart(stateDir string) (*Trial, error) {
	return Amend(stateDir, func(t *Trial) {
		if !t.Leaving {
			t.Starts++
		}
		t.Leaving = false
	})
}

// Begin judges, in a supervisor without a worker, whether its program is on trial, and counts the
// start. Instead of the third start it puts the old program back in place. self is the path of the
// process's program. Nothing is counted while another process holds the state directory: a gateway
// that leaves, or one that has nothing to do with this process. After an error the verdict holds all
// the same.
func Begin(stateDir, self string) (*Trial, Verdict, error) {
	t, err := Load(stateDir)
	if err != nil || t == nil || t.State != OnTrial {
		return t, NoTrial, err
	}
	sum, err := Sum(Running(self))
	if err != nil || sum != t.To.SHA256 {
		return t, NoTrial, err
	}
	if lockfile.IsStateHeld(stateDir) {
		return t, Go, nil
	}
	counted, err := CountStart(stateDir)
	if err != nil {
		return t, Go, err
	}
	if t = counted; t.Starts < maxStarts {
		return t, Go, nil
	}
	if err := t.Program.Rollback(); err != nil {
		return t, Go, err
	}
	t.End(WentBack, fmt.Sprintf("It was started %d times and did not stay.", t.Starts))
	return t, GoneBack, t.Save(stateDir)
}

// Judge reports, in a worker that holds the state directory, whether the worker's program is on
// trial. What counts is the program that runs: the file at its path may have been replaced since
// the start. If the worker runs the old program, the upgrade was cut short, and Judge puts the old
// file back. self is the path of the process's program.
func Judge(stateDir, self string) (t *Trial, onTrial bool, err error) {
	t, err = Load(stateDir)
	if err != nil || t == nil || t.State != OnTrial {
		return t, false, err
	}
	runs, err := Sum(Running(self))
	if err != nil || runs == t.To.SHA256 {
		return t, err == nil, err
	}
	switch inPlace, err := Sum(t.Program.Path()); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return t, false, err
	case inPlace != t.To.SHA256: // the new program was not put in place, or has been replaced since
		t.End(WentBack, "It was cut short. Try again.")
		return t, false, t.Save(stateDir)
	case runs == t.From.SHA256:
		_, err := t.GoBack(stateDir, errors.New("the gateway was killed, or crashed, before the new program could take over. Try again"))
		return t, false, err
	}
	return t, false, nil // somebody tries another program
}
