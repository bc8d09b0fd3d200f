package heartbeat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bareclaw/core/config"
	"bareclaw/service"
)

// newHost makes a gateway that installs the heartbeat: all is as it should be.
func newHost(t *testing.T) (Host, *fakeManager) {
	t.Helper()
	dir := t.TempDir()
	m := &fakeManager{}
	return Host{
		Config:  config.Config{Heartbeat: config.HeartbeatAuto, StateDir: dir, UserDir: dir},
		Service: m,
		Request: service.Request{Binary: "/bin/sh", Dir: dir, Claude: "/bin/sh", StateDir: dir, Interval: time.Hour},
	}, m
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
		"off":  {func(_ *testing.T, h *Host, _ *fakeManager) { h.Config.Heartbeat = config.HeartbeatOff }, false, "is off", false},
		"echo": {func(_ *testing.T, h *Host, _ *fakeManager) { h.Echo = true }, false, "echo agent", false},
		"echo, on": {func(_ *testing.T, h *Host, _ *fakeManager) {
			h.Echo, h.Config.Heartbeat = true, config.HeartbeatOn
		}, false, "echo agent", true},
		"another state directory": {func(_ *testing.T, h *Host, _ *fakeManager) { h.Config.UserDir = "/elsewhere" }, false, "BARECLAW_HEARTBEAT=on", false},
		"another state directory, on": {func(_ *testing.T, h *Host, _ *fakeManager) {
			h.Config.UserDir, h.Config.Heartbeat = "/elsewhere", config.HeartbeatOn
		}, true, "", false},
		"go run": {func(t *testing.T, h *Host, _ *fakeManager) {
			h.Request.Binary = filepath.Join(t.TempDir(), "go-build1", "bareclaw")
			if err := errors.Join(os.Mkdir(filepath.Dir(h.Request.Binary), 0o700), os.WriteFile(h.Request.Binary, nil, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, false, "go run", false},
		"uninstalled": {func(t *testing.T, h *Host, _ *fakeManager) {
			if err := Decline(h.Config.StateDir, true); err != nil {
				t.Fatal(err)
			}
		}, false, "uninstalled", false},
		"uninstalled, on": {func(t *testing.T, h *Host, _ *fakeManager) {
			h.Config.Heartbeat = config.HeartbeatOn
			if err := Decline(h.Config.StateDir, true); err != nil {
				t.Fatal(err)
			}
		}, true, "", false},
		"wanted again": {func(t *testing.T, h *Host, _ *fakeManager) {
			if err := errors.Join(Decline(h.Config.StateDir, true), Decline(h.Config.StateDir, false), Decline(h.Config.StateDir, false)); err != nil {
				t.Fatal(err)
			}
		}, true, "", false},
		"no service manager": {func(_ *testing.T, h *Host, m *fakeManager) { m.absent = errors.New("no bus") }, false, "no bus", false},
		"no service manager, on": {func(_ *testing.T, h *Host, m *fakeManager) {
			m.absent, h.Config.Heartbeat = errors.New("no bus"), config.HeartbeatOn
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
			kept, err := Installed(h.Config.StateDir)
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
	m.meanwhile = func() error { return Decline(h.Config.StateDir, true) }
	in := Ensure(t.Context(), h)
	if m.uninstalled != 1 || !strings.Contains(in.Why, "it was uninstalled") || len(in.Did) > 0 {
		t.Errorf("uninstalled %d times; it says %+v", m.uninstalled, in)
	}
}
