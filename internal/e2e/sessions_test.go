package e2e

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
)

// sessionFile returns what the session file holds.
func (m *machine) sessionFile() map[string]string {
	m.t.Helper()
	b, err := os.ReadFile(m.path("work/.bareclaw-sessions.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		m.t.Fatal(err)
	}
	var ids map[string]string
	if err := json.Unmarshal(b, &ids); err != nil {
		m.t.Fatalf("session file %q: %v", b, err)
	}
	return ids
}

func TestClearBeginsAnotherSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	old := g.say("http", "session").str("text")
	if got := m.sessionFile()["http"]; got != old {
		t.Errorf("session file has %q, claude says %q", got, old)
	}
	a := g.say("http", "/clear")
	a.want(t, "")
	fresh := g.say("http", "session").str("text")
	if fresh == old || a.str("session_id") != fresh {
		t.Errorf("session was %s and is %s; the reply to /clear says %s", old, fresh, a.body)
	}
	if got := g.channel("http").str("session_id"); got != fresh {
		t.Errorf("channel says session %s, claude %s", got, fresh)
	}
	m.eventually("new session is saved", func() bool { return m.sessionFile()["http"] == fresh })
	st, err := os.Stat(m.path("work/.bareclaw-sessions.json"))
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("mode of the session file: %v, %v", st.Mode(), err)
	}
	g.crash()
	g = m.start()
	if got := g.say("http", "session").str("text"); got != fresh {
		t.Errorf("session %s is resumed, want %s", got, fresh)
	}
	if texts := g.say("http", "history").str("text"); strings.Count(texts, "session") != 2 {
		t.Errorf("history since /clear is %s", texts)
	}
	g.balanced()
}

// crash ends the daemon, every host and every claude, all at once.
func (g *gateway) crash() {
	g.t.Helper()
	g.kill()
	g.endHosts()
	g.eventually("hosts are gone", func() bool { return len(g.hosts()) == 0 })
}

func TestSessionIsResumedAfterEverythingDied(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	first := g.say("http", "echo remember me")
	pid := g.say("http", "pid").str("text")
	for range 2 {
		g.crash()
		g = m.start()
		a := g.say("http", "history")
		if !strings.Contains(a.str("text"), "remember me") || a.str("session_id") != first.str("session_id") {
			t.Errorf("after the crash: %s, before: %s", a.body, first.body)
		}
		if a.json["notices"] != nil {
			t.Errorf("a resumed session tells %s", a.body)
		}
	}
	if now := g.say("http", "pid").str("text"); now == pid {
		t.Errorf("claude %s was to be killed", pid)
	}
	g.balanced()
}

func TestUnknownSessionIsToldOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	lost := uuid.NewString()
	if err := os.WriteFile(m.path("work/.bareclaw-sessions.json"), []byte(`{"http": "`+lost+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	g := m.start()
	a := g.say("http", "echo hello")
	a.want(t, "hello")
	if n := a.array("notices"); len(n) != 1 || n[0].code() != "fresh_session" || n[0].str("text") == "" {
		t.Errorf("first answer tells %s", a.body)
	}
	if id := a.str("session_id"); id == lost || m.sessionFile()["http"] != id {
		t.Errorf("session is %s, in the file %q, lost was %s", id, m.sessionFile(), lost)
	}
	if a := g.say("http", "echo again"); a.json["notices"] != nil {
		t.Errorf("second answer tells %s", a.body)
	}
	if n := m.begun("hello"); n != 1 {
		t.Errorf("begun %d times, want once", n)
	}
	g.balanced()
}

func TestCorruptSessionFileIsSetAsideAndTold(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const rubbish = `{"http": "0199`
	if err := os.WriteFile(m.path("work/.bareclaw-sessions.json"), []byte(rubbish), 0o600); err != nil {
		t.Fatal(err)
	}
	g := m.start()
	health := g.must("GET", "/health", nil, 200)
	problems, _ := health.json["problems"].([]any)
	if health.str("status") != "degraded" || len(problems) != 1 || !strings.Contains(fmt.Sprint(problems[0]), ".bareclaw-sessions.json") {
		t.Errorf("health is %s", health.body)
	}
	a := g.say("http", "echo hello")
	a.want(t, "hello")
	if got := m.sessionFile()["http"]; got != a.str("session_id") {
		t.Errorf("session file has %q, want %q", got, a.str("session_id"))
	}
	aside := m.glob("work/.bareclaw-sessions.json.corrupt-*")
	if len(aside) != 1 {
		t.Fatalf("set aside: %q", aside)
	}
	if b, err := os.ReadFile(aside[0]); err != nil || string(b) != rubbish {
		t.Errorf("%s holds %q, %v", aside[0], b, err)
	}
	g.balanced()
}

func TestChannelNames(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	long := strings.Repeat("x", 200)
	names := []string{long + "1", long + "2", "../../etc/passwd", "...", "/", "/abs/olute", "two words", `"quotes' $(id)`,
		"Ünïcödé 频道 🐻", "tg-123", "a%2Fb", "a/b"}
	sessions := make([]string, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			a, err := g.do("POST", "/message", obj{"channel": name, "text": "echo I am " + strconv.Itoa(i)})
			if err != nil || a.status != 200 || a.str("text") != "I am "+strconv.Itoa(i) || a.str("channel") != name {
				t.Errorf("channel %q: %v, %s", name, err, a.body)
			}
			sessions[i] = a.str("session_id")
		})
	}
	wg.Wait()
	if unique := slices.Compact(slices.Sorted(slices.Values(sessions))); len(unique) != len(names) {
		t.Errorf("%d channels have %d sessions", len(names), len(unique))
	}
	for i, name := range names {
		a := g.channel(name)
		if a.str("channel") != name || a.str("session_id") != sessions[i] || a.number("messages") != 1 {
			t.Errorf("channel %q is %s", name, a.body)
		}
		list := g.must("GET", "/channels/"+escaped(name)+"/messages", nil, 200).array("messages")
		if len(list) != 1 || list[0].str("text") != "I am "+strconv.Itoa(i) {
			t.Errorf("channel %q has messages %v", name, list)
		}
	}
	if got := m.sessionFile(); len(got) != len(names) {
		t.Errorf("session file has %q", slices.Collect(maps.Keys(got)))
	}
	if files := m.glob("*"); len(files) != 5 {
		t.Errorf("files outside of their place: %q", files)
	}
	for what, name := range map[string]string{
		"of 4,000 characters": strings.Repeat("y", 4000), "with a newline": "a\nb", "with NUL": "a\x00b", "with an escape": "a\x1b[31m",
		"empty": "", "blank": " ", "with a space at its end": "a ",
		"which is a directory": ".", "which is the directory above": "..", "of nothing visible": "\u200b", "with a mark of direction": "a\u202eb",
		"with a space that is none": "a\u3164b",
	} {
		g.must("POST", "/message", obj{"channel": name, "text": "hello"}).refused(t, "channel "+what, http.StatusBadRequest, "bad_channel")
	}
	if n := g.balanced(); n != len(names) {
		t.Errorf("%d messages accepted, want %d", n, len(names))
	}
}

// TestOldChannelNames has channels whose names an earlier program took: they can be used,
// and be forgotten.
func TestOldChannelNames(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	names := map[string]string{"..": "0b5a6c5e-7c5e-4d6f-9a51-0c6f0f3c8d01", "a\u200b": "0b5a6c5e-7c5e-4d6f-9a51-0c6f0f3c8d02"}
	ids, err := json.Marshal(names)
	if err == nil {
		err = os.WriteFile(m.path("work/.bareclaw-sessions.json"), ids, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	g := m.start()
	for name, id := range names {
		path := "/channels/" + strings.ReplaceAll(escaped(name), ".", "%2E")
		if a := g.must("GET", path, nil, 200); a.str("channel") != name || a.str("session_id") != id {
			t.Errorf("%+q is %s", name, a.body)
		}
		g.say(name, "echo still here").want(t, "still here")
		g.must("DELETE", path, nil, 200)
	}
	if got := m.sessionFile(); len(got) != 0 {
		t.Errorf("session file has %q", got)
	}
	if n := g.balanced(); n != len(names) {
		t.Errorf("%d messages accepted, want %d", n, len(names))
	}
}
