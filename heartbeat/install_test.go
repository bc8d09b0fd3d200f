package heartbeat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/testkit/check"
)

// newHost makes a gateway that installs the heartbeat: all is as it should be, and the
// user has agreed that Claude is asked.
func newHost(t *testing.T) (Host, *fakeManager) {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, SaveConsent(dir, ConsentAsk))
	m := &fakeManager{}
	return Host{
		Config: config.Config{
			Heartbeat: config.Heartbeat{Mode: config.HeartbeatAuto},
			Files:     config.Files{StateDir: config.Path(dir)},
			UserDir:   dir,
		},
		Service: m,
		Request: service.Request{Binary: "/bin/sh", Dir: dir, Claude: "/bin/sh", StateDir: dir, Interval: time.Hour},
	}, m
}

// consents has the user say these things, one after the other.
func consents(all ...Consent) func(*testing.T, *Host, *fakeManager) {
	return func(t *testing.T, h *Host, _ *fakeManager) {
		for _, c := range all {
			check.OK(t, SaveConsent(h.Config.StateDir(), c))
		}
	}
}

// set has the setting be that, and the user have said this.
func set(setting config.HeartbeatMode, c Consent) func(*testing.T, *Host, *fakeManager) {
	return func(t *testing.T, h *Host, m *fakeManager) {
		h.Config.Heartbeat.Mode = setting
		consents(c)(t, h, m)
	}
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*testing.T, *Host, *fakeManager)
		install bool
		why     string // empty: it is installed
		loud    bool
	}{
		"auto": {func(*testing.T, *Host, *fakeManager) {}, true, "", false},
		"current": {func(_ *testing.T, _ *Host, m *fakeManager) {
			m.heartbeat = service.Status{Installed: true, Current: true, Active: true}
		}, false, "", false},
		"differs": {func(_ *testing.T, _ *Host, m *fakeManager) {
			m.heartbeat = service.Status{Installed: true, Active: true}
		}, true, "", false},
		"stopped": {func(_ *testing.T, _ *Host, m *fakeManager) {
			m.heartbeat = service.Status{Installed: true, Current: true}
		}, true, "", false},
		"off":  {func(_ *testing.T, h *Host, _ *fakeManager) { h.Config.Heartbeat.Mode = config.HeartbeatOff }, false, "is off", false},
		"echo": {func(_ *testing.T, h *Host, _ *fakeManager) { h.Request.Echo = true }, false, "echo agent", false},
		"echo, on": {func(_ *testing.T, h *Host, _ *fakeManager) {
			h.Request.Echo, h.Config.Heartbeat.Mode = true, config.HeartbeatOn
		}, false, "echo agent", true},
		"another state directory": {func(_ *testing.T, h *Host, _ *fakeManager) { h.Config.UserDir = "/elsewhere" }, false, "BARECLAW_HEARTBEAT=on", false},
		"another state directory, on": {func(_ *testing.T, h *Host, _ *fakeManager) {
			h.Config.UserDir, h.Config.Heartbeat.Mode = "/elsewhere", config.HeartbeatOn
		}, true, "", false},
		"go run": {func(t *testing.T, h *Host, _ *fakeManager) {
			h.Request.Binary = filepath.Join(t.TempDir(), "go-build1", "bareclaw")
			check.OK(t, errors.Join(os.Mkdir(filepath.Dir(h.Request.Binary), 0o700), os.WriteFile(h.Request.Binary, nil, 0o700)))
		}, false, "go run", false},
		"declined":             {consents(ConsentAsk, ConsentNo), false, "declined or uninstalled", false},
		"declined, on":         {set(config.HeartbeatOn, ConsentNo), true, "", false},
		"declined, revive":     {set(config.HeartbeatRevive, ConsentNo), false, "declined or uninstalled", false},
		"wanted again":         {consents(ConsentNo, ConsentAsk), true, "", false},
		"agreed to less":       {consents(ConsentRevive), true, "", false},
		"nobody asked":         {consents(ConsentNone), false, "nobody has agreed to it", false},
		"nobody asked, on":     {set(config.HeartbeatOn, ConsentNone), true, "", false},
		"nobody asked, revive": {set(config.HeartbeatRevive, ConsentNone), true, "", false},
		"another state directory, revive": {func(t *testing.T, h *Host, m *fakeManager) {
			h.Config.UserDir = "/elsewhere"
			set(config.HeartbeatRevive, ConsentNone)(t, h, m)
		}, true, "", false},
		"another gateway's is installed": {func(t *testing.T, h *Host, m *fakeManager) {
			m.heartbeat = service.Status{Installed: true, Active: true, Dir: t.TempDir(), Environ: []string{"BARECLAW_STATE_DIR=/of/another"}}
			consents(ConsentNone)(t, h, m)
		}, false, "nobody has agreed to it", false},
		"no service manager": {func(_ *testing.T, h *Host, m *fakeManager) { m.absent = errors.New("no bus") }, false, "no bus", false},
		"no service manager, on": {func(_ *testing.T, h *Host, m *fakeManager) {
			m.absent, h.Config.Heartbeat.Mode = errors.New("no bus"), config.HeartbeatOn
		}, false, "no bus", true},
		"no claude": {func(_ *testing.T, h *Host, _ *fakeManager) { h.Request.Claude = "/no/claude" }, false, "claude was not found", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, m := newHost(t)
			c.change(t, &h, m)
			in := Ensure(t.Context(), h)
			if (len(m.installed) == 1) != c.install || (in.Why == "") != (c.why == "") || !strings.Contains(in.Why, c.why) || in.Loud != c.loud {
				t.Errorf("installed %v; it says %+v", m.installed, in)
			}
			kept, err := Installed(h.Config.StateDir())
			if err != nil || !kept.At.Equal(in.At) || kept.Why != in.Why {
				t.Errorf("on record is %+v, %v", kept, err)
			}
		})
	}
}

