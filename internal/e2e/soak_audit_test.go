package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// soakToken is how a message of the soak is known wherever it appears.
var soakToken = regexp.MustCompile(`T\d+-\d+T`)

// calm replaces the daemon, which has seen a lot, by a fresh one, and fails if the
// old one held more than that.
func (r *soakRun) calm() *gateway {
	r.t.Helper()
	worn := r.holdings()
	r.epoch.Add(1)
	r.end(syscall.SIGTERM)
	g := r.start()
	r.daemon.Store(g)
	r.epoch.Add(1)
	for _, l := range r.lines {
		g.usable(l.key) // its session is attached
	}
	fresh := r.holdings()
	r.t.Logf("the last daemon: %v, a fresh one: %v", worn, fresh)
	for what, most := range map[string]float64{"fds": 15, "goroutines": 15, "heap": maxHeapGrowth} {
		if worn[what] > fresh[what]+most {
			r.t.Errorf("the daemon holds %v %s when it rests, a fresh one %v", worn[what], what, fresh[what])
		}
	}
	return g
}

// holdings are what the daemon holds when it has nothing to do.
func (r *soakRun) holdings() map[string]float64 {
	g := r.daemon.Load()
	g.http.CloseIdleConnections()
	m := g.metrics()
	return map[string]float64{"fds": m["process_open_fds"], "goroutines": m["go_goroutines"], "heap": g.liveHeap()}
}

// audit checks all that there is to know of what has happened.
func (r *soakRun) audit(g *gateway) {
	r.t.Helper()
	a := r.newAudit()
	total := len(r.lines) // each was tried when all had calmed down
	for _, l := range r.lines {
		total += a.line(g, l)
	}
	if n := g.balanced(); n != total {
		r.t.Errorf("%d messages accepted by the ledger's account, %d are there", n, total)
	}
	if n := g.metrics()["bareclaw_messages_waiting"]; n != 0 {
		r.t.Errorf("%v messages wait", n)
	}
	for token, n := range a.tools {
		if n > 1 {
			r.t.Errorf("the tool of %s ran %d times", token, n)
		}
	}
	r.nothingLoose()
	// One that handed over answers late requests for lateGrace, also when the gateway was
	// ended meanwhile and another one has begun.
	r.eventually("the daemons before this one have ended", func() bool { return len(r.roles("serve")) == 1 })
	g.endsAll()
	r.quietLogs()
}

// A soakAudit is what claude's journal says.
type soakAudit struct {
	*soakRun
	turns map[string][]string // the texts by uuid, once for each time it was begun
	near  map[string]string   // the uuid that the same process began just before it
	tools map[string]int      // how often the tool of a token ran
	known map[string]*soakMessage
}

func (r *soakRun) newAudit() *soakAudit {
	a := &soakAudit{soakRun: r, turns: map[string][]string{}, near: map[string]string{}, tools: map[string]int{}, known: map[string]*soakMessage{}}
	last := map[int]string{}
	for _, l := range r.journal() {
		switch l.Event {
		case "begun":
			a.turns[l.UUID] = append(a.turns[l.UUID], l.Text)
			a.near[l.UUID], last[l.PID] = last[l.PID], l.UUID
		case "tool":
			for _, token := range soakToken.FindAllString(l.Text, -1) {
				a.tools[token]++
			}
		}
	}
	for _, l := range r.lines {
		for _, s := range l.sent {
			a.known[s.token] = s
		}
	}
	return a
}

// line checks the messages of a channel and returns how many were accepted.
func (a *soakAudit) line(g *gateway, l *soakLine) int {
	a.t.Helper()
	msgs := []*sent{{text: "echo usable", doubt: true}} // what was sent when all had calmed down
	for _, s := range l.sent {
		msgs = append(msgs, &s.sent)
	}
	outcomes := g.settled(l.key, msgs)
	stopped := map[string]answer{}
	for _, s := range l.sent {
		if o, ok := outcomes[s.id]; ok {
			a.message(s, o, outcomes)
			if o.code() == "interrupted" && (o.str("state") == "cancelled" || o.str("error") == interruptedByClaude) {
				if into := o.str("into"); into != "" {
					o = outcomes[into]
				}
				stopped[o.str("turn_id")] = o
			}
		}
	}
	a.stopped(l, stopped, outcomes)
	a.reports(g, l)
	return len(outcomes) - 1
}

