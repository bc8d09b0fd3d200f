package soak

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// TestSoakTelegram has people talk in chats and topics while the daemon is killed and
// restarted and Telegram fails in all its ways. In the end each message has one turn and one
// visible outcome, in the place where it was said; what is there twice was on its way when
// something broke; and nothing else is left behind.
func TestSoakTelegram(t *testing.T) {
	t.Parallel()
	length, n := soakLength()
	r := newTelegramSoak(t, n)
	r.daemon.Store(r.Start())
	var others sync.WaitGroup
	for _, p := range r.places {
		others.Go(func() { p.talk(r) })
	}
	others.Go(r.weather)
	r.lookedAfter(func() {
		r.chaos(length, -1)
		close(r.stop)
		others.Wait()
	})
	if !t.Failed() {
		r.auditChats()
	}
	t.Logf("what happened: %v", r.tally)
}

// A telegramSoak is a soak whose people are in chats.
type telegramSoak struct {
	*soakRun
	api    *botapi.Server
	places []*soakPlace

	killing sync.Mutex
	kills   [][2]time.Time // from the decision to kill a process until the gateway serves again
}

// A soakPlace is a chat, or a topic in one, and somebody who writes there.
type soakPlace struct {
	chat   *botapi.Chat
	thread int
	who    *botapi.User
	key    string
	rnd    *rand.Rand
	group  bool

	texts    map[string]int // what was said to the agent → id in the chat
	commands map[int]bool   // ids of what was said to the gateway
}

func newTelegramSoak(t *testing.T, people int) *telegramSoak {
	api := botapi.New(t) // with its limits: a daemon that begins does not know what the one before has sent
	r := &telegramSoak{api: api}
	var ids []string
	place := func(chat *botapi.Chat, who *botapi.User, thread int) {
		p := &soakPlace{chat: chat, who: who, thread: thread, key: fmt.Sprintf("tg-%d", chat.ID()), group: chat.ID() < 0, texts: map[string]int{}, commands: map[int]bool{}}
		if thread != 0 {
			p.key += fmt.Sprintf("-%d", thread)
		}
		r.places = append(r.places, p)
	}
	var all []*botapi.User
	for i := range people {
		u := api.User(int64(100+i), fmt.Sprint("User", i), "", "")
		all, ids = append(all, u), append(ids, strconv.FormatInt(u.ID, 10))
		place(api.Private(u), u, 0)
	}
	place(api.Group(-20, "Team", all...), all[0], 0)
	place(api.Supergroup(-1000021, "Crowd", all...), all[1], 0)
	club := api.Forum(-1000022, "Club", all...)
	place(club, all[0], 0)
	for i := range 2 {
		place(club, all[i], club.CreateTopic(all[i], fmt.Sprint("Topic", i)))
	}
	settings := []string{
		"BARECLAW_TELEGRAM_TOKEN=" + api.Token(), "BARECLAW_TELEGRAM_API=" + api.URL(), "BARECLAW_ALLOWED_USERS=" + strings.Join(ids, ","),
	}
	r.soakRun = newSoak(harness.NewMachine(t, settings...), nil, r.blowsAtChats())
	for i, p := range r.places {
		p.rnd = r.rand(uint64(i) + 1)
		r.lines = append(r.lines, &soakLine{soakRun: r.soakRun, key: p.key})
	}
	return r
}

