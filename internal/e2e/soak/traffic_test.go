package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"bareclaw/internal/e2e/harness"
)

// A soakKind is a way for a turn to go.
type soakKind struct {
	weight int
	// text begins with a directive of the scripted claude and has the token.
	text func(r *soakRun, token string) string
	// answer is the reply, or its beginning; none if such a turn fails.
	answer func(token string) string
	prefix bool     // it is only the beginning
	codes  []string // with which such a turn may fail by itself
	tool   bool     // it begins a tool
	ran    bool     // and the tool leaves the token in the journal
}

func soakText(format string) func(*soakRun, string) string {
	return func(_ *soakRun, token string) string { return fmt.Sprintf(format, token) }
}

func soakReply(format string) func(string) string {
	return func(token string) string { return strings.ReplaceAll(format, "TOKEN", token) }
}

var soakKinds = map[string]soakKind{
	"echo":       {weight: 10, text: soakText("echo %s"), answer: soakReply("TOKEN")},
	"slow":       {weight: 10, text: soakText("slow 80 %s"), answer: soakReply("w0 w1 w2 w3 TOKEN")},
	"tool":       {weight: 12, text: soakText("tool 40 add %s"), answer: soakReply("final: ran: add TOKEN"), prefix: true, tool: true, ran: true},
	"quicktool":  {weight: 8, text: soakText("tool 0 add %s"), answer: soakReply("final: ran: add TOKEN"), prefix: true, tool: true, ran: true},
	"asktool":    {weight: 4, text: soakText("tool 10 ask %s"), answer: soakReply("final: ran: ask TOKEN"), prefix: true, tool: true, ran: true},
	"leave":      {weight: 4, text: soakText("leave 20 add %s"), answer: soakReply("final: ran: add TOKEN"), prefix: true, tool: true, ran: true},
	"background": {weight: 5, text: soakText("background 150 report %s"), answer: soakReply("final: Command running in background with ID: b"), prefix: true, tool: true},
	"events":     {weight: 4, text: soakText("events 300\n%s"), answer: soakReply("events 300")},
	"big":        {weight: 2, text: soakText("big 200000\n%s"), answer: soakReply(strings.Repeat("x", 200000))},
	"longline":   {weight: 2, text: soakText("longline 500000\n%s"), answer: soakReply("longline 500000")},
	"stderr":     {weight: 2, text: soakText("stderr 100000\n%s"), answer: soakReply("stderr 100000")},
	"rubbish":    {weight: 2, text: soakText("rubbish\n%s"), answer: soakReply("rubbish")},
	"noresult":   {weight: 3, text: soakText("noresult wrote %s"), answer: soakReply("wrote TOKEN")},
	"lastwords":  {weight: 2, text: soakText("resultdie 0\n%s"), answer: soakReply("last words")},
	"clear":      {weight: 2, text: soakText("/clear %s"), answer: soakReply("A new conversation has begun.")},
	"dies":       {weight: 2, text: soakText("die 3\n%s"), codes: []string{"agent_exit"}},
	"diesonce":   {weight: 3, text: soakOnce("kill"), answer: soakReply("again")},
	"vanishes":   {weight: 2, text: soakOnce("vanish"), answer: soakReply("again")},
	"overloaded": {weight: 2, text: soakText("apierror 529\n%s"), codes: []string{"overloaded"}},
	"refused":    {weight: 2, text: soakText("apierror 400\n%s"), codes: []string{"api_error"}},
	"maxturns":   {weight: 2, text: soakText("maxturns\n%s"), codes: []string{"max_turns"}, tool: true},
	"parks":      {weight: 1, text: soakOnce("notloggedin"), answer: soakReply("again"), codes: []string{"not_logged_in"}},
}

// soakOnce is for turns that go so only the first time.
func soakOnce(directive string) func(*soakRun, string) string {
	return func(r *soakRun, token string) string {
		return fmt.Sprintf("once %s %s\n%s", r.Path("once-"+token), directive, token)
	}
}

// A soakMessage is a message of the soak.
type soakMessage struct {
	harness.Sent
	token string
	kind  string
	mode  string
	// withdrawn says what became of the request to take it out of the queue: ""
	// if there was none.
	withdrawn string
}

// A soakLine is a channel and the client that talks on it.
type soakLine struct {
	*soakRun
	key    string
	rnd    *rand.Rand
	drawn  int // messages
	nudges int
	sent   []*soakMessage  // guarded by mu: also by nudges
	named  map[string]bool // turns that were to be interrupted
	waits  atomic.Bool
}