// stopped checks that each turn that was stopped is one that somebody had named, or that
// there is a message which was to go first, and waited when the turn ended. Each such
// message stops one turn.
func (a *soakAudit) stopped(l *soakLine, stopped, outcomes map[string]answer) {
	a.t.Helper()
	first := slices.DeleteFunc(slices.Clone(l.sent), func(s *soakMessage) bool {
		_, accepted := outcomes[s.id]
		return s.mode != "interrupt" || !accepted
	})
	until := func(s *soakMessage) string { // how long it may have waited
		if s.withdrawn != "" {
			return "for ever" // behind every time; what it had stopped may have ended later
		}
		return outcomes[s.id].str("ended_at")
	}
	slices.SortFunc(first, func(s, other *soakMessage) int { return strings.Compare(until(s), until(other)) })
	turns := slices.SortedFunc(maps.Keys(stopped), func(turn, other string) int {
		return strings.Compare(stopped[turn].str("ended_at"), stopped[other].str("ended_at"))
	})
	for _, turn := range turns {
		if l.named[turn] {
			continue
		}
		ended := stopped[turn].str("ended_at")
		i := slices.IndexFunc(first, func(s *soakMessage) bool {
			o := outcomes[s.id]
			return o.str("turn_id") != turn && o.str("received_at") <= ended && ended <= until(s)
		})
		if i < 0 {
			a.t.Errorf("channel %s: turn %s was stopped, which nobody had asked for: %s", l.key, turn, stopped[turn].body)
			continue
		}
		first = slices.Delete(first, i, i+1)
	}
}

// interruptedByClaude is what is told of a turn that was interrupted before a
// restart: the new daemon does not know who asked for it.
const interruptedByClaude = "The turn was interrupted."

// message checks one outcome.
func (a *soakAudit) message(s *soakMessage, o answer, outcomes map[string]answer) {
	a.t.Helper()
	bad := func(format string, args ...any) {
		a.t.Helper()
		a.t.Errorf("%s (%s): %s\noutcome: %.700s\nturn: %.700q", s.token, s.kind, fmt.Sprintf(format, args...), o.body, a.turns[o.str("turn_id")])
	}
	what := o.str("state")
	if o.code() != "" {
		what += " " + o.code()
	}
	a.count(what)
	if s.withdrawn == "yes" && what != "cancelled cancelled" || s.withdrawn == "no" && what == "cancelled cancelled" {
		bad("withdrawn: %s", s.withdrawn)
	}
	switch o.str("state") {
	case "answered":
		a.answered(s, o, outcomes, bad)
	case "failed":
		a.failed(s, o, bad)
	case "cancelled":
		if o.code() != "interrupted" && (o.code() != "cancelled" || s.withdrawn == "") {
			bad("cancelled by nobody")
		}
	default:
		bad("no outcome")
	}
}

// answered checks that the reply is that of the turn which the message is in.
func (a *soakAudit) answered(s *soakMessage, o answer, outcomes map[string]answer, bad func(string, ...any)) {
	a.t.Helper()
	carrier := o
	if into := o.str("into"); into != "" {
		if o.str("text") != "" || !o.flag("coalesced") {
			bad("coalesced, and has a text of its own")
		}
		carrier = outcomes[into]
	}
	if o.flag("is_error") || carrier.str("state") != "answered" {
		bad("answered, and an error; its carrier: %s", carrier.body)
		return
	}
	turn, lead := o.str("turn_id"), carrier.str("turn_id")
	if len(a.turns[turn]) == 0 || !strings.Contains(a.turns[turn][0], s.token) {
		bad("answered by a turn that it is not in")
		return
	}
	leader := a.known[soakToken.FindString(a.turns[lead][0])]
	if leader == nil {
		bad("answered by a turn of nobody: %q", a.turns[lead])
		return
	}
	k, text := soakKinds[leader.kind], carrier.str("text")
	if want := k.answerTo(leader); text != want && (!k.prefix || !strings.HasPrefix(text, want)) {
		bad("%q (%s) was answered %.300q, want %.300q", leader.token, leader.kind, text, want)
	}
	if turn != lead && !strings.Contains(text, s.token) && a.near[lead] != turn && a.near[turn] != lead {
		bad("answered together with turn %s, which does not mention it: %.300q", lead, text)
	}
	if k := soakKinds[s.kind]; k.ran && leader == s && a.tools[s.token] != 1 {
		bad("answered, and its tool ran %d times", a.tools[s.token])
	}
}

func (k soakKind) answerTo(s *soakMessage) string {
	if k.answer == nil {
		return "nothing: it fails"
	}
	return k.answer(s.token)
}