// blowsAtChats are those that leave turns alone.
func (r *telegramSoak) blowsAtChats() []soakBlow {
	// Telegram may read only after a process is dead what that has sent, so a kill is over
	// once the gateway serves again.
	killed := func(s *soakRun, later time.Duration, kill func()) {
		i := 0
		s.down(func() {
			s.wait(later)
			r.killing.Lock()
			defer r.killing.Unlock()
			begun := time.Now()
			i, r.kills = len(r.kills), append(r.kills, [2]time.Time{begun, begun.Add(time.Hour)})
			kill()
		})
		r.killing.Lock()
		defer r.killing.Unlock()
		r.kills[i][1] = time.Now()
	}
	return []soakBlow{
		{"kill the daemon", 8, func(s *soakRun, _ soakStep) { killed(s, 0, s.killDaemon) }},
		{"SIGHUP", 8, func(s *soakRun, _ soakStep) { s.sighup() }},
		{"POST /restart", 6, (*soakRun).restart},
		{"SIGHUP, kill the daemon", 5, func(s *soakRun, step soakStep) {
			s.sighup()
			killed(s, step.later, s.killDaemon)
		}},
		{"SIGHUP, kill a daemon", 5, func(s *soakRun, step soakStep) {
			s.sighup()
			killed(s, step.later, func() { s.killOne(step.n) })
		}},
		{"SIGTERM", 6, func(s *soakRun, _ soakStep) { s.down(func() { s.end(syscall.SIGTERM) }) }},
		{"SIGHUP, SIGTERM", 4, func(s *soakRun, step soakStep) {
			s.sighup()
			s.down(func() { s.wait(step.later); s.end(syscall.SIGTERM) })
		}},
		{"nothing", 10, func(s *soakRun, _ soakStep) { s.pause(time.Second) }},
	}
}

// soakChatKinds are ways for the turn of a message to go: %[1]s is its token, %[2]s a file
// that is there.
var soakChatKinds = []string{
	"echo %[1]s", "echo %[1]s", "slow 80 %[1]s", "slow 1500 %[1]s", "tool 20 add %[1]s", "tool 2600 add %[1]s",
	"interim %[2]s Before %[1]s there is much to be said, and all of it is said before anything is done about what was asked for.",
}

// talk says something now and then.
func (p *soakPlace) talk(r *telegramSoak) {
	for n := 0; !r.stopped(); {
		most := 3
		if p.group { // it may be sent 20 messages a minute, for all of its topics
			most = 1
		}
		for range 1 + p.rnd.IntN(most) {
			n++
			if p.rnd.IntN(12) == 0 {
				p.commands[p.chat.Send(p.who, "/verbose", botapi.InTopic(p.thread)).MessageID] = true
				continue
			}
			token := fmt.Sprintf("T%s.%dT", strings.ReplaceAll(p.key[3:], "-", "."), n)
			file := "go-" + strings.Trim(token, "T")
			r.Touch(file)
			text := fmt.Sprintf(soakChatKinds[p.rnd.IntN(len(soakChatKinds))], token, r.Path(file))
			p.texts[token] = p.chat.Send(p.who, text, botapi.InTopic(p.thread)).MessageID
		}
		pause := 300 + p.rnd.IntN(2000)
		if harness.Soak() { // or queues are full before long
			pause *= 4
		}
		if p.group {
			pause *= 10
		}
		r.pause(time.Duration(pause) * time.Millisecond)
	}
}

// weather has Telegram fail.
func (r *telegramSoak) weather() {
	rnd := r.rand(1 << 32)
	methods := []string{"sendMessage", "sendMessage", "sendMessage", "editMessageText", "deleteMessage", "sendMessageDraft", "sendChatAction", "getUpdates", "getUpdates", "getMe"}
	steps := []func() botapi.Step{
		func() botapi.Step { return botapi.TooMany(1) },
		botapi.InternalError, botapi.BadGateway, botapi.ResetBefore, botapi.ResetAfter, botapi.ResetAfter,
		botapi.ResetMidBody, func() botapi.Step { return botapi.Delay(time.Duration(rnd.IntN(700)) * time.Millisecond) },
	}
	for !r.stopped() {
		method, step := methods[rnd.IntN(len(methods))], steps[rnd.IntN(len(steps))]()
		if r.api.Scripted() < 5 {
			r.api.Script(method, 0, step)
			r.count("faults")
		}
		r.pause(time.Duration(rnd.IntN(1200)) * time.Millisecond)
	}
}

