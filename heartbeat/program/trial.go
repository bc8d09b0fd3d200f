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
)

// A State says how far an upgrade is.
type State string

// The states of an upgrade. All but the first are final.
const (
	OnTrial   State = "trial"
	Confirmed State = "confirmed"
	WentBack  State = "went_back" // the old program is in place again
)

// maxStarts is how often a program may be started while it is on trial: the one that
// comes then goes back.
const maxStarts = 3

// A Trial is the record of the last upgrade. The record has one writer at a time: the
// worker that prepares the upgrade, the supervisor while the program is on trial, then the
// worker that serves.
type Trial struct {
	ID             string    `json:"id"`
	State          State     `json:"state"`
	Program        Place     `json:"program"` // that is replaced
	From           Side      `json:"from"`
	To             Side      `json:"to"`
	Channel        string    `json:"channel,omitempty"` // that hears what became of it
	BeganAt        time.Time `json:"began_at"`
	EndedAt        time.Time `json:"ended_at,omitzero"`
	Reason         string    `json:"reason,omitempty"`  // why it went back
	Starts         int       `json:"starts"`            // of the new program
	Leaving        bool      `json:"leaving,omitempty"` // the new program was told to end meanwhile
	NotifyAttempts int       `json:"tells,omitempty"`   // how often the Summary was refused and not sent: see PushID
	Notified       bool      `json:"told,omitempty"`    // the channel got the Summary, or nobody tries any more
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

// ErrDamaged means that nobody can say what became of the last upgrade. The next one
// makes a record of its own.
var ErrDamaged = errors.New("the record of the last upgrade is damaged")

// Save writes the record, as a whole and durably.
func (t *Trial) Save(stateDir string) error {
	// The temporary file is this process's own: a verdict and the end of the program on trial may meet.
	if err := atomicfile.WriteJSON(filepath.Join(stateDir, Name), t); err != nil {
		return fmt.Errorf("write the record of the upgrade: %w", err)
	}
	return nil
}

// GoBack puts the old program back in place after a trial that failed, ends and saves the
// record, and returns the path of the old program, empty if there is none. What could not
// be done is the error.
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

// PushID is the id of what the channel is told. What is known not to have been sent gets
// another one for the next attempt.
func (t *Trial) PushID() string {
	if t.NotifyAttempts == 0 {
		return t.ID
	}
	return fmt.Sprintf("%s:%d", t.ID, t.NotifyAttempts+1)
}

// A Verdict says what a process that has just started finds of an upgrade on trial.
type Verdict int

// The verdicts.
const (
	NoTrial  Verdict = iota // there is none, or it is not about this program
	Go                      // this is the new program, and it may go on
	GoneBack                // the old program is in place: start that
)

// Begin notes, in a process that has the state directory, that it begins: one that is
// on trial for the third time puts the old program back. self is its program's path.
func Begin(stateDir, self string) (*Trial, Verdict, error) {
	t, err := Load(stateDir)
	if err != nil || t == nil || t.State != OnTrial {
		return t, NoTrial, err
	}
	path, err := filepath.EvalSymlinks(self)
	if err != nil || Place(path) != t.Program {
		return t, NoTrial, err // somebody tries another program
	}
	sum, err := Sum(t.Program.Path())
	switch {
	case err != nil:
		return t, NoTrial, err
	case sum == t.To.SHA256:
	default: // it was not put in place, or was taken from it, and the record is not of it
		t.End(WentBack, "It was cut short.")
		return t, NoTrial, t.Save(stateDir)
	}
	if !t.Leaving {
		t.Starts++
	}
	t.Leaving = false
	if t.Starts < maxStarts {
		return t, Go, t.Save(stateDir)
	}
	if err := t.Program.Rollback(); err != nil {
		return t, Go, err
	}
	t.End(WentBack, fmt.Sprintf("It was started %d times and did not stay.", t.Starts))
	return t, GoneBack, t.Save(stateDir)
}
