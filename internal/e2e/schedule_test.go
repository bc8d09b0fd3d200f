package e2e

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// due names a moment, from when the daemon hears of it: one by the clock may be past by then.
func due(in time.Duration) string { return "in " + in.String() }

// schedule makes a job and returns its id.
func (g *gateway) schedule(channel, text, when string, more ...any) string {
	g.t.Helper()
	body := obj{"channel": channel, "text": text, "when": when}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return g.must("POST", "/schedules", body, 201).str("id")
}

// An occurrence as GET /schedules/{id} shows it.
type occurrence struct {
	due, outcome, message, why string
	status                     float64
	late                       bool
}

// occurrences returns those of a job, newest first.
func (g *gateway) occurrences(id string) (all []occurrence) {
	g.t.Helper()
	list, _ := g.must("GET", "/schedules/"+id, nil, 200).json["occurrences"].([]any)
	for _, e := range list {
		o := answer{json: e.(map[string]any)}
		all = append(all, occurrence{o.str("due"), o.str("outcome"), o.str("message_id"), o.str("why"), o.number("status"), o.flag("late")})
	}
	return all
}

// occurred waits for the one occurrence of a job.
func (g *gateway) occurred(id string) (o occurrence) {
	g.t.Helper()
	g.eventually("schedule "+id+" has an outcome", func() bool {
		all := g.occurrences(id)
		if len(all) > 1 {
			g.t.Fatalf("schedule %s: %+v", id, all)
		}
		if len(all) == 1 {
			o = all[0]
		}
		return len(all) == 1
	})
	return o
}

