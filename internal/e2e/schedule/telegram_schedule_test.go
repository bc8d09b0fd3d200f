package schedule

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// A reminded is a chat with a schedule.
type reminded struct {
	*harness.Machine
	chat *botapi.Chat
	rule string // about what is missed
	id   string
	text string

	dues, turns int // due times so far, and turns that they are
	doubts      int // messages that were on their way when a daemon was killed
}

// dueAt has the schedule be due at a time while no daemon runs. Next is when it would be.
func (r *reminded) dueAt(next, at time.Time) { back(r.Machine, r.id, next.Sub(at)) }

// next returns when the schedule is due.
func (r *reminded) next(g *harness.Gateway) time.Time {
	r.T.Helper()
	times, _ := g.Must("GET", "/schedules/"+r.id, nil, 200).JSON["next"].([]any)
	if len(times) == 0 {
		r.T.Fatalf("schedule %s is never due", r.id)
	}
	next, err := time.Parse(time.RFC3339, times[0].(string))
	check.OK(r.T, err)
	return next
}

// killed counts what Telegram has taken and a daemon that was killed had not recorded as
// taken: nobody can know of it, and it may come again.
func (r *reminded) killed(api *botapi.Server) {
	r.T.Helper()
	db := r.LedgerFile()
	defer func() { _ = db.Close() }()
	recorded := 0
	check.OK(r.T, db.QueryRow(`SELECT count(*) FROM deliveries WHERE channel=? AND state='sent'`, fmt.Sprint("tg-", r.chat.ID())).Scan(&recorded))
	taken := 0
	for _, c := range api.Calls("sendMessage") {
		if c.Chat == r.chat.ID() && c.Message != 0 {
			taken++
		}
	}
	r.doubts = taken - recorded // one that comes again is both once more
}

// TestScheduleOnTelegramKilled kills the daemon at random moments around the due times of
// schedules for chats: each due time is one message in the chat, or was missed as its
// schedule says. Only what was on its way to Telegram at that moment may be there twice.
func TestScheduleOnTelegramKilled(t *testing.T) {
	t.Parallel()
	rounds := 6
	if harness.Soak() {
		rounds = 120
	}
	api := botapi.New(t, botapi.WithoutRates())
	m := harness.NewMachine(t, append(harness.BotSettings(api, api.User(7, "Anna", "", "")), "BARECLAW_ALLOWED_USERS=7,8,9")...)
	g := m.Start()
	var all []*reminded
	for n, rule := range []string{"skip", "once", "within 30m"} {
		user := api.User(int64(7+n), "Bob", "", "")
		r := &reminded{Machine: m, chat: api.Private(user), rule: rule, text: fmt.Sprintf("reminder %d.", n)}
		r.id = g.Schedule(fmt.Sprint("tg-", user.ID), "echo "+r.text, "every 1h", "missed", rule)
		all = append(all, r)
	}
	random := rand.New(rand.NewSource(time.Now().UnixNano()))
	for round := range rounds {
		longAgo := round%3 == 2
		var next []time.Time
		for _, r := range all {
			next = append(next, r.next(g))
		}
		g.Kill()
		at := time.Now().Truncate(time.Second).Add(2 * time.Second)
		if longAgo {
			at = at.Add(-10 * time.Minute)
		}
		for n, r := range all {
			r.dueAt(next[n], at)
			r.dues++
		}
		for _, within := range []int{40, 40, 200} { // ms; most of it happens in the first of them
			g = m.Start()
			time.Sleep(max(0, time.Until(at)) + time.Duration(random.Intn(within*1000))*time.Microsecond) // a moment at which to die
			g.Kill()
			for _, r := range all {
				r.killed(api)
			}
		}
		g = m.Start()
		for _, r := range all {
			r.settled(g, at, longAgo)
		}
	}
	g.Balanced()
}

// settled waits for the outcome of the newest due time and fails unless the chat has what it
// should.
func (r *reminded) settled(g *harness.Gateway, due time.Time, longAgo bool) {
	r.T.Helper()
	g.Eventually("schedule "+r.id+" has its outcomes", func() bool { return len(g.Occurrences(r.id)) >= r.dues })
	all := g.Occurrences(r.id)
	last, want := harness.Occurrence{}, "sent"
	for _, o := range all {
		if o.Due == due.UTC().Format("2006-01-02T15:04:05.000000Z") {
			last = o
		}
	}
	if longAgo && r.rule == "skip" {
		want = "missed"
	}
	if len(all) != r.dues || last.Outcome != want || last.Late != (longAgo && want == "sent") || (want == "missed") != (last.Message == "" && last.Why != "") {
		r.T.Errorf("missed: %s, %d due times: %+v", r.rule, r.dues, all)
	}
	if last.Message != "" {
		g.Outcome(last.Message).Want(r.T, r.text)
	}
	if want == "sent" {
		r.turns++
	}
	r.Eventually("the chat has the messages", func() bool { return harness.CountText(r.chat, r.text) >= r.turns })
	g.Delivered()
	if n := r.Begun(r.text); n != r.turns {
		r.T.Errorf("missed: %s: %d turns, want %d", r.rule, n, r.turns)
	}
	n := harness.CountText(r.chat, r.text)
	if others := len(r.chat.FromBot()) - n; n > r.turns+r.doubts || others != 0 {
		r.T.Errorf("missed: %s: the chat has %d messages and %d others, want %d; %d were on their way", r.rule, n, others, r.turns, r.doubts)
	}
}
