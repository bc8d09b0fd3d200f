package heartbeat

import (
	"context"
	"encoding/json"
	"io"
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
)

// A fake is a gateway that answers every message alike. What the real one does is
// tested in the root package; this one has what that cannot easily be brought to.
type fake struct {
	t       *testing.T
	cfg     config.Config
	message map[string]any // the outcome
	until   string         // of the channel

	mu     sync.Mutex
	sends  []string // keys
	refuse []any    // status and code of the next pushes
	posts  int      // besides those of /clear
	texts  []string // of all posts, with their keys

	gone bool // it dies when it gets /clear

	carriers int // requests for the message that another one became a part of
}

// newFake listens where a tick looks.
func newFake(t *testing.T) *fake {
	t.Helper()
	dir, err := os.MkdirTemp("", "hb") // short: a socket has to fit below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := &fake{t: t, cfg: config.Config{
		StateDir: dir, RuntimeDir: dir, CWD: dir, HeartbeatInterval: 500_000 * time.Hour, HeartbeatNotify: "tg-1",
	}, message: map[string]any{"state": "answered", "text": "Look at the disk."}}
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, status int, v any) {
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"ready": true}) })
	mux.HandleFunc("POST /message", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var in struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		f.texts = append(f.texts, in.Text+" "+r.Header.Get("Idempotency-Key"))
		if in.Text == "/clear" {
			if f.gone {
				panic(http.ErrAbortHandler)
			}
			reply(w, 202, map[string]any{"message_id": "c", "state": "waiting"})
			return
		}
		f.posts++
		reply(w, 202, map[string]any{"message_id": "m", "state": "waiting"})
	})
	mux.HandleFunc("GET /messages/m", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, f.message) })
	mux.HandleFunc("GET /messages/into", func(w http.ResponseWriter, _ *http.Request) {
		if f.carriers++; f.carriers == 1 { // as while the gateway restarts
			reply(w, 503, map[string]any{"error": "no", "code": "restarting"})
			return
		}
		reply(w, 200, map[string]any{"text": "of both"})
	})
	mux.HandleFunc("GET /channels/heartbeat", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"until": f.until}) })
	mux.HandleFunc("POST /send", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.sends = append(f.sends, r.Header.Get("Idempotency-Key"))
		if len(f.refuse) == 0 {
			reply(w, 200, map[string]any{"status": "sent"})
			return
		}
		status, code := f.refuse[0].(int), f.refuse[1]
		f.refuse = f.refuse[2:]
		reply(w, status, map[string]any{"error": "no", "code": code})
	})
	l, err := net.Listen("unix", filepath.Join(dir, "api.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(mux)
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return f
}

// dies has the gateway die whenever it gets /clear, or not any more.
func (f *fake) dies(gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = gone
}

// beat carries out a tick in a slot.
func (f *fake) beat(slot int) error {
	cfg := f.cfg
	cfg.HeartbeatInterval += time.Duration(slot) * time.Hour
	return Run(f.t.Context(), Options{
		Config: cfg, Service: &fakeManager{}, Self: "/nowhere", Dir: cfg.CWD, StartLimit: 100 * time.Millisecond, Out: io.Discard,
	})
}

func (f *fake) outcomes() (all []Outcome) {
	f.t.Helper()
	r, err := Read(f.cfg.StateDir)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, t := range r.Ticks {
		all = append(all, t.Outcome)
	}
	return all
}

// TestPushIsTriedAgain under another key where it is known that nothing was delivered,
// under the same where that is not known, and not at all where it cannot be.
func TestPushIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse  []any
		sends   int // of the first slot
		keys    int // different ones
		outcome Outcome
	}{
		"not delivered":  {[]any{502, "delivery_failed", 502, "delivery_failed"}, 3, 3, Told},
		"ended":          {[]any{503, "shutting_down", 507, "storage_full"}, 3, 1, Told},
		"unconfirmed":    {[]any{502, "delivery_unconfirmed"}, 1, 1, Said},
		"nobody's":       {[]any{404, "no_adapter"}, 1, 1, Said},
		"something else": {[]any{422, "idempotency_mismatch"}, 1, 1, Said},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.refuse = c.refuse
			for len(f.refuse) > 0 {
				if err := f.beat(0); err == nil {
					t.Error("a tick that could not tell the user is no success")
				}
			}
			if err := f.beat(0); err != nil {
				t.Error(err)
			}
			keys := slices.Compact(slices.Sorted(slices.Values(f.sends)))
			if len(f.sends) != c.sends || len(keys) != c.keys || f.posts != 1 {
				t.Errorf("%d messages, pushed under %q; want one, and %d pushes under %d keys", f.posts, f.sends, c.sends, c.keys)
			}
			if got := f.outcomes(); len(got) != 1 || got[0] != c.outcome {
				t.Errorf("outcomes: %q, want %s", got, c.outcome)
			}
		})
	}
}

