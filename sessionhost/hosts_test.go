package sessionhost

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"bareclaw/core"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
	"bareclaw/sessionhost/claude"
	"bareclaw/sessionhost/protocol"
)

// sleeper starts a process that does nothing, and returns its record as a host
// of this boot.
func sleeper(t *testing.T) protocol.Record {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	check.OK(t, cmd.Start())
	ended := make(chan struct{})
	go func() { // ends with the process
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	start, err := proc.StartTime(cmd.Process.Pid)
	check.OK(t, err)
	boot, err := proc.BootID()
	check.OK(t, err)
	return protocol.Record{Channel: "c", PID: cmd.Process.Pid, Start: start, BootID: boot}
}

func TestReapEndsWhatIsRecorded(t *testing.T) {
	t.Parallel()
	host, claude := sleeper(t), sleeper(t)
	host.ClaudePID, host.ClaudeStart = claude.PID, claude.Start
	check.OK(t, syscall.Kill(host.PID, syscall.SIGSTOP)) // one that is stopped, too
	check.OK(t, reap(t.Context(), recordFile{host, filepath.Join(t.TempDir(), "x.json")}))
	if host.HostAlive() || host.ClaudeAlive() {
		t.Error("a process is left")
	}
}

func TestReapLeavesStrangers(t *testing.T) {
	t.Parallel()
	r := sleeper(t)
	for name, stranger := range map[string]protocol.Record{
		"other start": {PID: r.PID, Start: r.Start + 1, ClaudePID: r.PID, ClaudeStart: r.Start + 1, BootID: r.BootID},
		"other boot":  {PID: r.PID, Start: r.Start, ClaudePID: r.PID, ClaudeStart: r.Start, BootID: "another"},
		"no boot":     {PID: r.PID, Start: r.Start, ClaudePID: r.PID, ClaudeStart: r.Start},
		"nothing":     {BootID: r.BootID},
		"group":       {PID: -r.PID, Start: r.Start, BootID: r.BootID},
	} {
		if err := reap(t.Context(), recordFile{stranger, filepath.Join(t.TempDir(), "x.json")}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !r.HostAlive() {
			t.Fatalf("%s: the stranger is gone", name)
		}
	}
}

// TestLiveWaitsForARecord: a host that could not write its record yet is found, and one
// that is gone keeps nobody waiting for long.
func TestLiveWaitsForARecord(t *testing.T) {
	t.Parallel()
	state, run := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h, err := New(Options{StateDir: state, RuntimeDir: run, Lasting: true, Log: slog.New(slog.DiscardHandler)})
		check.OK(t, err)
		at := h.o.place("c")
		check.OK(t, os.WriteFile(at.Socket, nil, 0o600))
		lock, err := protocol.LockFile(at.LockPath)
		check.OK(t, err)
		type result struct {
			keys []core.ChannelKey
			err  error
		}
		told := make(chan result, 1)
		look := func() {
			keys, err := h.Live(t.Context())
			told <- result{keys, err}
		}
		go look()
		synctest.Wait() // it waits for the record
		r := protocol.Record{Channel: "c", Socket: at.Socket, PID: os.Getpid()}
		r.Start, _ = proc.StartTime(r.PID)
		r.BootID, _ = proc.BootID()
		check.OK(t, r.Write(at.RecordPath))
		if got := <-told; got.err != nil || !slices.Equal(got.keys, []core.ChannelKey{"c"}) {
			t.Errorf("live are %q, %v", got.keys, got.err)
		}
		check.OK(t, os.Remove(at.RecordPath))
		go look()
		if got := <-told; got.err != nil || len(got.keys) > 0 {
			t.Errorf("live without a record are %q, %v", got.keys, got.err)
		}
		// Close alone would leave the lock to a process that another test starts just now.
		check.OK(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_UN))
		check.OK(t, lock.Close())
		if left := hostsWithoutRecord(h.o.StateDir, h.o.RuntimeDir, nil); len(left) > 0 {
			t.Errorf("a host that is gone is waited for: %q", left)
		}
	})
}