// TestScheduleRuns: what is due becomes a turn, once, and that is on record.
func TestScheduleRuns(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	made := g.must("POST", "/schedules", obj{"channel": "ops", "text": "echo not yet", "when": due(time.Hour)}, 201)
	if next, _ := made.json["next"].([]any); len(next) != 1 || made.str("state") != "active" || made.str("missed") != "once" {
		t.Errorf("made %s", made.body)
	}
	id := g.schedule("ops", "echo look around", due(time.Second), "tz", "Asia/Tokyo")
	o := g.occurred(id)
	if o.outcome != "sent" || o.late {
		t.Errorf("%+v", o)
	}
	g.outcome(o.message).want(t, "look around")
	if done := g.must("GET", "/schedules/"+id, nil, 200); done.str("state") != "done" || done.str("done_at") == "" {
		t.Errorf("it is %s", done.body)
	}
	begun := m.journal()
	i := slices.IndexFunc(begun, func(l journalLine) bool { return l.Event == "begun" })
	if i < 0 || !strings.HasPrefix(begun[i].Text, "[channel: ops, adapter: schedule]\n[schedule: "+id+", due ") || !strings.Contains(begun[i].Text, " JST]\necho look") {
		t.Errorf("claude got %+v", begun)
	}
	g.eventually("it is counted", func() bool { return g.metrics()[`bareclaw_schedule_occurrences_total{outcome="sent"}`] == 1 })
	if n := g.balanced(); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// TestSchedulePrecheck: only a precheck that ends with status 0 has claude asked. It has
// the agent's environment, and what it leaves behind keeps nobody waiting.
func TestSchedulePrecheck(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_HTTP_TOKEN="+token, "ANTHROPIC_API_KEY=secret-key")
	g := m.start().bearer()
	for line, want := range map[string]string{
		"true":   "sent",
		"exit 3": "skipped",
		`test "$(pwd -P)" = "$(cd ` + m.path("work") + ` && pwd -P)" && env > ` + m.path("env"): "sent",
		"kill -9 $$": "refused",
	} {
		id := g.schedule("c", "echo hello", due(time.Second), "precheck", line)
		o := g.occurred(id)
		if o.outcome != want || (want == "skipped") != (o.status == 3) || (o.why == "") != (want == "sent") {
			t.Errorf("%s: %+v", line, o)
		}
	}
	env, err := os.ReadFile(m.path("env"))
	if err != nil || strings.Contains(string(env), "secret") || strings.Contains(string(env), token) || !strings.Contains(string(env), "PATH=") {
		t.Errorf("the environment is %s, %v", env, err)
	}
}

// TestSchedulePrechecksTogether has many jobs due in the same second: their prechecks
// take turns, and all of them are run.
func TestSchedulePrechecksTogether(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	line := "echo b >> " + m.path("checks") + "; until [ -e " + m.path("go") + " ]; do sleep 0.02; done; echo e >> " + m.path("checks") + "; exit 1"
	checks := func() string {
		b, _ := os.ReadFile(m.path("checks"))
		return strings.ReplaceAll(string(b), "\n", "")
	}
	at := due(time.Second)
	var ids []string
	const maxPrechecks = 4 // of the daemon
	for range 3 * maxPrechecks {
		ids = append(ids, g.schedule("c", "echo hello", at, "precheck", line))
	}
	m.eventually("prechecks run", func() bool { return len(checks()) == maxPrechecks })
	m.touch("go")
	for _, id := range ids {
		if o := g.occurred(id); o.outcome != "skipped" || o.status != 1 {
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
	if soak() {
		rounds = 100
	}
	m := newMachine(t)
	g := m.start()
	random := rand.New(rand.NewSource(1))
	var ids []string
	for range rounds {
		for n := range 3 {
			ids = append(ids, g.schedule(fmt.Sprint("c", n), "echo x", due(200*time.Millisecond)))
		}
		first := time.Now().Truncate(time.Second).Add(time.Second)
		time.Sleep(time.Until(first) + time.Duration(random.Intn(40_000))*time.Microsecond) // a moment at which to die
		g.kill()
		g = m.start()
	}
	messages := map[string]bool{}
	for _, id := range ids {
		if o := g.occurred(id); o.outcome != "sent" || messages[o.message] {
			t.Errorf("schedule %s: %+v", id, o)
		} else {
			messages[o.message] = true
			g.outcome(o.message)
		}
	}
	if n := g.balanced(); n != len(ids) {
		t.Errorf("%d messages for %d occurrences", n, len(ids))
	}
}

// back sets the times of a schedule back, as if the daemon had not run since then.
func (m *machine) back(id string, by time.Duration) {
	m.t.Helper()
	db := m.ledgerFile()
	defer func() { _ = db.Close() }()
	var when string
	if err := db.QueryRow(`SELECT doc->>'$.when' FROM schedules WHERE id=?`, id).Scan(&when); err != nil {
		m.t.Fatal(err)
	}
	if at, ok := strings.CutPrefix(when, "at "); ok {
		then, err := time.Parse(time.RFC3339, at)
		if err != nil {
			m.t.Fatal(err)
		}
		when = "at " + then.Add(-by).Format(time.RFC3339)
	}
	_, err := db.Exec(`UPDATE schedules SET decided_to=decided_to-?2, doc=json_set(doc, '$.when', ?3, '$.created_at', (doc->>'$.created_at')-?2) WHERE id=?1`,
		id, int64(by), when)
	if err != nil {
		m.t.Fatal(err)
	}
}

// TestScheduleMissed has due times pass while nothing runs: what becomes of them is as
// the schedule says, and can be seen.
func TestScheduleMissed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
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
		c.id = g.schedule("c-"+strings.ReplaceAll(c.rule, " ", ""), "echo late", due(10*time.Minute), "missed", c.rule)
		all = append(all, c)
	}
	often := g.schedule("often", "echo often", "every 1h", "missed", "once")
	g.signal(syscall.SIGTERM)
	for _, c := range all {
		m.back(c.id, c.by+10*time.Minute)
	}
	m.back(often, 5*time.Hour+30*time.Minute)
	g = m.start()
	for _, c := range all {
		o := g.occurred(c.id)
		if c.sent != (o.outcome == "sent" && o.late) || c.sent == (o.outcome == "missed" && strings.Contains(o.why, c.rule)) {
			t.Errorf("%s, late by %s: %+v", c.rule, c.by, o)
		}
	}
	g.eventually("all that was missed has an outcome", func() bool { return len(g.occurrences(often)) == 5 })
	of := g.occurrences(often)
	if of[0].outcome != "sent" || !of[0].late || of[4].outcome != "missed" || of[4].why == "" {
		t.Errorf("of an hourly schedule: %+v", of)
	}
	if n := g.balanced(); n != 3 || m.begun("late at") != 3 {
		t.Errorf("claude got %+v", m.journal())
	}
}

// TestScheduleHandedOver restarts the gateway across due times: none is lost or doubled.
func TestScheduleHandedOver(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	g := m.start()
	var ids []string
	for range 3 {
		generation := g.generation()
		for range 5 {
			ids = append(ids, g.schedule("c", "echo x", due(time.Second), "precheck", "true"))
		}
		g.must("POST", "/restart", nil, 200)
		g.restarted(generation)
	}
	for _, id := range ids {
		o := g.occurred(id)
		if o.outcome != "sent" || o.late {
			t.Errorf("%+v", o)
		}
		g.outcome(o.message)
	}
	if n := g.balanced(); n != len(ids) {
		t.Errorf("%d messages for %d occurrences", n, len(ids))
	}
}

// TestScheduleRefused: what could not be sent says why.
func TestScheduleRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "BARECLAW_QUEUE_LIMIT=1", noon())
	g := m.start()
	_, finish := g.occupy("full")
	id := g.schedule("full", "echo too much", due(time.Second))
	if o := g.occurred(id); o.outcome != "refused" || !strings.Contains(o.why, "BARECLAW_QUEUE_LIMIT") {
		t.Errorf("%+v", o)
	}
	finish()
	id = g.schedule("dear", "echo paid", "every 1m", "budget_usd", 1e-6)
	for n, want := range []string{"sent", "refused"} {
		g.signal(syscall.SIGTERM)
		m.back(id, time.Minute-time.Duration(n)*time.Second) // the second time, it is due a second later
		g = m.start()
		g.eventually("it is decided", func() bool { return len(g.occurrences(id)) == n+1 })
		if o := g.occurrences(id)[0]; o.outcome != want || strings.Contains(o.why, "budget of $0.000001 a day is used up") != (want == "refused") {
			t.Errorf("occurrence %d: %+v", n, o)
		}
		g.balanced()
	}
}