// TestPushIsOwed has pushes fail while ticks go on in new slots: each tick tries once more
// at most, a push of which nothing is known comes again as it was, and what was refused in
// 24 ticks is left.
func TestPushIsOwed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.refuse = []any{502, "delivery_failed", 503, "shutting_down", 503, "shutting_down"}
	for slot := range 2 { // of the second one the first push is that of what is owed, the other one has both
		if err := f.beat(slot); err == nil {
			t.Error("a tick that could not tell the user is no success")
		}
	}
	if f.posts != 2 || len(f.sends) != 3 || f.sends[1] != f.sends[2] || f.sends[0] == f.sends[1] {
		t.Errorf("%d messages, pushed under %q", f.posts, f.sends)
	}
	f.message = map[string]any{"state": "answered", "text": AllWell}
	if err := f.beat(2); err != nil {
		t.Error(err)
	}
	if got := f.outcomes(); len(f.sends) != 5 || f.sends[3] != f.sends[2] || !slices.Equal(got, []Outcome{Told, Told, OK}) {
		t.Errorf("pushed under %q; outcomes %q", f.sends, got)
	}
	f.message = map[string]any{"state": "answered", "text": "Look at the disk."}
	f.refuse = slices.Repeat([]any{502, "delivery_failed"}, 2*mostTries)
	f.sends = nil
	_ = f.beat(3)
	f.message = map[string]any{"state": "answered", "text": AllWell}
	for slot := range mostTries {
		_ = f.beat(4 + slot)
	}
	if got := f.outcomes(); len(f.sends) != mostTries || got[3] != Said || got[len(got)-1] != OK || len(got) != 4+mostTries {
		t.Errorf("%d pushes; outcomes %q", len(f.sends), got)
	}
	if keys := slices.Compact(slices.Sorted(slices.Values(f.sends))); len(keys) != mostTries {
		t.Errorf("under %d keys", len(keys))
	}
	if r, err := Read(f.cfg.StateDir); err != nil || len(r.Owed()) != 0 || r.Pushing != nil {
		t.Errorf("still owed: %+v, %v", r, err)
	}
}

// TestFreshSession: before the question of a slot the session is cleared, once however
// often it is tried, under a key of its own.
func TestFreshSession(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.dies(true)
	if err := f.beat(0); err == nil || f.posts != 0 {
		t.Errorf("%v, and %d questions", err, f.posts)
	}
	f.dies(false)
	if err := f.beat(0); err != nil {
		t.Error(err)
	}
	if err := f.beat(0); err != nil {
		t.Error(err)
	}
	r, err := Read(f.cfg.StateDir)
	if err != nil || len(r.Ticks) != 1 {
		t.Fatalf("recorded %+v, %v", r, err)
	}
	key := slotKey(r.Ticks[0].Slot)
	if want := []string{"/clear " + key + ":clear", r.Ticks[0].Asked + " " + key}; !slices.Equal(slices.Compact(f.texts), want) {
		t.Errorf("posted %q, want %q, in this order", f.texts, want)
	}
}

// TestRevivesOnly: where Claude is not to be asked a tick looks after the gateway, and what
// was asked before that was agreed is still taken up.
func TestRevivesOnly(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.message["state"] = "running"
	if err := f.beat(0); err != nil { // it waits for no answer
		t.Error(err)
	}
	f.message = map[string]any{"state": "answered", "text": "Look at the disk."}
	f.cfg.Heartbeat = config.HeartbeatRevive
	for slot := range 3 {
		if err := f.beat(slot); err != nil {
			t.Error(err)
		}
	}
	if got := f.outcomes(); f.posts != 1 || len(f.sends) != 1 || !slices.Equal(got, []Outcome{Told, Serves, Serves}) {
		t.Errorf("%d messages, %d pushes, outcomes %q", f.posts, len(f.sends), got)
	}
}