// TestBadLineIsLoggedAtDebugAlone: a line that broke off may be a part of an answer.
func TestBadLineIsLoggedAtDebugAlone(t *testing.T) {
	t.Parallel()
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		var log bytes.Buffer
		tr := translator{record: func(string) claude.Record { return sessionRecord{o: &Options{}} }, log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))}
		for _, s := range []protocol.Entry{{Bad: `{"text":"xyzzy`}, {Event: []byte(`{"type":"assistant","message":"xyzzy`)}, {Event: []byte(`{"type":"result","result":{"xyzzy":1}}`)}} {
			tr.translate(core.NewBatch(), s)
		}
		if got := strings.Contains(log.String(), "xyzzy"); got != (level == slog.LevelDebug) || !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("%s: the line is in the log: %v\n%s", level, got, log.String())
		}
	}
}

// TestSettingsOnTheCommandLine starts sessions with settings: claude gets them, and a
// later daemon learns of which.
func TestSettingsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h := st.hosts()
	own := core.Settings{Model: "haiku", PermissionMode: "plan", Rules: []core.Rule{{Rule: "Bash(a, b)"}}}
	for _, row := range []struct {
		name    string
		l       core.Launch
		want    []string
		without []string
	}{
		{"none", core.Launch{SessionID: newID(t), Resume: true}, nil, []string{"--model", "--permission-mode"}},
		{"all", core.Launch{SessionID: newID(t), Settings: own},
			[]string{"--settings", `{"crossSessionInbound":"refuse","permissions":{"allow":["Bash(a, b)"]}}`, "--model", "haiku", "--permission-mode", "plan"}, nil},
		{"taken back", core.Launch{SessionID: newID(t), Resume: true, Settings: core.Settings{HadModel: true, HadPermissionMode: true}},
			[]string{"--model", "default", "--permission-mode", "default"}, nil},
		{"taken back, new session", core.Launch{SessionID: newID(t), Settings: core.Settings{HadModel: true, HadPermissionMode: true}},
			nil, []string{"--model", "--permission-mode"}},
	} {
		b, err := h.o.bootstrap(st.paths(), row.l)
		check.OK(t, err)
		if i := slices.Index(b.Argv, row.l.SessionID); !endsWith(b.Argv[:i-1], row.want) {
			t.Errorf("%s: %q, want %q before the session", row.name, b.Argv, row.want)
		}
		for _, flag := range row.without {
			if slices.Contains(b.Argv, flag) {
				t.Errorf("%s: %q has %s", row.name, b.Argv, flag)
			}
		}
	}
	h.o.Launch.Model = "opus"
	if l := h.o.launchFor(core.Launch{Resume: true, Settings: core.Settings{HadModel: true}}); l.Model != "opus" {
		t.Errorf("a model that was taken back is followed by %q, not by the gateway's", l.Model)
	}
}

func endsWith(args, tail []string) bool {
	return len(args) >= len(tail) && slices.Equal(args[len(args)-len(tail):], tail)
}

// TestSettingsAreRemembered attaches to a host: it says which settings it has.
func TestSettingsAreRemembered(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h := st.hosts()
	s := st.begin(h, core.Launch{SessionID: newID(t), Settings: core.Settings{Model: "haiku"}})
	want := core.Settings{Model: "haiku"}.Fingerprint()
	if got := s.Info().Settings; got != want {
		t.Errorf("started with %q, want %q", got, want)
	}
	s.Detach()
	again, err := h.Attach(t.Context(), "c")
	check.OK(t, err)
	if info := st.listen(again).Info(); info.Settings != want || info.Stale {
		t.Errorf("attached with %+v, want %q", info, want)
	}
}

// TestSpareIsNotTakenWithSettings has a channel get settings after a spare was
// promised to it: the spare was started without.
func TestSpareIsNotTakenWithSettings(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	h, spare := st.spare()
	s := st.begin(h, core.Launch{SessionID: st.reserve(h), Settings: core.Settings{Model: "haiku"}})
	if s.Info().HostPID == spare.PID || !dead(spare) {
		t.Errorf("session is %+v, the spare was %+v", s.Info(), spare)
	}
}

// TestFileMentionsAreOfTheLaunch holds that a host started with file mentions is outdated
// where there are to be none: claude reads the variable once.
func TestFileMentionsAreOfTheLaunch(t *testing.T) {
	t.Parallel()
	st := newStation(t)
	with := st.o
	with.Launch.FileMentions = true
	if off, on := st.o.launchID(), with.launchID(); off == "" || on == "" || off == on {
		t.Errorf("the launch is %q without file mentions and %q with", off, on)
	}
}
