package schedule

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// TestScheduleRuns: what is due becomes a turn, once, and that is on record.
func TestScheduleRuns(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
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
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
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

// TestScheduleMissed has due times pass while nothing runs: what becomes of them is as
// the schedule says, and can be seen.
func TestScheduleMissed(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
	type missed struct {
		id, rule string
		by       time.Duration
		sent     bool
	}
	var all []missed
	for _, c := range []missed{
		{rule: "skip", by: 2 * time.Hour}, {rule: "once", by: 2 * time.Hour, sent: true},
		{rule: "within 30m", by: 20 * time.Minute, sent: true}, {rule: "within 30m", by: 40 * time.Minute},
	} {
		c.id = g.Schedule("c-"+strings.ReplaceAll(c.rule, " ", ""), "echo late", harness.Due(10*time.Minute), "missed", c.rule)
		all = append(all, c)
	}
	often := g.Schedule("often", "echo often", "every 1h", "missed", "once")
	g.Signal(syscall.SIGTERM)
	for _, c := range all {
		back(m, c.id, c.by+10*time.Minute)
	}
	back(m, often, 5*time.Hour+30*time.Minute)
	g = m.Start()
	for _, c := range all {
		o := g.Occurred(c.id)
		if c.sent != (o.Outcome == "sent" && o.Late) || c.sent == (o.Outcome == "missed" && strings.Contains(o.Why, c.rule)) {
			t.Errorf("%s, late by %s: %+v", c.rule, c.by, o)
		}
	}
	g.Eventually("all that was missed has an outcome", func() bool { return len(g.Occurrences(often)) == 5 })
	of := g.Occurrences(often)
	if of[0].Outcome != "sent" || !of[0].Late || of[4].Outcome != "missed" || of[4].Why == "" {
		t.Errorf("of an hourly schedule: %+v", of)
	}
	if n := g.Balanced(); n != 3 || m.Begun("late at") != 3 {
		t.Errorf("claude got %+v", m.Journal())
	}
}

// TestScheduleHandedOver restarts the gateway across due times: none is lost or doubled.
func TestScheduleHandedOver(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	g := m.Start()
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

// TestScheduleRefused: what could not be sent says why.
func TestScheduleRefused(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_QUEUE_LIMIT=1", harness.Noon())
	g := m.Start()
	_, finish := g.Occupy("full")
	id := g.Schedule("full", "echo too much", harness.Due(time.Second))
	if o := g.Occurred(id); o.Outcome != "refused" || !strings.Contains(o.Why, "BARECLAW_QUEUE_LIMIT") {
		t.Errorf("%+v", o)
	}
	finish()
	id = g.Schedule("dear", "echo paid", "every 1m", "budget_usd", 1e-6)
	for n, want := range []string{"sent", "refused"} {
		g.Signal(syscall.SIGTERM)
		back(m, id, time.Minute-time.Duration(n)*time.Second) // the second time, it is due a second later
		g = m.Start()
		g.Eventually("it is decided", func() bool { return len(g.Occurrences(id)) == n+1 })
		if o := g.Occurrences(id)[0]; o.Outcome != want || strings.Contains(o.Why, "budget of $0.000001 a day is used up") != (want == "refused") {
			t.Errorf("occurrence %d: %+v", n, o)
		}
		g.Balanced()
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