// auditChats checks what people see.
func (r *telegramSoak) auditChats() {
	r.T.Helper()
	g := r.daemon.Load()
	for _, p := range r.places {
		if len(p.texts) > 0 {
			r.Eventually("all of "+p.key+" is accepted", func() bool { return len(g.History(p.key)) >= len(p.texts) })
		}
	}
	answers := map[*soakPlace]map[string]string{}
	for _, p := range r.places {
		answers[p] = r.answersOf(g, p)
	}
	g.Delivered()
	for _, p := range r.places {
		r.seen(p, answers[p])
	}
	sends := len(r.api.Calls("sendMessage", "sendDocument"))
	r.down(func() { r.end(syscall.SIGTERM) })
	g = r.daemon.Load()
	r.awaitPoll(g)
	g.Delivered()
	if n := len(r.api.Calls("sendMessage", "sendDocument")); n != sends {
		r.T.Errorf("another daemon has sent %d messages once more", n-sends)
	}
	r.nothingOpen()
	g.EndsAll()
	r.quietLogs()
}

// seen waits until people see in a place what they are to see, and nothing else.
func (r *telegramSoak) seen(p *soakPlace, owed map[string]string) {
	r.T.Helper()
	for deadline := time.Now().Add(harness.Patience); ; <-time.After(20 * time.Millisecond) {
		wrong := r.amiss(p, owed)
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			r.T.Error(wrong)
			return
		}
	}
}

// answersOf returns the replies that a place is owed, each with the token of what it
// answers, and checks that everything said there was read once.
func (r *telegramSoak) answersOf(g *harness.Gateway, p *soakPlace) map[string]string {
	r.T.Helper()
	ids, read, owed := g.History(p.key), map[string]int{}, map[string]string{}
	for _, l := range r.Journal() {
		if l.Event == "begun" {
			for _, token := range soakChatToken.FindAllString(l.Text, -1) {
				read[token]++
			}
		}
	}
	for token := range p.texts {
		if read[token] > 1 { // of several that were read together the journal does not have all
			r.T.Errorf("%s was read %d times", token, read[token])
		}
	}
	if len(ids) != len(p.texts) {
		r.T.Errorf("%s has %d messages, %d were sent", p.key, len(ids), len(p.texts))
	}
	for _, id := range ids {
		o := g.Outcome(id)
		into := o.Str("into")
		switch {
		case o.Str("state") != "answered", into != "" && !slices.Contains(ids, into):
			r.T.Errorf("%s: %s", p.key, o.Body)
		case into == "":
			owed[squashed(noticesOf(o)+o.Str("text"))] = o.Str("text")
		}
	}
	return owed
}

// noticesOf returns what is told with an outcome, which stands before its text.
func noticesOf(o harness.Answer) (all string) {
	notices, _ := o.JSON["notices"].([]any)
	for _, n := range notices {
		if n, ok := n.(map[string]any); ok {
			all += fmt.Sprint(n["text"])
		}
	}
	return all
}

var soakChatToken = regexp.MustCompile(`T[\d.]+T`)

// squashed is what of a text is there however it is shown.
func squashed(text string) string { return notShown.ReplaceAllString(text, "") }

var notShown = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// amiss says what is wrong with what people see in a place; empty: nothing.
func (r *telegramSoak) amiss(p *soakPlace, owed map[string]string) string {
	seen, wrong := map[string][]int{}, []string(nil)
	for _, m := range p.chat.FromBot() {
		if m.Thread != p.thread {
			continue
		}
		text := squashed(m.Text)
		switch {
		case owed[text] != "":
			seen["answer "+text] = append(seen["answer "+text], m.ID)
		case p.commands[m.ReplyTo]:
			what := fmt.Sprint("answer to command ", m.ReplyTo)
			seen[what] = append(seen[what], m.ID)
		case strings.Contains(m.Text, "there is much to be said"):
			seen["said "+text] = append(seen["said "+text], m.ID)
		case len(m.Buttons) == 0 && soakSummary.MatchString(m.Text):
		case r.excused(m.ID, p.chat.ID()):
		default:
			wrong = append(wrong, fmt.Sprintf("%s: left behind is %v", p.key, m))
		}
	}
	for text := range owed {
		if seen["answer "+text] == nil {
			wrong = append(wrong, fmt.Sprintf("%s: no answer %.200q", p.key, text))
		}
	}
	for id := range p.commands {
		if what := fmt.Sprint("answer to command ", id); seen[what] == nil {
			wrong = append(wrong, p.key+": no "+what)
		}
	}
	for what, ids := range seen {
		if len(ids) > 1 {
			if repeated := r.repeated(p, ids); repeated != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %d times there is the %.200q: %s", p.key, len(ids), what, repeated))
			}
		}
	}
	return strings.Join(wrong, "\n")
}

