package schedule

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestScheduleRuns: what is due becomes a turn, once, and that is on record.
func TestScheduleRuns(t *testing.T) {
	m, g := harness.Started(t)
	made := g.Must("POST", "/schedules", harness.Obj{"channel": "ops", "text": "echo not yet", "when": harness.Due(time.Hour)}, 201)
	if next, _ := made.JSON["next"].([]any); len(next) != 1 || made.Str("state") != "active" || made.Str("missed") != "once" {
		t.Errorf("made %s", made.Body)
	}
	id := g.Schedule("ops", "echo look around", harness.Due(time.Second), "tz", "Asia/Tokyo")
	o := g.Occurred(id)
	if o.Outcome != "sent" || o.Late {
		t.Errorf("%+v", o)
	}
	g.Outcome(o.Message).Want(t, "look around")
	if done := g.Must("GET", "/schedules/"+id, nil, 200); done.Str("state") != "done" || done.Str("done_at") == "" {
		t.Errorf("it is %s", done.Body)
	}
	begun := m.Journal()
	i := slices.IndexFunc(begun, func(l harness.JournalLine) bool { return l.Event == "begun" })
	if i < 0 || !strings.HasPrefix(begun[i].Text, "[channel: ops, adapter: schedule]\n[schedule: "+id+", due ") || !strings.Contains(begun[i].Text, " JST]\necho look") {
		t.Errorf("claude got %+v", begun)
	}
	g.Eventually("it is counted", func() bool { return g.Metrics()[`bareclaw_schedule_occurrences_total{outcome="sent"}`] == 1 })
	if n := g.Balanced(); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// TestSchedulePrecheck: only a precheck that ends with status 0 has claude asked. It has
// the agent's environment, and what it leaves behind keeps nobody waiting.
func TestSchedulePrecheck(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token, "ANTHROPIC_API_KEY=secret-key")
	g := m.Start().Bearer()
	for line, want := range map[string]string{
		"true":   "sent",
		"exit 3": "skipped",
		`test "$(pwd -P)" = "$(cd ` + m.Path("work") + ` && pwd -P)" && env > ` + m.Path("env"): "sent",
		"kill -9 $$": "refused",
	} {
		id := g.Schedule("c", "echo hello", harness.Due(time.Second), "precheck", line)
		o := g.Occurred(id)
		if o.Outcome != want || (want == "skipped") != (o.Status == 3) || (o.Why == "") != (want == "sent") {
			t.Errorf("%s: %+v", line, o)
		}
	}
	env, err := os.ReadFile(m.Path("env"))
	if err != nil || strings.Contains(string(env), "secret") || strings.Contains(string(env), harness.Token) || !strings.Contains(string(env), "PATH=") {
		t.Errorf("the environment is %s, %v", env, err)
	}
}

// TestSchedulePrechecksTogether has many jobs due in the same second: their prechecks
// take turns, and all of them are run.
func TestSchedulePrechecksTogether(t *testing.T) {
	m, g := harness.Started(t)
	line := "echo b >> " + m.Path("checks") + "; until [ -e " + m.Path("go") + " ]; do sleep 0.02; done; echo e >> " + m.Path("checks") + "; exit 1"
	checks := func() string {
		b, _ := os.ReadFile(m.Path("checks"))
		return strings.ReplaceAll(string(b), "\n", "")
	}
	at := harness.Due(time.Second)
	var ids []string
	const maxPrechecks = 4 // of the daemon
	for range 3 * maxPrechecks {
		ids = append(ids, g.Schedule("c", "echo hello", at, "precheck", line))
	}
	m.Eventually("prechecks run", func() bool { return len(checks()) == maxPrechecks })
	m.Touch("go")
	for _, id := range ids {
		if o := g.Occurred(id); o.Outcome != "skipped" || o.Status != 1 {
			t.Errorf("%+v", o)
		}
	}
	running := 0
	for _, c := range checks() {
		if running++; c == 'e' {
			running -= 2
		}
		if running > maxPrechecks {
			t.Fatalf("%d prechecks run at once: %s", running, checks())
		}
	}
	if n := len(checks()); n != 2*len(ids) {
		t.Errorf("%d prechecks, want %d", n/2, len(ids))
	}
}

