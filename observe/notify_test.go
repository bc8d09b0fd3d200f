package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/internal/testkit/check"
	"bareclaw/internal/wait"
	"bareclaw/observe/api"
	"bareclaw/observe/discovery"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

var errAway = errors.New("the gateway is away")

// A memoryGateway takes each key once, as the real one does.
type memoryGateway struct {
	mu     sync.Mutex
	pushed []string          // texts
	asked  []string          // texts
	keys   map[string]string // of all that was taken, with the id of the message
	done   map[string]bool   // messages that have ended
	away   bool
	outage int // how many pushes are given up, with nothing sent
	// step is called before and after each request is taken; an error is that of the request.
	step func(what string) error
	// ask is called for each new message, as the agent.
	ask func(message string)
}

func newGateway() *memoryGateway {
	return &memoryGateway{
		keys: map[string]string{},
		done: map[string]bool{},
		step: func(string) error { return nil },
		ask:  func(string) {},
	}
}

// take takes a request, and reports whether it is new.
func (g *memoryGateway) take(what, key string, list *[]string, text string) (id string, isNew bool, err error) {
	if err := g.step(what + " is sent"); err != nil {
		return "", false, err
	}
	g.mu.Lock()
	if g.away {
		g.mu.Unlock()
		return "", false, errAway
	}
	id = g.keys[key]
	if isNew = id == ""; isNew {
		*list = append(*list, text)
		id = fmt.Sprintf("m%d", len(*list))
		g.keys[key] = id
	}
	g.mu.Unlock()
	return id, isNew, g.step(what + " is taken")
}

func (g *memoryGateway) Push(_ context.Context, key, _, text string) error {
	if g.givesUp() {
		return errAway
	}
	_, _, err := g.take("push", key, &g.pushed, text)
	return err
}

// givesUp reports whether people cannot be told.
func (g *memoryGateway) givesUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.outage == 0 {
		return false
	}
	g.outage--
	return true
}

func (g *memoryGateway) Ask(_ context.Context, key, _, text string) (string, error) {
	id, isNew, err := g.take("question", key, &g.asked, text)
	if isNew {
		g.ask(id)
	}
	return id, err
}

func (g *memoryGateway) HasEnded(_ context.Context, message string) (bool, error) {
	if err := g.step("outcome is asked for"); err != nil {
		return false, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away {
		return false, errAway
	}
	return g.done[message], nil
}

func (g *memoryGateway) end(message string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done[message] = true
}

func (g *memoryGateway) setAway(away bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.away = away
}

// texts returns what was taken.
func (g *memoryGateway) texts() (pushed, asked []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pushed, g.asked
}

// A toldApp is one whose findings are told, by one observer after the other.
type toldApp struct {
	t       *testing.T
	dir     string
	notify  Notify
	gateway *memoryGateway
	store   *findings.Store
	seen    int
	end     func()
}

func newToldApp(t *testing.T, notify Notify) *toldApp {
	a := &toldApp{
		t:       t,
		dir:     t.TempDir(),
		notify:  notify,
		gateway: newGateway(),
	}
	a.start()
	return a
}

// storeFile returns what an observer with its state in a directory knows of its store.
func storeFile(t *testing.T, dir string) *discovery.StoreFile {
	t.Helper()
	f, err := discovery.RecordsOf(dir).StoreFile("shop", slog.New(slog.DiscardHandler))
	check.OK(t, err)
	return f
}

// start starts what an observer does about findings, from what the one before has on the disk.
func (a *toldApp) start() {
	a.t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := findings.OpenStore(filepath.Join(a.dir, ".brakit"), storeFile(a.t, a.dir), log)
	check.OK(a.t, err)
	v := &observer{
		Options: Options{
			Dir:     a.dir,
			Channel: "tg-7",
			Notify:  a.notify,
			Gateway: a.gateway,
			Log:     log,
		},
		findings: store,
		told:     wait.NewSignal(),
		toFix:    wait.NewSignal(),
		api: api.NewServer(api.Options{
			Findings: store,
			Peer:     func(net.Conn) bool { return true },
			Log:      log,
		}),
	}
	v.notifier = v.newNotifier()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, loop := range append(v.tellers(), v.spread) {
		running.Go(func() { loop(ctx) })
	}
	synctest.Wait() // each waits for something to tell
	a.store = store
	a.end = func() {
		cancel()
		running.Wait()
	}
}

// sees has a request show a problem of an endpoint.
func (a *toldApp) sees(endpoint string) {
	a.seen++
	a.store.Judge(findings.Judgement{
		Rule: &rules.Rule{
			ID:       "n1",
			Severity: rules.Critical,
			Title:    "N+1 query",
		},
		Request:  fmt.Sprint("r", a.seen),
		Endpoint: endpoint,
		Run:      1,
		At:       time.Now(),
		Status:   200,
		Clean:    true,
		Matches:  []rules.Match{{Description: rules.Describe("%s queries of items", rules.Count(8))}},
	})
}

// TestFindingsAreGathered: what is found within ten seconds is told together, and once.
func TestFindingsAreGathered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newToldApp(t, Tell)
		defer a.end()
		a.sees("GET /a")
		time.Sleep(gatherTime - time.Millisecond)
		if pushed, _ := a.gateway.texts(); len(pushed) > 0 {
			t.Errorf("told too early: %q", pushed)
		}
		a.sees("GET /b")
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		for range 100 {
			a.sees("GET /a")
			time.Sleep(time.Second)
		}
		pushed, _ := a.gateway.texts()
		if len(pushed) != 1 || !strings.HasPrefix(pushed[0], "**2 problems** in ") || !strings.Contains(pushed[0], "GET /b") {
			t.Errorf("told: %q", pushed)
		}
	})
}