// excused reports whether the daemon may not know of a message that it has sent: the
// connection broke, or it was killed just then.
func (r *telegramSoak) excused(message int, chat int64) bool {
	for _, c := range r.api.Calls("sendMessage") {
		if c.Message != message || c.Chat != chat {
			continue
		}
		return c.Outcome != "ok" || r.killedBetween(c.Time, c.Time.Add(2*time.Second))
	}
	return false
}

// repeated says how messages of the same text were sent, unless all but one are excused: no
// delivery on record has become such a message, and either the connection broke, or a process
// was killed after this send and before the next one. Telegram takes messages from a process
// until it is dead, which on a busy machine is long after the signal.
func (r *telegramSoak) repeated(p *soakPlace, ids []int) string {
	calls := slices.DeleteFunc(r.api.Calls("sendMessage"), func(c botapi.Call) bool {
		return c.Chat != p.chat.ID() || !slices.Contains(ids, c.Message)
	})
	unexcused := len(ids) - len(calls)
	var how strings.Builder
	for i, c := range calls {
		deliveries := r.deliveriesOf(p, c.Message)
		killed := i+1 < len(calls) && r.killedBetween(c.Time, calls[i+1].Time)
		if len(deliveries) > 0 || c.Outcome == "ok" && !killed {
			unexcused++
		}
		_, _ = fmt.Fprintf(&how, "%d at %s: %s, of %q, killed: %v; ", c.Message, c.Time.Format(time.RFC3339Nano), c.Outcome, deliveries, killed)
	}
	if unexcused <= 1 {
		return ""
	}
	return how.String()
}

// deliveriesOf returns the deliveries on record that a message is a part of.
func (r *telegramSoak) deliveriesOf(p *soakPlace, message int) (ids []string) {
	r.T.Helper()
	db := r.LedgerFile()
	defer func() { _ = db.Close() }()
	rows, err := db.Query(`SELECT d.id FROM deliveries d, json_each(d.progress, '$.sent') s WHERE d.channel=? AND s.value=?`, p.key, message)
	check.OK(r.T, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		check.OK(r.T, rows.Scan(&id))
		ids = append(ids, id)
	}
	check.OK(r.T, rows.Err())
	return ids
}

// killedBetween reports whether a process of the gateway was being killed between two times.
func (r *telegramSoak) killedBetween(from, to time.Time) bool {
	r.killing.Lock()
	defer r.killing.Unlock()
	return slices.ContainsFunc(r.kills, func(k [2]time.Time) bool { return k[1].After(from) && k[0].Before(to) })
}

// awaitPoll returns when the daemon has received what there was.
func (r *telegramSoak) awaitPoll(g *harness.Gateway) {
	r.T.Helper()
	r.Eventually("a poll", func() bool { return g.TelegramHealth()["ready"] == true })
}

// nothingOpen fails if something is on record that is still to be done.
func (r *telegramSoak) nothingOpen() {
	r.T.Helper()
	db := r.LedgerFile()
	defer func() { _ = db.Close() }()
	for what, query := range map[string]string{
		"deliveries are pending":    `SELECT count(*) FROM deliveries WHERE state='pending'`,
		"deliveries have failed":    `SELECT count(*) FROM deliveries WHERE state='failed'`,
		"updates are not handled":   `SELECT count(*) FROM inbox WHERE handled=0`,
		"status lines are known":    `SELECT count(*) FROM records WHERE key LIKE 'status:%'`,
		"streams are known":         `SELECT count(*) FROM records WHERE key LIKE 'stream:%'`,
		"messages are to be tidied": `SELECT count(*) FROM records WHERE key LIKE 'left:%'`,
	} {
		n := 0
		r.Eventually("no "+what, func() bool { return db.QueryRow(query).Scan(&n) == nil && n == 0 })
	}
}

// soakSummary is what a status line says in the end.
var soakSummary = regexp.MustCompile(`^Done in `)