// TestUninstalledWhileAGatewayInstalls: what the user wants last is what becomes of it.
func TestUninstalledWhileAGatewayInstalls(t *testing.T) {
	t.Parallel()
	h, m := newHost(t)
	m.meanwhile = func() error { return SaveConsent(h.Config.StateDir(), ConsentNo) }
	in := Ensure(t.Context(), h)
	if m.uninstalled != 1 || !strings.Contains(in.Why, "declined or uninstalled") || len(in.Did) > 0 {
		t.Errorf("uninstalled %d times; it says %+v", m.uninstalled, in)
	}
}

// TestDeclinedWhileTheManagerIsAsked: a heartbeat that is declined while the service manager
// answers is not installed, not even to be taken away again.
func TestDeclinedWhileTheManagerIsAsked(t *testing.T) {
	t.Parallel()
	h, m := newHost(t)
	m.looked = func() error { return SaveConsent(h.Config.StateDir(), ConsentNo) }
	in := Ensure(t.Context(), h)
	if len(m.installed) > 0 || m.uninstalled > 0 || !strings.Contains(in.Why, "declined or uninstalled") {
		t.Errorf("installed %v, uninstalled %d times; it says %+v", m.installed, m.uninstalled, in)
	}
}

// TestOlderInstallationIsAgreedTo: a heartbeat that was installed before anybody was asked
// is kept up to date, and the agreement is recorded, so that it comes again where its files
// were removed.
func TestOlderInstallationIsAgreedTo(t *testing.T) {
	t.Parallel()
	for setting, want := range map[config.HeartbeatMode]Consent{
		config.HeartbeatAuto: ConsentAsk, config.HeartbeatRevive: ConsentRevive, config.HeartbeatOn: ConsentNone,
	} {
		t.Run(string(setting), func(t *testing.T) {
			t.Parallel()
			h, m := newHost(t)
			set(setting, ConsentNone)(t, &h, m)
			m.heartbeat = service.Status{Installed: true, Active: true}
			if in := Ensure(t.Context(), h); in.Why != "" || len(m.installed) != 1 {
				t.Errorf("installed %v; it says %+v", m.installed, in)
			}
			if got, err := ReadConsent(h.Config.StateDir()); err != nil || got != want {
				t.Errorf("consent %q, %v; want %q", got, err, want)
			}
		})
	}
}

// TestDeclinedWhileAnOlderInstallationIsFound: the agreement that follows from it does not
// take away a no that is said meanwhile.
func TestDeclinedWhileAnOlderInstallationIsFound(t *testing.T) {
	t.Parallel()
	h, m := newHost(t)
	consents(ConsentNone)(t, &h, m)
	m.heartbeat = service.Status{Installed: true, Active: true}
	m.looked = func() error { return SaveConsent(h.Config.StateDir(), ConsentNo) }
	in := Ensure(t.Context(), h)
	if got, err := ReadConsent(h.Config.StateDir()); err != nil || got != ConsentNo || in.Why == "" {
		t.Errorf("consent %q, %v; it says %+v", got, err, in)
	}
}

// TestConsent: what was said last counts, and a process that dies between the two files
// leaves the answer that costs nothing.
func TestConsent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	for _, want := range []Consent{ConsentNone, ConsentAsk, ConsentNo, ConsentRevive, ConsentAsk, ConsentNo, ConsentNone} {
		check.OK(t, SaveConsent(dir, want))
		if got, err := ReadConsent(dir); err != nil || got != want {
			t.Errorf("consent %q, %v; want %q", got, err, want)
		}
	}
	check.OK(t, errors.Join(SaveConsent(dir, ConsentAsk), os.WriteFile(filepath.Join(dir, declinedName), nil, 0o600)))
	if got, err := ReadConsent(dir); err != nil || got != ConsentNo {
		t.Errorf("with both files: %q, %v", got, err)
	}
	check.OK(t, errors.Join(SaveConsent(dir, ConsentAsk), os.WriteFile(filepath.Join(dir, consentName), []byte("whatever"), 0o600)))
	if got, err := ReadConsent(dir); err == nil || got != ConsentNone {
		t.Errorf("a damaged file: %q, %v", got, err)
	}
}

func TestAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting config.HeartbeatMode
		consent Consent
		want    bool
	}{
		{config.HeartbeatAuto, ConsentAsk, true},
		{config.HeartbeatAuto, ConsentRevive, false},
		{config.HeartbeatAuto, ConsentNone, true}, // called by hand, or installed by an older version
		{config.HeartbeatOn, ConsentRevive, true},
		{config.HeartbeatRevive, ConsentAsk, false},
		{config.HeartbeatOff, ConsentRevive, false},
		{config.HeartbeatOff, ConsentNone, true}, // called by hand
		{config.HeartbeatAuto, ConsentNo, false}, // as by a job that could not be taken out
		{config.HeartbeatOff, ConsentNo, false},
		{config.HeartbeatOn, ConsentNo, true},
	} {
		dir := t.TempDir()
		check.OK(t, SaveConsent(dir, c.consent))
		cfg := config.Config{
			Heartbeat: config.Heartbeat{Mode: c.setting},
			Files:     config.Files{StateDir: config.Path(dir)},
		}
		if got := Asks(cfg); got != c.want {
			t.Errorf("%s after %q: asks is %v", c.setting, c.consent, got)
		}
	}
}