// TestScheduleOnTelegram: what is due on a chat is answered there, also by another
// process than the one that asked.
func TestScheduleOnTelegram(t *testing.T) {
	t.Parallel()
	m, api, _, chat := newChat(t)
	g := m.start()
	g.schedule("tg-7", "echo good morning", due(time.Second))
	api.Await(t, "the answer", func() bool { return len(chat.FromBot()) == 1 })
	g.delivered()
	if last := chat.FromBot()[0]; last.Text != "good morning" {
		t.Errorf("the bot said %v", last)
	}
	id := g.schedule("tg-7", "wait "+m.path("go"), due(time.Second))
	m.eventually("the turn runs", func() bool { return m.begun("wait") == 1 })
	g.kill()
	m.touch("go")
	g = m.start()
	api.Await(t, "the second answer", func() bool { return len(chat.FromBot()) >= 2 })
	g.delivered()
	all := chat.FromBot()
	if last := all[len(all)-1]; last.Text != "waited for "+m.path("go") {
		t.Errorf("the bot said %v", last)
	}
	if o := g.occurred(id); o.outcome != "sent" {
		t.Errorf("%+v", o)
	}
	a := g.must("POST", "/schedules", obj{"channel": "tg-8", "text": "echo hello", "when": "in 1h"}, 403)
	if a.str("code") != "channel_refused" {
		t.Errorf("a stranger's chat: %s", a.body)
	}
}
