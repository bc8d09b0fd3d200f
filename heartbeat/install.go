package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/atomicfile"
)

const installName = "heartbeat-install.json"

// An Installation records how a starting gateway changed the heartbeat's installation.
type Installation struct {
	At   time.Time `json:"at"`
	Did  []string  `json:"did,omitempty"` // the changes made
	Why  string    `json:"why,omitempty"` // why the heartbeat is not installed; empty if installed
	Loud bool      `json:"loud,omitempty"`
}

// A Host holds the facts about a gateway that decide whether the gateway installs the
// heartbeat.
type Host struct {
	Config  config.Config
	Service service.Manager
	Request service.Request // inputs of the job's files
}

// Ensure installs or updates the heartbeat if the gateway is permanent, and records the
// changes or the reason for making none. Ensure blocks until the service manager
// answers.
func Ensure(ctx context.Context, h Host) Installation {
	in := Installation{At: time.Now().UTC()}
	var err error
	if in.Why = h.unwilling(); in.Why == "" {
		in.Did, err = h.install(ctx)
	}
	if err != nil {
		in.Why = err.Error()
	}
	in.Loud = in.Why != "" && h.Config.Heartbeat.Mode == config.HeartbeatOn
	if ctx.Err() != nil {
		return in // the gateway is shutting down
	}
	_ = atomicfile.WriteJSON(filepath.Join(h.Config.StateDir(), installName), in) // the gateway's log has the same facts
	return in
}

// unwilling returns why a gateway must not install the heartbeat; empty if allowed. A
// user has a single heartbeat, for the gateway with the default state directory, unless
// BARECLAW_HEARTBEAT=on claims the heartbeat for another gateway.
func (h Host) unwilling() string {
	auto := h.Config.Heartbeat.Mode == config.HeartbeatAuto
	switch {
	case h.Config.Heartbeat.Mode == config.HeartbeatOff:
		return "BARECLAW_HEARTBEAT is off"
	case h.Request.Echo:
		return "the echo agent answers, which has nothing to look after"
	case auto && h.Config.StateDir() != h.Config.UserDir:
		return "the state directory is not the usual one; set BARECLAW_HEARTBEAT=on for a heartbeat of this gateway"
	case h.Config.Heartbeat.Mode != config.HeartbeatOn && Declined(h.Config.StateDir()):
		return errDeclined.Error()
	}
	if err := service.Lasting(h.Request.Binary); err != nil {
		return err.Error()
	}
	return ""
}

func (h Host) install(ctx context.Context) ([]string, error) {
	if err := h.Service.Available(ctx); err != nil {
		return nil, err
	}
	spec, err := service.NewSpec(h.Request)
	if err != nil {
		return nil, err
	}
	s, err := h.Service.Status(ctx, service.Heartbeat, spec)
	if err := h.agree(s); err != nil {
		return nil, err
	}
	if err == nil && s.Installed && s.Current && s.Active {
		return nil, nil
	}
	did, err := h.Service.Install(ctx, service.Heartbeat, spec)
	if why := h.unwilling(); err == nil && why != "" { // the user uninstalled the heartbeat during Install
		_, err = h.Service.Uninstall(ctx, service.Heartbeat)
		return nil, errors.Join(errors.New(why), err)
	}
	return did, err
}

// errDeclined refuses the installation of a heartbeat that the user does not want.
var errDeclined = errors.New("it was declined or uninstalled; `bareclaw heartbeat install` installs it")

// errNobodyAgreed refuses the installation of a paid job without the user's consent.
var errNobodyAgreed = errors.New("nobody has agreed to it: `bareclaw init` asks, and `bareclaw heartbeat install` installs it")

// agree returns why a job must not be installed, and records the consent implied by
// BARECLAW_HEARTBEAT. Without a setting the user must have consented; an installed job
// counts as consent, because older versions kept no record. agree is called after the
// service manager was asked, so it also sees a refusal recorded meanwhile.
func (h Host) agree(s service.Status) error {
	if h.Config.Heartbeat.Mode == config.HeartbeatOn {
		return nil
	}
	c, err := ReadConsent(h.Config.StateDir())
	switch {
	case err != nil:
		return err
	case c == ConsentNo:
		return errDeclined
	case c != ConsentNone:
		return nil
	case h.Config.Heartbeat.Mode == config.HeartbeatRevive:
		return writeConsent(h.Config.StateDir(), ConsentRevive)
	case !s.Installed || Elsewhere(s, h.Config.StateDir()) != "":
		return errNobodyAgreed
	}
	return writeConsent(h.Config.StateDir(), ConsentAsk)
}

// Installed returns the record of the last call of [Ensure] for a state directory; the
// zero value if none exists.
func Installed(stateDir string) (in Installation, err error) {
	b, err := os.ReadFile(filepath.Join(stateDir, installName))
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	if err != nil {
		return in, fmt.Errorf("read what the gateway did about the heartbeat: %w", err)
	}
	return in, nil
}

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
		err = errors.Join(os.WriteFile(declined, nil, 0o600), removeFile(agreed))
	case c == ConsentNone:
		err = errors.Join(removeFile(agreed), removeFile(declined))
	default:
		if err = writeConsent(stateDir, c); err == nil {
			err = removeFile(declined)
		}
	}
	if err != nil {
		return fmt.Errorf("record what was agreed to about the heartbeat: %w", err)
	}
	return nil
}

// removeFile removes a file, if there is one, and no directory with content.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
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
	switch cfg.Heartbeat.Mode {
	case config.HeartbeatOn:
		return true
	case config.HeartbeatRevive:
		return false
	}
	c, err := ReadConsent(cfg.StateDir())
	return err == nil && c != ConsentRevive && c != ConsentNo
}
