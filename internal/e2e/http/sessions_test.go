package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"bareclaw/internal/e2e/harness"
)

// sessionFile returns what the session file holds.
func sessionFile(m *harness.Machine) map[string]string {
	m.T.Helper()
	b, err := os.ReadFile(m.Path("work/.bareclaw-sessions.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		m.T.Fatal(err)
	}
	var ids map[string]string
	if err := json.Unmarshal(b, &ids); err != nil {
		m.T.Fatalf("session file %q: %v", b, err)
	}
	return ids
}

func TestClearBeginsAnotherSession(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	old := g.Say("http", "session").Str("text")
	if got := sessionFile(m)["http"]; got != old {
		t.Errorf("session file has %q, claude says %q", got, old)
	}
	a := g.Say("http", "/clear")
	a.Want(t, "")
	fresh := g.Say("http", "session").Str("text")
	if fresh == old || a.Str("session_id") != fresh {
		t.Errorf("session was %s and is %s; the reply to /clear says %s", old, fresh, a.Body)
	}
	if got := g.Channel("http").Str("session_id"); got != fresh {
		t.Errorf("channel says session %s, claude %s", got, fresh)
	}
	m.Eventually("new session is saved", func() bool { return sessionFile(m)["http"] == fresh })
	st, err := os.Stat(m.Path("work/.bareclaw-sessions.json"))
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("mode of the session file: %v, %v", st.Mode(), err)
	}
	crash(g)
	g = m.Start()
	if got := g.Say("http", "session").Str("text"); got != fresh {
		t.Errorf("session %s is resumed, want %s", got, fresh)
	}
	if texts := g.Say("http", "history").Str("text"); strings.Count(texts, "session") != 2 {
		t.Errorf("history since /clear is %s", texts)
	}
	g.Balanced()
}

// crash ends the daemon, every host and every claude, all at once.
func crash(g *harness.Gateway) {
	g.T.Helper()
	g.Kill()
	g.EndHosts()
	g.Eventually("hosts are gone", func() bool { return len(g.Hosts()) == 0 })
}

func TestSessionIsResumedAfterEverythingDied(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	first := g.Say("http", "echo remember me")
	pid := g.Say("http", "pid").Str("text")
	for range 2 {
		crash(g)
		g = m.Start()
		a := g.Say("http", "history")
		if !strings.Contains(a.Str("text"), "remember me") || a.Str("session_id") != first.Str("session_id") {
			t.Errorf("after the crash: %s, before: %s", a.Body, first.Body)
		}
		if a.JSON["notices"] != nil {
			t.Errorf("a resumed session tells %s", a.Body)
		}
	}
	if now := g.Say("http", "pid").Str("text"); now == pid {
		t.Errorf("claude %s was to be killed", pid)
	}
	g.Balanced()
}