// TestGatewayIsAway: what was found is told when the gateway is back, once.
func TestGatewayIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newToldApp(t, Tell)
		defer func() { a.end() }()
		a.gateway.setAway(true)
		a.sees("GET /a")
		time.Sleep(24 * time.Hour)
		a.end()
		a.start()
		a.sees("GET /b")
		time.Sleep(24 * time.Hour)
		a.gateway.setAway(false)
		time.Sleep(time.Hour)
		pushed, _ := a.gateway.texts()
		if all := strings.Join(pushed, "\n"); strings.Count(all, "GET /a") != 1 || strings.Count(all, "GET /b") != 1 {
			t.Errorf("told: %q", pushed)
		}
	})
}

// TestClearedWhileGatewayIsAway: nobody is told of what was cleared before the gateway came back.
func TestClearedWhileGatewayIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newToldApp(t, Tell)
		defer func() { a.end() }()
		a.gateway.setAway(true)
		a.sees("GET /a")
		time.Sleep(time.Hour)
		a.store.Clear()
		a.sees("GET /b")
		a.gateway.setAway(false)
		time.Sleep(time.Hour)
		pushed, _ := a.gateway.texts()
		if len(pushed) != 1 || !strings.Contains(pushed[0], "GET /b") || strings.Contains(pushed[0], "GET /a") {
			t.Errorf("told: %q", pushed)
		}
	})
}

// withoutCode returns Markdown without its code, in which nothing acts.
func withoutCode(text string) string {
	return regexp.MustCompile("`` .*? ``|`[^`]+`").ReplaceAllString(text, "")
}

// TestChangedPush: what somebody has written into the file does not format the message, whose key stays.
func TestChangedPush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newToldApp(t, Tell)
		defer func() { a.end() }()
		a.gateway.setAway(true)
		a.sees("GET /a")
		time.Sleep(time.Minute)
		a.end()
		path := filepath.Join(a.dir, ".brakit", "findings.json")
		text, err := os.ReadFile(path)
		check.OK(t, err)
		const link = "[x](http://x)"
		changed := strings.NewReplacer(`"critical"`, `"`+link+`"`, "N+1 query", link, "queries of items", link).Replace(string(text))
		check.OK(t, os.WriteFile(path, []byte(changed), 0o600))
		a.gateway.setAway(false)
		a.start()
		time.Sleep(time.Hour)
		pushed, _ := a.gateway.texts()
		if len(pushed) != 1 || strings.Contains(withoutCode(pushed[0]), link) || !strings.Contains(pushed[0], "- critical: `8 ") || !strings.Contains(pushed[0], "GET /a") {
			t.Errorf("told: %q", pushed)
		}
	})
}

// TestStrangeFinding: nothing of a finding formats the message.
func TestStrangeFinding(t *testing.T) {
	t.Parallel()
	const link = "[x](http://x)"
	strange := findings.Finding{
		ID:          "`" + link + "`",
		Severity:    rules.Severity("**" + link + "\n"),
		Endpoint:    "GET /`" + link,
		Title:       link,
		Description: link,
		Advice:      link,
	}
	n := &Notifier{App: "shop"}
	text := n.text(findings.Push{Changes: []findings.Change{{Kind: findings.New, Finding: strange}}})
	words := withoutCode(text)
	if strings.Contains(words, link) || strings.ContainsAny(words, "`") || strings.Contains(words, "- **") || strings.Count(text, "\n") != 2 {
		t.Errorf("told: %s", text)
	}
}