func newSoakLine(r *soakRun, n int) *soakLine {
	l := &soakLine{soakRun: r, key: "s" + strconv.Itoa(n), rnd: r.rand(uint64(n) + 1), named: map[string]bool{}}
	l.waits.Store(true)
	return l
}

// talk sends until the chaos is over, and returns when all is answered.
func (l *soakLine) talk() {
	defer l.waits.Store(false)
	for !l.stopped() {
		var last *soakMessage
		for range 1 + l.rnd.IntN(3) {
			last = l.next()
			l.send(last)
		}
		switch n := l.rnd.IntN(20); {
		case last.ID == "":
		case n == 0:
			l.interrupt()
		case n == 1:
			l.withdraw(last)
		}
		if l.rnd.IntN(4) > 0 {
			l.await(last)
		}
		l.pause(time.Duration(l.rnd.IntN(60)) * time.Millisecond)
	}
	for _, s := range l.all() {
		l.await(s)
	}
}

// all returns what has been sent.
func (l *soakLine) all() []*soakMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sent)
}

// next draws a message.
func (l *soakLine) next() *soakMessage {
	l.drawn++
	token := fmt.Sprintf("T%s-%dT", l.key[1:], l.drawn)
	s := &soakMessage{token: token, kind: l.kind()}
	s.Text = l.kinds[s.kind].text(l.soakRun, token)
	s.Form = []string{"", "async", "async", "sse"}[l.rnd.IntN(4)]
	if l.rnd.IntN(4) > 0 {
		s.Key = token
	}
	switch l.rnd.IntN(20) {
	case 0:
		s.mode = "interrupt"
	case 1, 2:
		s.mode = "steer"
	}
	return s
}

// kind draws a kind by weight.
func (l *soakLine) kind() string {
	all := 0
	names := make([]string, 0, len(l.kinds))
	for name, k := range l.kinds {
		names, all = append(names, name), all+k.weight
	}
	slices.Sort(names)
	n := l.rnd.IntN(all)
	for _, name := range names {
		if n -= l.kinds[name].weight; n < 0 {
			return name
		}
	}
	panic("weights do not add up")
}

// send posts the message; with a key until it is known to be accepted.
func (l *soakLine) send(s *soakMessage) {
	l.mu.Lock()
	l.sent = append(l.sent, s)
	l.mu.Unlock()
	header := []string{"Accept", "application/json"}
	switch s.Form {
	case "async":
		header = append(header, "Prefer", "respond-async")
	case "sse":
		header[1] = "text/event-stream"
	}
	if s.Key != "" {
		header = append(header, "Idempotency-Key", s.Key)
	}
	body := harness.Obj{"channel": l.key, "text": s.Text}
	if s.mode != "" {
		body["mode"] = s.mode
	}
	for {
		a, err := l.request("POST", "/message", body, header...)
		l.accepted(s, a, err)
		if s.ID != "" || s.Key == "" || l.T.Failed() {
			return
		}
	}
}

// accepted notes what the answer says of the message.
func (l *soakLine) accepted(s *soakMessage, a harness.Answer, err error) {
	id := a.Str("message_id")
	if s.Form == "sse" {
		id = harness.AcceptedEvent(a.Body)
	}
	switch {
	case id != "" && s.ID != "" && id != s.ID:
		l.T.Errorf("%s: accepted as %s and as %s", s.token, s.ID, id)
	case id != "":
		s.ID, s.Doubt = id, false
	case err != nil, a.Status >= 500: // in the latter case it is refused, or that is not known
		s.Doubt = true
	case a.Status == 200:
		l.T.Errorf("%s: status 200 without a message: %s", s.token, a.Body)
	}
	if err == nil && a.Status == 200 && s.Form == "" {
		s.Told = a
	}
}

// request sends a request to whichever daemon runs, once. When nobody has ended
// or killed the gateway meanwhile it has to succeed. Otherwise it returns once
// there is a gateway again.
func (r *soakRun) request(method, path string, body any, header ...string) (harness.Answer, error) {
	began := r.epoch.Load()
	g := r.daemon.Load()
	a, err := g.Do(method, path, body, header...)
	if err == nil && a.Status < 500 {
		return a, nil
	}
	if began%2 == 0 && r.epoch.Load() == began && !r.ends(g) {
		r.T.Errorf("%s %s %v: %v, status %d: %s", method, path, body, err, a.Status, a.Body)
	}
	deadline := time.Now().Add(harness.Patience)
	for r.epoch.Load()%2 != 0 && time.Now().Before(deadline) {
		<-time.After(5 * time.Millisecond)
	}
	return a, err
}

