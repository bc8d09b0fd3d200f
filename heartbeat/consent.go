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
	// declinedName is the empty file that marks the heartbeat as declined by the user.
	declinedName = "heartbeat-uninstalled"
	// consentName is the file that records the agreed kind of tick.
	consentName = "heartbeat-consent"
)

// A Consent is the user's decision about the heartbeat, made in `bareclaw init` or by
// installing or uninstalling the heartbeat.
type Consent string

// The consents. A tick that prompts the agent costs money, or counts against a plan's
// limits; a tick that only revives the gateway is free.
const (
	ConsentNone   Consent = "" // the user has not decided
	ConsentAsk    Consent = "ask"
	ConsentRevive Consent = "revive"
	ConsentNo     Consent = "no"
)

// ReadConsent returns the consent recorded in a state directory. If the record cannot be
// read, ReadConsent returns ConsentNone and an error.
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

// SaveConsent replaces the recorded consent. If the process dies between two steps, the
// file that declines the heartbeat remains, so an incomplete answer never leads to a
// paid call.
func SaveConsent(stateDir string, c Consent) (err error) {
	declined, agreed := filepath.Join(stateDir, declinedName), filepath.Join(stateDir, consentName)
	switch err = os.MkdirAll(stateDir, 0o700); {
	case err != nil:
	case c == ConsentNo:
		err = errors.Join(os.WriteFile(declined, nil, 0o600), os.RemoveAll(agreed))
	case c == ConsentNone:
		err = errors.Join(os.RemoveAll(agreed), os.RemoveAll(declined))
	default:
		if err = writeConsent(stateDir, c); err == nil {
			err = os.RemoveAll(declined)
		}
	}
	if err != nil {
		return fmt.Errorf("record what was agreed to about the heartbeat: %w", err)
	}
	return nil
}

// writeConsent records an agreement but leaves declinedName, if present, in effect.
func writeConsent(stateDir string, c Consent) error {
	return atomicfile.Write(filepath.Join(stateDir, consentName), []byte(c+"\n"), 0o600)
}

// Declined reports whether the user has declined or uninstalled the heartbeat.
func Declined(stateDir string) bool {
	_, err := os.Stat(filepath.Join(stateDir, declinedName))
	return err == nil
}

// Asks reports whether ticks prompt the agent, according to BARECLAW_HEARTBEAT, else to
// the recorded consent. Without a record Asks is true: the user runs the tick by hand,
// or an older version without any other kind of tick installed the job. After the user
// declined, ticks come only from a job that could not be uninstalled, as when the
// service manager did not answer.
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