// TestChatIsAway: what the gateway has given up is told when the chat can be reached again, once, with what was found since;
// also by another observer.
func TestChatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newToldApp(t, Tell)
		defer func() { a.end() }()
		a.gateway.outage = 100
		a.sees("GET /a")
		time.Sleep(time.Hour)
		a.end()
		a.start()
		a.sees("GET /b")
		time.Sleep(24 * time.Hour)
		pushed, _ := a.gateway.texts()
		if all := strings.Join(pushed, "\n"); strings.Count(all, "GET /a") != 1 || strings.Count(all, "GET /b") != 1 {
			t.Errorf("told: %q", pushed)
		}
	})
}

// life is what becomes of a finding of a told app whose agent cannot fix it. The finding is seen twice a minute, and the observer
// killed at the so many-th step; it returns how many steps there are.
func (a *toldApp) life(killAt int) (steps int) {
	killed := make(chan struct{}, 1)
	var mu sync.Mutex
	a.gateway.step = func(string) error {
		mu.Lock()
		defer mu.Unlock()
		steps++
		if steps == killAt {
			killed <- struct{}{}
			return errAway // nobody hears the answer
		}
		return nil
	}
	a.gateway.ask = func(message string) {
		time.AfterFunc(12*time.Second, func() { a.gateway.end(message) })
	}
	for range 20 {
		a.sees("GET /a")
		time.Sleep(30 * time.Second)
		select {
		case <-killed:
			a.end()
			a.start()
		default:
		}
	}
	return steps
}

// TestFixIsTriedThreeTimes: the agent is asked to fix a finding three times, one after the other, and then people are told that it
// is not any more. A kill of the observer at any step changes nothing of that.
func TestFixIsTriedThreeTimes(t *testing.T) {
	t.Parallel()
	steps := 1
	for killAt := 0; killAt <= steps; killAt++ {
		t.Run(fmt.Sprintf("killed at step %d", killAt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newToldApp(t, Fix)
				n := a.life(killAt)
				a.end()
				if killAt == 0 {
					steps = n
				}
				pushed, asked := a.gateway.texts()
				if len(asked) != findings.MaxRounds {
					t.Errorf("the agent was asked %d times", len(asked))
				}
				id := a.store.All()[0].ID
				for _, text := range asked {
					if !strings.Contains(text, id) || !strings.Contains(text, IDOf(a.dir)) {
						t.Errorf("asked without the finding %s or the app: %s", id, text)
					}
				}
				if len(pushed) != 2 || !strings.Contains(pushed[0], "critical: ") || !strings.Contains(pushed[1], "critical (not fixed in 3 attempts") {
					t.Errorf("told: %q", pushed)
				}
			})
		})
	}
	if steps < 8 {
		t.Errorf("there are only %d steps", steps)
	}
}

// TestFixedIsNotAskedFor: what somebody fixes, or will not fix, is not asked for.
func TestFixedIsNotAskedFor(t *testing.T) {
	t.Parallel()
	for _, status := range []findings.FixStatus{findings.FixBegun, findings.Fixed, findings.WontFix} {
		synctest.Test(t, func(t *testing.T) {
			a := newToldApp(t, Fix)
			defer a.end()
			a.sees("GET /a")
			_, err := a.store.Report(a.store.All()[0].ID, status, "")
			check.OK(t, err)
			time.Sleep(time.Hour)
			if _, asked := a.gateway.texts(); len(asked) > 0 {
				t.Errorf("%s: asked %q", status, asked)
			}
		})
	}
}

// TestOneRunAtATime: a finding of another endpoint waits until the agent is done.
func TestOneRunAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newToldApp(t, Fix)
		defer func() { a.end() }()
		a.sees("GET /a")
		time.Sleep(time.Minute)
		a.sees("GET /b")
		time.Sleep(time.Hour)
		a.end()
		a.start()
		time.Sleep(time.Hour)
		if _, asked := a.gateway.texts(); len(asked) != 1 {
			t.Fatalf("asked: %q", asked)
		}
		a.gateway.end("m1")
		time.Sleep(2 * time.Minute)
		if _, asked := a.gateway.texts(); len(asked) != 2 {
			t.Errorf("asked: %q", asked)
		}
	})
}