// ends reports whether the gateway has ended by itself, soon after something in it was
// killed: its first process is the first to end.
func (r *soakRun) ends(g *harness.Gateway) bool {
	select {
	case <-g.Done:
		return true
	case <-time.After(harness.Patience):
		return false
	}
}

// await waits until the message has its outcome.
func (l *soakLine) await(s *soakMessage) {
	if s.ID == "" {
		return
	}
	deadline := time.Now().Add(harness.Patience)
	for !l.T.Failed() {
		a, err := l.request("GET", "/messages/"+s.ID+"?wait=1s", nil)
		if err == nil && a.Status < 500 {
			if state := a.Str("state"); a.Status != 200 || state != "waiting" && state != "running" {
				return // what it is is the audit's business
			}
		}
		if time.Now().After(deadline) {
			c, _ := l.request("GET", "/channels/"+l.key, nil)
			trace, _ := l.request("GET", "/messages/"+s.ID+"/trace", nil)
			l.T.Errorf("message %s (%s) has no outcome: %s\nchannel: %s\ntrace: %s", s.ID, s.token, a.Body, c.Body, trace.Body)
			return
		}
	}
}

// nudge sends a parked channel another message, with which it is tried again.
func (l *soakLine) nudge() {
	c, err := l.request("GET", "/channels/"+l.key, nil)
	if err != nil || c.Str("state") != "parked" {
		return
	}
	l.nudges++
	token := fmt.Sprintf("T%s-%dT", l.key[1:], 1_000_000+l.nudges)
	l.send(&soakMessage{Sent: harness.Sent{Text: "echo " + token, Form: "async", Key: token}, token: token, kind: "echo"})
	l.count("nudge")
}

// interrupt ends the turn that runs.
func (l *soakLine) interrupt() {
	c, err := l.request("GET", "/channels/"+l.key, nil)
	turn := c.Str("turn_id")
	if err != nil || turn == "" {
		return
	}
	l.named[turn] = true
	a, err := l.request("POST", "/channels/"+l.key+"/interrupt", harness.Obj{"turn_id": turn})
	if err == nil {
		l.count("interrupt " + strconv.Itoa(a.Status))
	}
}

// interrupted reports whether the line had a turn interrupted, itself or by a message.
func (l *soakLine) interrupted() bool {
	return len(l.named) > 0 || slices.ContainsFunc(l.sent, func(s *soakMessage) bool { return s.mode == "interrupt" })
}

// withdraw takes the message out of the queue, if it is still there.
func (l *soakLine) withdraw(s *soakMessage) {
	s.withdrawn = "in doubt"
	a, err := l.request("DELETE", "/messages/"+s.ID, nil)
	switch {
	case err != nil:
	case a.Status == 200 && a.Str("state") == "cancelled":
		s.withdrawn = "yes"
	case a.Status == 409:
		s.withdrawn = "no"
	case a.Status < 500:
		l.T.Errorf("withdraw %s: status %d: %s", s.token, a.Status, a.Body)
	}
	l.count("withdraw " + s.withdrawn)
}

// help does what the clients wait for: it allows every tool that claude asks for,
// drops what was cut, and has parked channels tried again. It returns when no client waits any more.
func (r *soakRun) help() {
	for slices.ContainsFunc(r.lines, func(l *soakLine) bool { return l.waits.Load() }) && !r.T.Failed() {
		a, err := r.request("GET", "/approvals", nil)
		if err != nil {
			continue
		}
		for _, p := range a.Array("approvals") {
			behavior := "allow"
			if p.Str("kind") == "continue" { // it would do again what the audit looks for once
				behavior = "drop"
			}
			a, err := r.request("POST", "/approvals/"+p.Str("id"), harness.Obj{"behavior": behavior})
			if err == nil && a.Status != 200 && a.Status != 409 && a.Status < 500 {
				r.T.Errorf("approval %s: status %d: %s", p.Body, a.Status, a.Body)
			}
		}
		for _, l := range r.lines {
			l.nudge()
		}
		<-time.After(20 * time.Millisecond)
	}
}
