package heartbeat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bareclaw/core/config"
	"bareclaw/internal/atomicfile"
)

const (
	// declinedName is the file that records the user's no. It holds nothing.
	declinedName = "heartbeat-uninstalled"
	// consentName is the file that records what the user has agreed to.
	consentName = "heartbeat-consent"
)

// A Consent is what the user has said about the heartbeat: to `bareclaw init`, or by
// installing or uninstalling it.
type Consent string

// The consents. A tick that asks the agent costs money, or counts against a plan's
// limits; one that only revives the gateway costs nothing.
const (
	ConsentNone   Consent = "" // nobody was asked
	ConsentAsk    Consent = "ask"
	ConsentRevive Consent = "revive"
	ConsentNo     Consent = "no"
)

// ReadConsent returns the consent that is on record in a state directory. The error is
// about a record that cannot be read; the consent is ConsentNone then.
func ReadConsent(stateDir string) (Consent, error) {
	if Declined(stateDir) {
		return ConsentNo, nil
	}
	path := filepath.Join(stateDir, consentName)
	text, err := os.ReadFile(path)
	switch c := Consent(strings.TrimSpace(string(text))); {
	case errors.Is(err, fs.ErrNotExist):
		return ConsentNone, nil
	case err != nil:
		return ConsentNone, fmt.Errorf("read what was agreed to about the heartbeat: %w", err)
	case c != ConsentAsk && c != ConsentRevive:
		return ConsentNone, fmt.Errorf("%s holds neither %q nor %q; `bareclaw heartbeat install` writes it again", path, ConsentAsk, ConsentRevive)
	default:
		return c, nil
	}
}

// SaveConsent records what the user has said, in place of what was said before. The
// order of its steps leaves the no where a process dies between them: no paid call
// follows from half an answer.
func SaveConsent(stateDir string, c Consent) error {
	if err := saveConsent(stateDir, c); err != nil {
		return fmt.Errorf("record what was agreed to about the heartbeat: %w", err)
	}
	return nil
}

func saveConsent(stateDir string, c Consent) error {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return err
	}
	declined, agreed := filepath.Join(stateDir, declinedName), filepath.Join(stateDir, consentName)
	switch c {
	case ConsentNo:
		return errors.Join(os.WriteFile(declined, nil, 0o600), remove(agreed))
	case ConsentNone:
		return errors.Join(remove(agreed), remove(declined))
	}
	if err := writeConsent(stateDir, c); err != nil {
		return err
	}
	return remove(declined)
}

// writeConsent records an agreement beside a no, which goes on to count.
func writeConsent(stateDir string, c Consent) error {
	return atomicfile.Write(filepath.Join(stateDir, consentName), []byte(c+"\n"), 0o600)
}

// remove removes a file that need not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Declined reports whether the user has said no, or has uninstalled the heartbeat.
func Declined(stateDir string) bool {
	_, err := os.Stat(filepath.Join(stateDir, declinedName))
	return err == nil
}

// Asks reports whether ticks ask the agent: as BARECLAW_HEARTBEAT says, else as was agreed.
// Where nothing was agreed, somebody calls the tick by hand, or an older version, which
// knew no other ticks, has installed it. After a no a tick comes from a job that could not
// be taken out, as where the service manager did not answer.
func Asks(cfg config.Config) bool {
	switch cfg.Heartbeat {
	case config.HeartbeatOn:
		return true
	case config.HeartbeatRevive:
		return false
	}
	c, err := ReadConsent(cfg.StateDir)
	return err == nil && c != ConsentRevive && c != ConsentNo
}