// TestScheduleKilled kills the daemon again and again around due times: each occurrence
// is one message.
func TestScheduleKilled(t *testing.T) {
	t.Parallel()
	rounds := 12
	if harness.Soak() {
		rounds = 100
	}
	m := harness.NewMachine(t)
	g := m.Start()
	random := rand.New(rand.NewSource(1))
	var ids []string
	for range rounds {
		for n := range 3 {
			ids = append(ids, g.Schedule(fmt.Sprint("c", n), "echo x", harness.Due(200*time.Millisecond)))
		}
		first := time.Now().Truncate(time.Second).Add(time.Second)
		time.Sleep(time.Until(first) + time.Duration(random.Intn(40_000))*time.Microsecond) // a moment at which to die
		g.Kill()
		g = m.Start()
	}
	messages := map[string]bool{}
	for _, id := range ids {
		if o := g.Occurred(id); o.Outcome != "sent" || messages[o.Message] {
			t.Errorf("schedule %s: %+v", id, o)
		} else {
			messages[o.Message] = true
			g.Outcome(o.Message)
		}
	}
	if n := g.Balanced(); n != len(ids) {
		t.Errorf("%d messages for %d occurrences", n, len(ids))
	}
}

// back sets the times of a schedule back, as if the daemon had not run since then.
func back(m *harness.Machine, id string, by time.Duration) {
	m.T.Helper()
	db := m.LedgerFile()
	defer func() { _ = db.Close() }()
	var when string
	check.OK(m.T, db.QueryRow(`SELECT doc->>'$.when' FROM schedules WHERE id=?`, id).Scan(&when))
	if at, ok := strings.CutPrefix(when, "at "); ok {
		then, err := time.Parse(time.RFC3339, at)
		check.OK(m.T, err)
		when = "at " + then.Add(-by).Format(time.RFC3339)
	}
	_, err := db.Exec(`UPDATE schedules SET decided_to=decided_to-?2, doc=json_set(doc, '$.when', ?3, '$.created_at', (doc->>'$.created_at')-?2) WHERE id=?1`,
		id, int64(by), when)
	check.OK(m.T, err)
}

// TestScheduleHandedOver restarts the gateway across due times: none is lost or doubled.
func TestScheduleHandedOver(t *testing.T) {
	_, g := harness.Started(t)
	var ids []string
	for range 3 {
		generation := g.Generation()
		for range 5 {
			ids = append(ids, g.Schedule("c", "echo x", harness.Due(time.Second), "precheck", "true"))
		}
		g.Must("POST", "/restart", nil, 200)
		g.Restarted(generation)
	}
	for _, id := range ids {
		o := g.Occurred(id)
		if o.Outcome != "sent" || o.Late {
			t.Errorf("%+v", o)
		}
		g.Outcome(o.Message)
	}
	if n := g.Balanced(); n != len(ids) {
		t.Errorf("%d messages for %d occurrences", n, len(ids))
	}
}

// TestScheduleOnTelegram: what is due on a chat is answered there, also by another
// process than the one that asked.
func TestScheduleOnTelegram(t *testing.T) {
	t.Parallel()
	m, api, _, chat := harness.NewChat(t)
	g := m.Start()
	g.Schedule("tg-7", "echo good morning", harness.Due(time.Second))
	api.Await(t, "the answer", func() bool { return len(chat.FromBot()) == 1 })
	g.Delivered()
	if last := chat.FromBot()[0]; last.Text != "good morning" {
		t.Errorf("the bot said %v", last)
	}
	id := g.Schedule("tg-7", "wait "+m.Path("go"), harness.Due(time.Second))
	m.Eventually("the turn runs", func() bool { return m.Begun("wait") == 1 })
	g.Kill()
	m.Touch("go")
	g = m.Start()
	api.Await(t, "the second answer", func() bool { return len(chat.FromBot()) >= 2 })
	g.Delivered()
	all := chat.FromBot()
	if last := all[len(all)-1]; last.Text != "waited for "+m.Path("go") {
		t.Errorf("the bot said %v", last)
	}
	if o := g.Occurred(id); o.Outcome != "sent" {
		t.Errorf("%+v", o)
	}
	a := g.Must("POST", "/schedules", harness.Obj{"channel": "tg-8", "text": "echo hello", "when": "in 1h"}, 403)
	if a.Str("code") != "channel_refused" {
		t.Errorf("a stranger's chat: %s", a.Body)
	}
}
