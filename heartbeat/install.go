package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/atomicfile"
)

const installName = "heartbeat-install.json"

// An Installation is what a gateway did about the heartbeat when it started.
type Installation struct {
	At   time.Time `json:"at"`
	Did  []string  `json:"did,omitempty"` // what was changed
	Why  string    `json:"why,omitempty"` // why it was not installed; empty if it is
	Loud bool      `json:"loud,omitempty"`
}

// A Host is what a gateway knows of itself that decides whether it installs the
// heartbeat.
type Host struct {
	Config  config.Config
	Echo    bool // the echo agent answers
	Service interface {
		service.Inspector
		service.Installer
	}
	Request service.Request // what the job would be made of
}

// Ensure installs the heartbeat, or brings it up to date, if the gateway is there to
// stay, and leaves on record what it did, or why nothing. It blocks for as long as the
// service manager does.
func Ensure(ctx context.Context, h Host) Installation {
	in := Installation{At: time.Now().UTC()}
	var err error
	if in.Why = h.unwilling(); in.Why == "" {
		in.Did, err = h.install(ctx)
	}
	if err != nil {
		in.Why = err.Error()
	}
	in.Loud = in.Why != "" && h.Config.Heartbeat == config.HeartbeatOn
	if ctx.Err() != nil {
		return in // the gateway ends
	}
	_ = atomicfile.WriteJSON(filepath.Join(h.Config.StateDir, installName), in) // the log has it too
	return in
}

// unwilling returns why a gateway does not even try. A heartbeat is one of the user's,
// so that it belongs to the gateway with the usual state directory, unless another one
// is told to take it.
func (h Host) unwilling() string {
	auto := h.Config.Heartbeat == config.HeartbeatAuto
	switch {
	case h.Config.Heartbeat == config.HeartbeatOff:
		return "BARECLAW_HEARTBEAT is off"
	case h.Echo:
		return "the echo agent answers, which has nothing to look after"
	case auto && h.Config.StateDir != h.Config.UserDir:
		return "the state directory is not the usual one; set BARECLAW_HEARTBEAT=on for a heartbeat of this gateway"
	case h.Config.Heartbeat != config.HeartbeatOn && Declined(h.Config.StateDir):
		return "it was declined or uninstalled; `bareclaw heartbeat install` installs it"
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
	if why := h.unwilling(); err == nil && why != "" { // it was uninstalled meanwhile
		_, err = h.Service.Uninstall(ctx, service.Heartbeat)
		return nil, errors.Join(errors.New(why), err)
	}
	return did, err
}

// errNobodyAgreed says why a job that costs money is not installed.
var errNobodyAgreed = errors.New("nobody has agreed to it: `bareclaw init` asks, and `bareclaw heartbeat install` installs it")

// agree returns why a job must not be installed although nobody has declined it, and
// records the agreement that follows from the setting. Without a setting the job
// must have been agreed to; one that is installed already was, before there was a record.
// A no that the user says meanwhile counts all the same.
func (h Host) agree(s service.Status) error {
	if h.Config.Heartbeat == config.HeartbeatOn {
		return nil
	}
	c, err := ReadConsent(h.Config.StateDir)
	if err != nil || c != ConsentNone {
		return err
	}
	if h.Config.Heartbeat == config.HeartbeatRevive {
		return writeConsent(h.Config.StateDir, ConsentRevive)
	}
	if !s.Installed || Elsewhere(s, h.Config.StateDir) != "" {
		return errNobodyAgreed
	}
	return writeConsent(h.Config.StateDir, ConsentAsk)
}

// Installed returns what the last gateway did about the heartbeat when it started; the
// zero value if there was none.
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
