package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
	"bareclaw/internal/statemark"
	"bareclaw/internal/testkit/check"
)

// A fake is a gateway that knows one run. What the real one does is tested end to end;
// this one does what the real one cannot easily be brought to.
type fake struct {
	t   *testing.T
	cfg config.Config

	startLimit time.Duration

	mu    sync.Mutex
	run   map[string]any // of every slot
	fails []int          // statuses of the next requests for a run
	asked []string       // the slots
}

// newFake listens where a tick looks.
func newFake(t *testing.T) *fake {
	t.Helper()
	dir, err := os.MkdirTemp("", "hb") // short: a socket has to fit below it
	check.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := &fake{t: t, cfg: config.Config{
		Files: config.Files{
			StateDir:   config.Path(dir),
			RuntimeDir: config.Path(dir),
			CWD:        config.Directory(dir),
		},
		Heartbeat: config.Heartbeat{
			Interval: config.Interval(500_000 * time.Hour),
			Notify:   "tg-1",
		},
	}, startLimit: 100 * time.Millisecond, run: answered("pushed", "Look at the disk.")}
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, status int, v any) {
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"ready": true}) })
	mux.HandleFunc("POST /schedules/heartbeat/run", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var in struct{ Due string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		if len(f.fails) > 0 {
			status := f.fails[0]
			f.fails = f.fails[1:]
			reply(w, status, map[string]any{"error": "no", "code": "restarting"})
			return
		}
		f.asked = append(f.asked, in.Due)
		run := maps.Clone(f.run)
		run["due"] = in.Due
		reply(w, 200, run)
	})
	mux.HandleFunc("GET /schedules/heartbeat", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var all []any
		for _, due := range f.asked {
			run := maps.Clone(f.run)
			run["due"] = due
			all = append(all, run)
		}
		reply(w, 200, map[string]any{"occurrences": all})
	})
	l, err := net.Listen("unix", filepath.Join(dir, "api.sock"))
	check.OK(t, err)
	s := httptest.NewUnstartedServer(mux)
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return f
}

// answered is a run that has an answer.
func answered(push, text string) map[string]any {
	return map[string]any{"outcome": "sent", "message_id": "m", "answer": map[string]any{
		"state": "answered", "text": text, "push": push, "to": "tg-1", "problem": map[bool]string{true: "blocked"}[push == "pending"], "duration_ms": 1,
	}}
}

// beat carries out a tick in a slot.
func (f *fake) beat(slot int) error {
	cfg := f.cfg
	cfg.Heartbeat.Interval += config.Interval(slot) * config.Interval(time.Hour)
	return Run(f.t.Context(), Options{
		Config: cfg, Service: &fakeManager{}, Self: "/nowhere", Dir: string(cfg.Files.CWD), StartLimit: f.startLimit, Out: io.Discard,
	})
}

func (f *fake) outcomes() (all []Outcome) {
	f.t.Helper()
	r, err := Read(f.cfg.StateDir())
	check.OK(f.t, err)
	for _, t := range r.Ticks {
		all = append(all, t.Outcome)
	}
	return all
}

// TestReports: each run is reported once, and a report that was not final is brought up to
// date by the next tick.
func TestReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run   map[string]any
		fails bool
		want  Outcome
	}{
		"told":    {answered("pushed", "Look."), false, Told},
		"quiet":   {answered("quiet", AllWell), false, OK},
		"untold":  {answered("pending", "Look."), true, Said},
		"nobody":  {answered("not_pushed", "Look."), false, Said},
		"failed":  {map[string]any{"outcome": "sent", "message_id": "m", "answer": map[string]any{"state": "failed", "push": "pushed"}}, false, Failed},
		"running": {map[string]any{"outcome": "sent", "message_id": "m"}, false, Asked},
		"parked":  {map[string]any{"outcome": "sent", "message_id": "m", "why": "No login."}, false, Parked},
		"busy":    {map[string]any{"outcome": "skipped", "why": "It has no outcome yet."}, false, Busy},
		"nothing": {map[string]any{"outcome": "skipped", "status": 1}, false, Nothing},
		"refused": {map[string]any{"outcome": "refused", "why": "No room."}, true, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.run = c.run
			if err := f.beat(0); (err != nil) != c.fails {
				t.Errorf("the tick ends with %v", err)
			}
			if got := f.outcomes(); !slices.Equal(got, []Outcome{c.want}) {
				t.Errorf("outcomes %q, want %s", got, c.want)
			}
			f.run = answered("pushed", "Look.")
			if err := f.beat(0); err != nil {
				t.Error(err)
			}
			if got := f.outcomes(); c.want == Asked || c.want == Parked || c.want == Said && c.fails {
				if !slices.Equal(got, []Outcome{Told}) {
					t.Errorf("after the answer: %q", got)
				}
			}
		})
	}
}