func TestUnknownSessionIsToldOnce(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	lost := uuid.NewString()
	if err := os.WriteFile(m.Path("work/.bareclaw-sessions.json"), []byte(`{"http": "`+lost+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	g := m.Start()
	a := g.Say("http", "echo hello")
	a.Want(t, "hello")
	if n := a.Array("notices"); len(n) != 1 || n[0].Code() != "fresh_session" || n[0].Str("text") == "" {
		t.Errorf("first answer tells %s", a.Body)
	}
	if id := a.Str("session_id"); id == lost || sessionFile(m)["http"] != id {
		t.Errorf("session is %s, in the file %q, lost was %s", id, sessionFile(m), lost)
	}
	if a := g.Say("http", "echo again"); a.JSON["notices"] != nil {
		t.Errorf("second answer tells %s", a.Body)
	}
	if n := m.Begun("hello"); n != 1 {
		t.Errorf("begun %d times, want once", n)
	}
	g.Balanced()
}

func TestCorruptSessionFileIsSetAsideAndTold(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	const rubbish = `{"http": "0199`
	if err := os.WriteFile(m.Path("work/.bareclaw-sessions.json"), []byte(rubbish), 0o600); err != nil {
		t.Fatal(err)
	}
	g := m.Start()
	health := g.Must("GET", "/health", nil, 200)
	problems, _ := health.JSON["problems"].([]any)
	if health.Str("status") != "degraded" || len(problems) != 1 || !strings.Contains(fmt.Sprint(problems[0]), ".bareclaw-sessions.json") {
		t.Errorf("health is %s", health.Body)
	}
	a := g.Say("http", "echo hello")
	a.Want(t, "hello")
	if got := sessionFile(m)["http"]; got != a.Str("session_id") {
		t.Errorf("session file has %q, want %q", got, a.Str("session_id"))
	}
	aside := m.Glob("work/.bareclaw-sessions.json.corrupt-*")
	if len(aside) != 1 {
		t.Fatalf("set aside: %q", aside)
	}
	if b, err := os.ReadFile(aside[0]); err != nil || string(b) != rubbish {
		t.Errorf("%s holds %q, %v", aside[0], b, err)
	}
	g.Balanced()
}

func TestChannelNames(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	long := strings.Repeat("x", 200)
	names := []string{long + "1", long + "2", "../../etc/passwd", "...", "/", "/abs/olute", "two words", `"quotes' $(id)`,
		"Ünïcödé 频道 🐻", "tg-123", "a%2Fb", "a/b"}
	sessions := make([]string, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			a, err := g.Do("POST", "/message", harness.Obj{"channel": name, "text": "echo I am " + strconv.Itoa(i)})
			if err != nil || a.Status != 200 || a.Str("text") != "I am "+strconv.Itoa(i) || a.Str("channel") != name {
				t.Errorf("channel %q: %v, %s", name, err, a.Body)
			}
			sessions[i] = a.Str("session_id")
		})
	}
	wg.Wait()
	if unique := slices.Compact(slices.Sorted(slices.Values(sessions))); len(unique) != len(names) {
		t.Errorf("%d channels have %d sessions", len(names), len(unique))
	}
	for i, name := range names {
		a := g.Channel(name)
		if a.Str("channel") != name || a.Str("session_id") != sessions[i] || a.Number("messages") != 1 {
			t.Errorf("channel %q is %s", name, a.Body)
		}
		list := g.Must("GET", "/channels/"+harness.Escaped(name)+"/messages", nil, 200).Array("messages")
		if len(list) != 1 || list[0].Str("text") != "I am "+strconv.Itoa(i) {
			t.Errorf("channel %q has messages %v", name, list)
		}
	}
	if got := sessionFile(m); len(got) != len(names) {
		t.Errorf("session file has %q", slices.Collect(maps.Keys(got)))
	}
	if files := m.Glob("*"); len(files) != 5 {
		t.Errorf("files outside of their place: %q", files)
	}
	for what, name := range map[string]string{
		"of 4,000 characters": strings.Repeat("y", 4000), "with a newline": "a\nb", "with NUL": "a\x00b", "with an escape": "a\x1b[31m",
		"empty": "", "blank": " ", "with a space at its end": "a ",
		"which is a directory": ".", "which is the directory above": "..", "of nothing visible": "\u200b", "with a mark of direction": "a\u202eb",
		"with a space that is none": "a\u3164b",
	} {
		g.Must("POST", "/message", harness.Obj{"channel": name, "text": "hello"}).Refused(t, "channel "+what, http.StatusBadRequest, "bad_channel")
	}
	if n := g.Balanced(); n != len(names) {
		t.Errorf("%d messages accepted, want %d", n, len(names))
	}
}

// TestOldChannelNames has channels whose names an earlier program took: they can be used,
// and be forgotten.
func TestOldChannelNames(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	names := map[string]string{"..": "0b5a6c5e-7c5e-4d6f-9a51-0c6f0f3c8d01", "a\u200b": "0b5a6c5e-7c5e-4d6f-9a51-0c6f0f3c8d02"}
	ids, err := json.Marshal(names)
	if err == nil {
		err = os.WriteFile(m.Path("work/.bareclaw-sessions.json"), ids, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	g := m.Start()
	for name, id := range names {
		path := "/channels/" + strings.ReplaceAll(harness.Escaped(name), ".", "%2E")
		if a := g.Must("GET", path, nil, 200); a.Str("channel") != name || a.Str("session_id") != id {
			t.Errorf("%+q is %s", name, a.Body)
		}
		g.Say(name, "echo still here").Want(t, "still here")
		g.Must("DELETE", path, nil, 200)
	}
	if got := sessionFile(m); len(got) != 0 {
		t.Errorf("session file has %q", got)
	}
	if n := g.Balanced(); n != len(names) {
		t.Errorf("%d messages accepted, want %d", n, len(names))
	}
}