// TestNotAskedAnyMore: a question that was to be asked and is not agreed to any more is not
// asked.
func TestNotAskedAnyMore(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.dies(true)
	_ = f.beat(0)
	f.dies(false)
	f.cfg.Heartbeat = config.HeartbeatRevive
	for range 2 {
		if err := f.beat(0); err != nil {
			t.Error(err)
		}
	}
	if got := f.outcomes(); f.posts != 0 || !slices.Equal(got, []Outcome{Failed, Serves}) {
		t.Errorf("%d messages, outcomes %q", f.posts, got)
	}
}

// TestOwedText keeps the newest of what is too much.
func TestOwedText(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 31, 9, 0, 0, 0, time.Local)
	owed := func(texts ...string) (all []*Tick) {
		for i, text := range texts {
			all = append(all, &Tick{At: at.Add(time.Duration(i) * time.Hour), Push: text})
		}
		return all
	}
	const head = "Heartbeat: what follows could not be told when it was found."
	long := strings.Repeat("x", maxOwed)
	for want, ticks := range map[string][]*Tick{
		"a": owed("a", "a"),
		head + "\n\nThu 31 Jan 10:00: b\n\nThu 31 Jan 11:00: a":                            owed("a", "b", "a"),
		head + " Of 2 more only the channel heartbeat knows.\n\nThu 31 Jan 11:00: " + long: owed("a", "b", long),
	} {
		if got := owedText(ticks); got != want {
			t.Errorf("got %.120q, want %.120q", got, want)
		}
	}
}

// TestLimit leaves the agent alone until a limit ends.
func TestLimit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.message = map[string]any{"state": "failed", "code": "usage_limit", "error": "The limit is reached."}
	f.until = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for slot := range 9 {
		if err := f.beat(slot); err != nil {
			t.Error(err)
		}
	}
	if f.posts != 1 || len(f.sends) != 1 {
		t.Errorf("%d messages, %d pushes before the limit ends; want one of each", f.posts, len(f.sends))
	}
	b, err := openBook(f.cfg.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	b.Trouble.Until = time.Now().Add(-time.Second)
	if err := b.save(); err != nil {
		t.Fatal(err)
	}
	f.message = map[string]any{"state": "answered", "text": "HEARTBEAT_OK"}
	if err := f.beat(9); err != nil {
		t.Error(err)
	}
	if got := f.outcomes(); f.posts != 2 || got[len(got)-1] != OK {
		t.Errorf("%d messages, outcomes %q", f.posts, got)
	}
}

// TestWaitsParked tells the user once of a message that waits for a limit to end, and
// takes its answer up later.
func TestWaitsParked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.message = map[string]any{"message_id": "m", "state": "waiting", "why": "The budget is spent.", "until": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}
	for slot := range 3 {
		if err := f.beat(slot); err != nil {
			t.Error(err)
		}
	}
	if got := f.outcomes(); f.posts != 1 || len(f.sends) != 1 || !slices.Equal(got, []Outcome{Parked, Parked}) {
		t.Errorf("%d messages, %d pushes, outcomes %q", f.posts, len(f.sends), got)
	}
	f.message = map[string]any{"state": "answered", "text": "HEARTBEAT_OK"}
	if err := f.beat(3); err != nil {
		t.Error(err)
	}
	if got := f.outcomes(); f.posts != 2 || len(f.sends) != 1 || !slices.Equal(got, []Outcome{Parked, Parked, OK, OK}) {
		t.Errorf("%d messages, %d pushes, outcomes %q", f.posts, len(f.sends), got)
	}
}

// TestCoalesced has the answer of the message that carries it, also where that is told
// only when it is asked for again.
func TestCoalesced(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.message = map[string]any{"state": "answered", "text": "", "into": "into"}
	_ = f.beat(0) // it waits for no answer
	if err := f.beat(0); err != nil {
		t.Error(err)
	}
	if r, err := Read(f.cfg.StateDir); err != nil || len(r.Ticks) != 1 || r.Ticks[0].Push != "of both" {
		t.Errorf("recorded %+v, %v", r, err)
	}
}