// TestGatewayRestarts: the run is asked for until the gateway answers.
func TestGatewayRestarts(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.fails = []int{503}
	err := Run(t.Context(), Options{Config: f.cfg, Service: &fakeManager{}, Patience: time.Minute, StartLimit: time.Minute, Out: io.Discard})
	if got := f.outcomes(); err != nil || !slices.Equal(got, []Outcome{Told}) {
		t.Errorf("%v, outcomes %q", err, got)
	}
	f.fails = []int{403}
	if err := f.beat(1); err == nil || len(f.fails) > 0 {
		t.Errorf("a refusal: %v", err)
	}
}

// TestRevivesOnly: where Claude is not to be asked a tick only looks after the gateway.
func TestRevivesOnly(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.cfg.Heartbeat.Mode = config.HeartbeatRevive
	if err := f.beat(0); err != nil {
		t.Error(err)
	}
	if got := f.outcomes(); len(f.asked) > 0 || !slices.Equal(got, []Outcome{Serves}) {
		t.Errorf("asked %q, outcomes %q", f.asked, got)
	}
}

// TestRecords keeps the last ticks in a file of the user's own.
func TestRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := Read(dir)
	check.OK(t, err)
	for range keptTicks + 5 {
		check.OK(t, r.add(Tick{Slot: slotOf(time.Now(), time.Hour), Outcome: Busy}))
	}
	if r, err = Read(dir); err != nil || len(r.Ticks) != keptTicks {
		t.Errorf("%d ticks, %v", len(r.Ticks), err)
	}
	if info, err := os.Stat(r.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	check.OK(t, os.WriteFile(r.path, []byte("{"), 0o600))
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), r.path) {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestDamagedRecordsAreKept: a tick begins the records anew, and leaves the damaged ones beside them.
func TestDamagedRecordsAreKept(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	path := filepath.Join(f.cfg.StateDir(), "heartbeat.json")
	check.OK(t, os.WriteFile(path, []byte("{"), 0o600))
	_ = f.beat(0) // there may be no gateway
	if b, err := os.ReadFile(path + ".damaged"); err != nil || string(b) != "{" {
		t.Errorf("kept is %q, %v", b, err)
	}
	if n := len(f.outcomes()); n != 1 {
		t.Errorf("%d ticks on record", n)
	}
}

// TestHungGateway: beside one that is alive and does not answer no second one is
// started.
func TestHungGateway(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.cfg.Files.RuntimeDir = config.Path(t.TempDir()) // nobody listens there
	lock := f.holds("127.0.0.1:1")
	defer lock.Release()
	if err := f.beat(0); err == nil || !strings.Contains(err.Error(), "alive but does not answer") {
		t.Errorf("got %v", err)
	}
	if got := f.outcomes(); !slices.Equal(got, []Outcome{NotThere}) {
		t.Errorf("outcomes %q", got)
	}
}

// TestGatewayThatRefuses: one that answers, but not to the token of these settings, is not
// said to hang.
func TestGatewayThatRefuses(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.cfg.Files.RuntimeDir = config.Path(t.TempDir()) // nobody listens there
	tcp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"That is another token.","code":"unauthorized"}`)
	}))
	defer tcp.Close()
	f.startLimit = 3 * time.Second // within which it answers, also on a busy machine
	lock := f.holds(strings.TrimPrefix(tcp.URL, "http://"))
	defer lock.Release()
	if err := f.beat(0); err == nil || !strings.Contains(err.Error(), "That is another token.") || strings.Contains(err.Error(), "kill") {
		t.Errorf("got %v", err)
	}
}

// holds has this process be the gateway that has the state directory.
func (f *fake) holds(address string) *lockfile.StateLock {
	f.t.Helper()
	start, err := proc.StartTime(os.Getpid())
	check.OK(f.t, err)
	lock, err := lockfile.AcquireState(f.cfg.StateDir())
	check.OK(f.t, err)
	check.OK(f.t, lock.Describe(lockfile.Holder{PID: os.Getpid(), Start: start, Address: address}))
	return lock
}

// TestServiceIsStarted: where the gateway is a service, that is started.
func TestServiceIsStarted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	socket := filepath.Join(f.cfg.StateDir(), "api.sock")
	check.OK(t, os.Rename(socket, socket+".down"))
	m := &fakeManager{gateway: true, start: func() error { return os.Rename(socket+".down", socket) }}
	err := Run(t.Context(), Options{Config: f.cfg, Service: m, Self: "/nowhere", StartLimit: time.Minute, Out: io.Discard})
	if err != nil || m.started != 1 {
		t.Errorf("started %d times: %v", m.started, err)
	}
	if r, err := Read(f.cfg.StateDir()); err != nil || len(r.Ticks) != 1 || !r.Ticks[0].Started || r.Ticks[0].Outcome != Told {
		t.Errorf("recorded %+v, %v", r, err)
	}
}

// TestStopWhileATickStarts: a person's stop that comes while a tick asks for the service
// keeps the gateway down; a stop that comes later waits for the start, to end the new
// gateway.
func TestStopWhileATickStarts(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.cfg.Files.RuntimeDir = config.Path(t.TempDir()) // nobody listens there
	dir := f.cfg.StateDir()
	m := &fakeManager{gateway: true, looked: func() error { return statemark.MarkStopped(dir) }}
	tick := func() error {
		return Run(t.Context(), Options{Config: f.cfg, Service: m, Self: "/nowhere", StartLimit: time.Millisecond, Out: io.Discard})
	}
	if err := tick(); err != nil || m.started != 0 || !slices.Equal(f.outcomes(), []Outcome{Stopped}) {
		t.Errorf("started %d times, outcomes %q: %v", m.started, f.outcomes(), err)
	}
	check.OK(t, statemark.ClearStopped(dir))
	m.looked = nil
	m.start = func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := statemark.AwaitStart(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stop does not wait: %v", err)
		}
		lock := f.holds("127.0.0.1:1")
		defer lock.Release()
		if err := statemark.AwaitStart(t.Context(), dir); err != nil {
			t.Errorf("a stop does not go on when the gateway is there: %v", err)
		}
		return errors.New("ended")
	}
	if err := tick(); err == nil || m.started != 1 {
		t.Errorf("started %d times: %v", m.started, err)
	}
	if err := statemark.AwaitStart(t.Context(), dir); err != nil {
		t.Errorf("after the tick: %v", err)
	}
}

// TestServiceOfAnother: the service of a gateway with another state directory is left alone,
// and this one's gateway started without it; the heartbeat of that one is told of, too.
func TestServiceOfAnother(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.cfg.Files.RuntimeDir = config.Path(t.TempDir()) // nobody listens there
	m := &fakeManager{gateway: true, dir: t.TempDir(), environ: []string{"BARECLAW_STATE_DIR=/of/another"}}
	err := Run(t.Context(), Options{Config: f.cfg, Service: m, Self: "/nowhere", StartLimit: time.Minute, Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "/nowhere") || m.started != 0 {
		t.Errorf("started the service %d times: %v", m.started, err)
	}
	log, err := os.ReadFile(filepath.Join(f.cfg.StateDir(), logName))
	if err != nil || !strings.Contains(string(log), `whose state is in "/of/another"`) {
		t.Errorf("%v\n%s", err, log)
	}
	m.heartbeat = service.Status{Installed: true, Dir: m.dir, Environ: m.environ}
	look := func() string {
		return strings.Join(Look(t.Context(), f.cfg, m, service.Request{}).Problems, "\n")
	}
	if problems := look(); !strings.Contains(problems, "whose state is in /of/another") {
		t.Errorf("problems: %s", problems)
	}
	m.heartbeat.Environ = []string{"BARECLAW_STATE_DIR=" + f.cfg.StateDir()}
	if problems := look(); strings.Contains(problems, "whose state is in") {
		t.Errorf("problems: %s", problems)
	}
}

// A fakeManager is a service manager that has no disk.
type fakeManager struct {
	service.Manager

	gateway   bool     // is installed
	dir       string   // where that works
	environ   []string // with which settings
	heartbeat service.Status
	absent    error
	start     func() error
	started   int
	installed []service.Spec

	looked      func() error // what happens while it is asked for a job; may be nil
	meanwhile   func() error // what happens while it installs; may be nil
	uninstalled int
}

func (m *fakeManager) System() service.System          { return service.Systemd }
func (m *fakeManager) Available(context.Context) error { return m.absent }

func (m *fakeManager) Install(_ context.Context, _ service.Job, spec service.Spec) ([]string, error) {
	m.installed = append(m.installed, spec)
	if m.meanwhile != nil {
		return nil, m.meanwhile()
	}
	return []string{"wrote it"}, nil
}

func (m *fakeManager) Uninstall(context.Context, service.Job) ([]string, error) {
	m.uninstalled++
	return nil, nil
}

func (m *fakeManager) Status(_ context.Context, job service.Job, _ service.Spec) (service.Status, error) {
	st := m.heartbeat
	if job == service.Gateway {
		st = service.Status{System: service.Systemd, Installed: m.gateway, Dir: m.dir, Environ: m.environ}
	}
	if m.looked != nil {
		return st, m.looked()
	}
	return st, nil
}

func (m *fakeManager) Start(context.Context, service.Job) error {
	m.started++
	return m.start()
}
