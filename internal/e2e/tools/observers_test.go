package tools

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
	"bareclaw/observe/discovery"
)

// webApp returns the address of an app that shows a stack trace at /broken.
func webApp(t *testing.T) string {
	t.Helper()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "Error: no\n    at list (/srv/app/list.js:1:2)\n    at next (/srv/app/node_modules/express/lib/router.js:3:4)\n")
			return
		}
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(app.Close)
	return app.URL
}

// visit asks for a page of an observed app.
func visit(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	check.OK(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	check.OK(t, err)
	return string(body)
}

// records returns the records of the observers of a machine that run, which end with the test.
func records(m *harness.Machine) []discovery.Record {
	m.T.Helper()
	running, err := discovery.RecordsOf(m.Path("state")).Live()
	check.OK(m.T, err)
	return running
}

func endObservers(m *harness.Machine) {
	for _, r := range records(m) {
		_ = proc.Signal(r.PID, r.Start, syscall.SIGKILL)
	}
}

// observe has the gateway observe an app, and returns the record of the observer.
func observe(g *harness.Gateway, dir, target, channel string) discovery.Record {
	g.T.Helper()
	g.T.Cleanup(func() { endObservers(g.Machine) })
	check.OK(g.T, os.MkdirAll(dir, 0o700))
	body := harness.Obj{"dir": dir, "target": target}
	if channel != "" {
		body["channel"] = channel
	}
	id := g.Must("POST", "/observers", body, 201).Str("id")
	for _, r := range records(g.Machine) {
		if r.ID == id {
			return r
		}
	}
	g.T.Fatalf("there is no record of %s", id)
	return discovery.Record{}
}

// TestObservers: the gateway starts an observer of an app, which outlives its restart, passes requests on to it, shows what it
// has found wherever it tells of itself, and ends it.
func TestObservers(t *testing.T) {
	m, g := harness.Started(t)
	none := g.Must("GET", "/observers", nil, 200)
	if len(none.Array("observers")) != 0 || none.Str("directory") != m.Path("state/observe") || g.Must("GET", "/health", nil, 200).JSON["observers"] != nil {
		t.Errorf("at first: %s", none.Body)
	}
	dir := m.Path("work/shop")
	check.OK(t, os.MkdirAll(dir, 0o700))
	target := webApp(t)
	g.Must("POST", "/observers", harness.Obj{"dir": dir, "target": "http://example.com"}, 400).Refused(t, "another machine", 400, "bad_target")
	g.Must("POST", "/observers", harness.Obj{"dir": dir, "target": g.Base}, 400).Refused(t, "the gateway", 400, "bad_target")

	r := observe(g.OverSocket(), dir, target, "desk")
	g.Eventually("the app is found", func() bool { return visit(t, r.Proxy+"/") == "hello" })
	visit(t, r.Proxy+"/broken")
	g.Restart()
	g.Eventually("what was found is told", func() bool {
		h, _ := g.Must("GET", "/health", nil, 200).JSON["observers"].(map[string]any)
		open, _ := h["open"].(map[string]any)
		return h["running"] == 1.0 && open["critical"] != nil
	})
	if n := g.Metrics()[`bareclaw_observer_findings{severity="critical"}`]; n < 1 || g.Metrics()["bareclaw_observers"] != 1 {
		t.Errorf("the metrics have %v critical findings", n)
	}
	shown := g.Must("GET", "/observers", nil, 200).Array("observers")[0]
	if shown.Str("address") != r.Proxy || shown.JSON["open"].(float64) < 1 || shown.JSON["requests"].(float64) < 2 {
		t.Errorf("shown is %v", shown.JSON)
	}
	found := g.Must("GET", "/observers/"+r.ID+"/api/findings", nil, 200).Array("findings")
	id := found[0].Str("issueId")
	g.Must("POST", "/observers/"+r.ID+"/api/findings/report", harness.Obj{"findingId": id, "status": "fixing", "notes": "soon"}, 200)
	g.Must("GET", "/observers/"+r.ID+"/api/metrics/live", nil, 200)
	g.Must("GET", "/observers/"+r.ID+"/api/nothing", nil, 404)
	g.Must("GET", "/observers/none/api/findings", nil, 404).Refused(t, "no observer", 404, "not_found")
	m.Command(harness.ExitOK, "status").Shows("1 app, ")
	m.Command(harness.ExitOK, "tools", "list").Shows("get_findings")
	m.Command(harness.ExitOK, "tools", "call", "get_findings", `{"app": "`+r.ID+`"}`).Shows("stack")
	m.Command(harness.ExitOK, "observe", "list").Shows(r.Proxy)

	g.Must("DELETE", "/observers/"+r.ID, nil, 200)
	g.Must("DELETE", "/observers/"+r.ID, nil, 404)
	if left := records(m); len(left) > 0 {
		t.Errorf("these are left: %+v", left)
	}
	g.Eventually("no observer is told of", func() bool { return g.Must("GET", "/health", nil, 200).JSON["observers"] == nil })
}

// TestObserverOfSession: a session starts an observer of an app by a tool, at the gateway's address of today.
func TestObserverOfSession(t *testing.T) {
	m, g := harness.Started(t)
	t.Cleanup(func() { endObservers(m) })
	says(t, g.Say("desk", `mcp - observe_start {"target":"`+webApp(t)+`"}`), "in place of the app's own address")
	all := records(m)
	if len(all) != 1 || all[0].Channel != "desk" || all[0].Dir != m.Path("work") {
		t.Fatalf("there are %+v", all)
	}
	g.Eventually("the app is found", func() bool { return visit(t, all[0].Proxy+"/") == "hello" })
	visit(t, all[0].Proxy+"/broken")
	g.Eventually("it has found something", func() bool {
		return strings.Contains(g.Say("desk", "mcp - get_findings {}").Str("text"), "stack")
	})
	says(t, g.Say("desk", "mcp - observe_stop {}"), "has ended")

	inSession := m.With("BARECLAW_SOCKET="+m.Path("run/api.sock"), "BARECLAW_STATE_DIR="+m.Path("other")) // whose settings it does not see
	inSession.Command(harness.ExitOK, "observe", "--detach", "--target", webApp(t)).Tells("Open the app at http://127.0.0.1:")
	if again := records(m); len(again) != 1 {
		t.Errorf("there are %+v", again)
	}
	inSession.Command(harness.ExitOK, "observe", "stop").Tells("has ended")
}

// TestDeadObserverIsToldOnce: people are told of an observer that was killed, once, also if the gateway is killed or away
// meanwhile, and the next one has its address. One that was stopped is not told of.
func TestDeadObserverIsToldOnce(t *testing.T) {
	t.Parallel()
	m, api, _, chat := harness.NewChat(t)
	g := m.Start()
	target := webApp(t)
	died := func() int { return harness.CountText(chat, "has ended unexpectedly") }
	gone := func(r discovery.Record) {
		check.OK(t, proc.Signal(r.PID, r.Start, syscall.SIGKILL))
		check.OK(t, proc.WaitGone(t.Context(), r.PID, r.Start))
	}

	stopped := observe(g, m.Path("work/stopped"), target, "tg-7")
	g.Must("DELETE", "/observers/"+stopped.ID, nil, 200)
	first := observe(g, m.Path("work/first"), target, "tg-7")
	silent := observe(g, m.Path("work/silent"), target, "")
	gone(silent)
	gone(first)
	api.Await(t, "people are told", func() bool { return died() == 1 })
	chat.AwaitMessage("which one", func(b botapi.Message) bool { return strings.Contains(b.Text, first.Proxy) })

	second := observe(g, first.Dir, target, "tg-7")
	if second.Proxy != first.Proxy {
		t.Errorf("the address was %s, and is %s", first.Proxy, second.Proxy)
	}
	g.Kill()
	gone(second)
	g = m.Start()
	api.Await(t, "people are told by the next gateway", func() bool { return died() == 2 })
	g.Eventually("it is noted", func() bool { return discovery.RecordsOf(m.Path("state")).IsTold(&second) })
	g.Kill()
	check.OK(t, os.Remove(m.Path("state/observe/"+second.ID+".told"))) // as if it was killed before the note
	g = m.Start()
	g.Eventually("it is noted again", func() bool { return discovery.RecordsOf(m.Path("state")).IsTold(&second) })
	third := observe(g, m.Path("work/third"), target, "tg-7")
	gone(third)
	began := time.Now()
	api.Await(t, "the third is told", func() bool { return died() >= 3 })
	if died() != 3 {
		t.Errorf("%d deaths are told, after %v", died(), time.Since(began))
	}
}

// says holds that an answer contains a text.
func says(t *testing.T, a harness.Answer, text string) {
	t.Helper()
	if got := a.Str("text"); !strings.Contains(got, text) {
		t.Errorf("the answer is %q, want %q in it", got, text)
	}
}