// failed checks that the failure is one that a turn of the kind may have, or one
// that what was killed explains.
func (a *soakAudit) failed(s *soakMessage, o answer, bad func(string, ...any)) {
	a.t.Helper()
	carries := o.str("into") == ""
	if !o.flag("is_error") || o.str("error") == "" || carries && o.str("text") == "" {
		bad("a failure that does not say why")
	}
	var kinds []soakKind
	texts := strings.Join(a.turns[o.str("turn_id")], "\n")
	for _, token := range soakToken.FindAllString(texts, -1) {
		if m := a.known[token]; m != nil {
			kinds = append(kinds, soakKinds[m.kind])
		}
	}
	if slices.ContainsFunc(kinds, func(k soakKind) bool { return slices.Contains(k.codes, o.code()) }) {
		return
	}
	switch o.code() {
	case "interrupted":
		if o.str("error") == interruptedByClaude {
			return // counted
		}
		if len(a.turns[o.str("turn_id")]) > 1 && strings.HasPrefix(o.str("error"), "Claude ended this turn without an answer.") {
			return // claude does not run what was cut twice, and the daemon that saw why is gone
		}
		if !slices.ContainsFunc(kinds, func(k soakKind) bool { return k.tool }) {
			bad("a turn without a tool is told as interrupted")
		}
	case "agent_exit", "agent_start":
		if !strings.Contains(o.str("error"), "tried 3 times") {
			bad("claude's end is told at once")
		}
	default:
		bad("failed otherwise")
	}
}

// reports checks that what background tasks reported stands in their channel, once.
func (a *soakAudit) reports(g *gateway, l *soakLine) {
	a.t.Helper()
	seen := map[string]bool{}
	for _, b := range g.must("GET", "/channels/"+l.key+"/messages?limit=100", nil, 200).array("background") {
		token := soakToken.FindString(b.str("text"))
		s := a.known[token]
		if s == nil || s.kind != "background" || !strings.HasPrefix(token, "T"+l.key[1:]+"-") || seen[token] {
			a.t.Errorf("channel %s: report %s (seen before: %v)", l.key, b.body, seen[token])
		}
		seen[token] = true
		a.count("report")
	}
}

// nothingLoose fails if something runs that belongs to no session, or to one whose
// host is gone.
func (r *soakRun) nothingLoose() {
	r.t.Helper()
	var loose []string
	r.eventually("nothing of an ended session runs", func() bool {
		loose = nil
		hosts := map[int]bool{}
		for _, h := range r.hosts() {
			hosts[h.PID] = true
		}
		for _, p := range r.processes() {
			cmdline, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cmdline"))
			environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "environ"))
			args := strings.Split(string(cmdline), "\x00")
			_, marker, marked := bytes.Cut(environ, []byte("\x00"+protocol.EnvMarkVariable+"="))
			parts := strings.Split(string(bytes.TrimSuffix(marker, []byte{0})), ".")
			host := 0
			if marked && len(parts) > 1 {
				host, _ = strconv.Atoi(parts[1])
			}
			if isHost := len(args) > 1 && args[1] == protocol.Subcommand; (marked && !hosts[host] || isHost && !hosts[p.PID]) && proc.Alive(p.PID, p.Start) {
				loose = append(loose, fmt.Sprint(p.PID, " ", args))
			}
		}
		return len(loose) == 0
	})
}

// soakErrors are what may be logged as an error when everything is killed, and why.
var soakErrors = map[string]string{
	"not restarted":                         "the new process was killed before it could take over, or the old one was told to end",
	"the new process failed; starting anew": "it was killed while it took over",
	"session host not started":              "the daemon was killed before it had told the host what to run",
	"host sent a bad frame":                 "it was killed while it sent it",
}

// soakWords are what a daemon that cannot go on says last, and why.
var soakWords = map[string]string{
	"bareclaw: the process that took over: signal: killed": "it was killed",
	"bareclaw: take over: ":                                "it was to take over from one that was killed",
	"bareclaw: another gateway (pid":                       "it was started while a new process took over from one that was killed",
	"bareclaw: the gateway (pid":                           "likewise",
}

// quietLogs fails if a log has an error that what was done does not explain, or
// something that is no log at all, such as a panic.
func (r *soakRun) quietLogs() {
	r.t.Helper()
	for line := range strings.Lines(r.log.String()) {
		var l struct{ Level, Msg string }
		switch err := json.Unmarshal([]byte(line), &l); {
		case err != nil && !explained(line, soakWords), l.Level == "ERROR" && soakErrors[l.Msg] == "":
			r.t.Errorf("in the daemons' log: %s", line)
		}
	}
	for _, f := range r.glob("state/hosts/*.log") {
		b, err := os.ReadFile(f)
		if err != nil {
			r.t.Error(err)
		}
		for line := range strings.Lines(string(b)) {
			_, msg, _ := strings.Cut(line, `level=ERROR msg="`)
			if !strings.HasPrefix(line, "time=") || msg != "" && !explained(msg, soakErrors) {
				r.t.Errorf("in a host's log: %s", line)
			}
		}
	}
}

// explained reports whether the line begins as one of the known ones.
func explained(line string, known map[string]string) bool {
	for begin := range known {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}