// TestEmptyAnswer: there is nothing to push, and that is on record.
func TestEmptyAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.message = map[string]any{"state": "answered", "text": " \n"}
	if err := f.beat(0); err != nil {
		t.Error(err)
	}
	r, err := Read(f.cfg.StateDir)
	if err != nil || len(f.sends) > 0 || len(r.Ticks) != 1 || r.Ticks[0].Outcome != Said || r.Ticks[0].Problem != "the answer is empty" {
		t.Errorf("%d pushes; recorded %+v, %v", len(f.sends), r, err)
	}
}

func TestTroubleIsOver(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		trouble  Trouble
		answered int64
		want     bool
	}{
		"just begun":            {Trouble{Answered: 3}, 3, false},
		"somebody was answered": {Trouble{Answered: 3, Until: now.Add(time.Hour)}, 4, true},
		"its time has come":     {Trouble{Answered: 3, Until: now}, 3, true},
		"it has not":            {Trouble{Answered: 3, Until: now.Add(1), Skipped: 99}, 3, false},
		"long ago":              {Trouble{Answered: 3, Skipped: skipped}, 3, true},
		"another ledger":        {Trouble{Answered: 3}, 0, false},
	} {
		if got := c.trouble.over(now, c.answered); got != c.want {
			t.Errorf("%s: over is %v", name, got)
		}
	}
}

// TestHungGateway: beside one that is alive and does not answer no second one is
// started.
func TestHungGateway(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.cfg.RuntimeDir = t.TempDir() // nobody listens there
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
	f.cfg.RuntimeDir = t.TempDir() // nobody listens there
	tcp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"That is another token.","code":"unauthorized"}`)
	}))
	defer tcp.Close()
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
	if err != nil {
		f.t.Fatal(err)
	}
	lock, err := lockfile.AcquireState(f.cfg.StateDir)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := lock.Describe(lockfile.Holder{PID: os.Getpid(), Start: start, Address: address}); err != nil {
		f.t.Fatal(err)
	}
	return lock
}

// TestServiceIsStarted: where the gateway is a service, that is started.
func TestServiceIsStarted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	socket := filepath.Join(f.cfg.StateDir, "api.sock")
	if err := os.Rename(socket, socket+".down"); err != nil {
		t.Fatal(err)
	}
	m := &fakeManager{gateway: true, start: func() error { return os.Rename(socket+".down", socket) }}
	err := Run(t.Context(), Options{Config: f.cfg, Service: m, Self: "/nowhere", StartLimit: time.Minute, Out: io.Discard})
	if err != nil || m.started != 1 {
		t.Errorf("started %d times: %v", m.started, err)
	}
	if r, err := Read(f.cfg.StateDir); err != nil || len(r.Ticks) != 1 || !r.Ticks[0].Started || r.Ticks[0].Outcome != Told {
		t.Errorf("recorded %+v, %v", r, err)
	}
}

// TestServiceOfAnother: the service of a gateway with another state directory is left alone,
// and this one's gateway started without it; the heartbeat of that one is told of, too.
func TestServiceOfAnother(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.cfg.RuntimeDir = t.TempDir() // nobody listens there
	m := &fakeManager{gateway: true, dir: t.TempDir(), environ: []string{"BARECLAW_STATE_DIR=/of/another"}}
	err := Run(t.Context(), Options{Config: f.cfg, Service: m, Self: "/nowhere", StartLimit: time.Minute, Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "/nowhere") || m.started != 0 {
		t.Errorf("started the service %d times: %v", m.started, err)
	}
	log, err := os.ReadFile(filepath.Join(f.cfg.StateDir, logName))
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
	m.heartbeat.Environ = []string{"BARECLAW_STATE_DIR=" + f.cfg.StateDir}
	if problems := look(); strings.Contains(problems, "whose state is in") {
		t.Errorf("problems: %s", problems)
	}
}

// A fakeManager is a service manager that has no disk.
type fakeManager struct {
	gateway   bool     // is installed
	dir       string   // where that works
	environ   []string // with which settings
	heartbeat service.Status
	absent    error
	start     func() error
	started   int
	installed []service.Spec

	looked      func() error // what happens while it is asked for the heartbeat; may be nil
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
	if job == service.Gateway {
		return service.Status{System: service.Systemd, Installed: m.gateway, Dir: m.dir, Environ: m.environ}, nil
	}
	if m.looked != nil {
		return m.heartbeat, m.looked()
	}
	return m.heartbeat, nil
}

func (m *fakeManager) Start(context.Context, service.Job) error {
	m.started++
	return m.start()
}
