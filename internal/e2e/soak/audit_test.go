package soak

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

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/proc"
	"bareclaw/sessionhost/protocol"
)

// soakToken is how a message of the soak is known wherever it appears.
var soakToken = regexp.MustCompile(`T\d+-\d+T`)

// calm replaces the daemon by a fresh one, and fails if the old daemon held many more
// file descriptors or goroutines, or much more memory.
func (r *soakRun) calm() *harness.Gateway {
	r.T.Helper()
	worn := r.holdings()
	r.epoch.Add(1)
	r.end(syscall.SIGTERM)
	g := r.Start()
	r.daemon.Store(g)
	r.epoch.Add(1)
	for _, l := range r.lines {
		g.Usable(l.key) // its session is attached
	}
	fresh := r.holdings()
	r.T.Logf("the last daemon: %v, a fresh one: %v", worn, fresh)
	for what, most := range map[string]float64{"fds": 15, "goroutines": 15, "heap": maxHeapGrowth + keptUpdates} {
		if worn[what] > fresh[what]+most {
			r.T.Errorf("the daemon holds %v %s when it rests, a fresh one %v", worn[what], what, fresh[what])
		}
	}
	return g
}

// holdings are what the daemon holds when it has nothing to do.
func (r *soakRun) holdings() map[string]float64 {
	g := r.daemon.Load()
	g.HTTP.CloseIdleConnections()
	m := g.Metrics()
	return map[string]float64{"fds": m["process_open_fds"], "goroutines": m["go_goroutines"], "heap": liveHeap(g)}
}

// audit checks all that there is to know of what has happened.
func (r *soakRun) audit(g *harness.Gateway) {
	r.T.Helper()
	a := r.newAudit()
	total := len(r.lines) // each was tried when all had calmed down
	for _, l := range r.lines {
		total += a.line(g, l)
	}
	if n := g.Balanced(); n != total {
		r.T.Errorf("%d messages accepted by the ledger's account, %d are there", n, total)
	}
	if n := g.Metrics()["bareclaw_messages_waiting"]; n != 0 {
		r.T.Errorf("%v messages wait", n)
	}
	for token, n := range a.tools {
		if n > 1 {
			r.T.Errorf("the tool of %s ran %d times", token, n)
		}
	}
	r.nothingLoose()
	// A worker that handed over answers late requests for lateGrace, and its supervisor waits
	// for that, also when the gateway was ended meanwhile and another one has begun.
	r.Eventually("the daemons before this one have ended", func() bool { return len(r.roles("serve")) == 1 })
	g.EndsAll()
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
	for _, l := range r.Journal() {
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
func (a *soakAudit) line(g *harness.Gateway, l *soakLine) int {
	a.T.Helper()
	msgs := []*harness.Sent{{Text: "echo usable", Doubt: true}} // what was sent when all had calmed down
	for _, s := range l.sent {
		msgs = append(msgs, &s.Sent)
	}
	outcomes := g.Settled(l.key, msgs)
	stopped := map[string]harness.Answer{}
	for _, s := range l.sent {
		if o, ok := outcomes[s.ID]; ok {
			a.message(s, o, outcomes)
			if o.Code() == "interrupted" && (o.Str("state") == "cancelled" || o.Str("error") == interruptedByClaude) {
				if into := o.Str("into"); into != "" {
					o = outcomes[into]
				}
				stopped[o.Str("turn_id")] = o
			}
		}
	}
	a.stopped(l, stopped, outcomes)
	a.reports(g, l)
	return len(outcomes) - 1
}

// stopped checks each turn that was stopped: a request named the turn, or a message of mode
// interrupt waited when the turn ended. Each such message stops one turn.
func (a *soakAudit) stopped(l *soakLine, stopped, outcomes map[string]harness.Answer) {
	a.T.Helper()
	outcomeOf := func(s *soakMessage) (o harness.Answer, accepted bool) {
		if o, accepted = outcomes[s.ID]; accepted || !s.Doubt {
			return o, accepted
		}
		for _, o := range outcomes { // accepted, but the sender was not told
			if prompt, _ := o.JSON["prompt"].(map[string]any); prompt["text"] == s.Text {
				return o, true
			}
		}
		return o, false
	}
	first := slices.DeleteFunc(slices.Clone(l.sent), func(s *soakMessage) bool {
		_, accepted := outcomeOf(s)
		return s.mode != "interrupt" || !accepted
	})
	until := func(s *soakMessage) string { // how long it may have waited
		if s.withdrawn != "" {
			return "for ever" // behind every time; what it had stopped may have ended later
		}
		o, _ := outcomeOf(s)
		return o.Str("ended_at")
	}
	slices.SortFunc(first, func(s, other *soakMessage) int { return strings.Compare(until(s), until(other)) })
	turns := slices.SortedFunc(maps.Keys(stopped), func(turn, other string) int {
		return strings.Compare(stopped[turn].Str("ended_at"), stopped[other].Str("ended_at"))
	})
	for _, turn := range turns {
		if l.named[turn] {
			continue
		}
		ended := stopped[turn].Str("ended_at")
		i := slices.IndexFunc(first, func(s *soakMessage) bool {
			o, _ := outcomeOf(s)
			return o.Str("turn_id") != turn && o.Str("received_at") <= ended && ended <= until(s)
		})
		if i < 0 {
			a.T.Errorf("channel %s: turn %s was stopped, which nobody had asked for: %s", l.key, turn, stopped[turn].Body)
			continue
		}
		first = slices.Delete(first, i, i+1)
	}
}

// interruptedByClaude is what is told of a turn that was interrupted before a
// restart: the new daemon does not know who asked for it.
const interruptedByClaude = "The turn was interrupted."

// message checks one outcome.
func (a *soakAudit) message(s *soakMessage, o harness.Answer, outcomes map[string]harness.Answer) {
	a.T.Helper()
	bad := func(format string, args ...any) {
		a.T.Helper()
		a.T.Errorf("%s (%s): %s\noutcome: %.700s\nturn: %.700q", s.token, s.kind, fmt.Sprintf(format, args...), o.Body, a.turns[o.Str("turn_id")])
	}
	what := o.Str("state")
	if o.Code() != "" {
		what += " " + o.Code()
	}
	a.count(what)
	if s.withdrawn == "yes" && what != "cancelled cancelled" || s.withdrawn == "no" && what == "cancelled cancelled" {
		bad("withdrawn: %s", s.withdrawn)
	}
	switch o.Str("state") {
	case "answered":
		a.answered(s, o, outcomes, bad)
	case "failed":
		a.failed(s, o, bad)
	case "cancelled":
		if o.Code() != "interrupted" && (o.Code() != "cancelled" || s.withdrawn == "") {
			bad("cancelled by nobody")
		}
	default:
		bad("no outcome")
	}
}

// answered checks that the reply is that of the turn which the message is in.
func (a *soakAudit) answered(s *soakMessage, o harness.Answer, outcomes map[string]harness.Answer, bad func(string, ...any)) {
	a.T.Helper()
	carrier := o
	if into := o.Str("into"); into != "" {
		if o.Str("text") != "" || !o.Flag("coalesced") {
			bad("coalesced, and has a text of its own")
		}
		carrier = outcomes[into]
	}
	if o.Flag("is_error") || carrier.Str("state") != "answered" {
		bad("answered, and an error; its carrier: %s", carrier.Body)
		return
	}
	turn, lead := o.Str("turn_id"), carrier.Str("turn_id")
	if len(a.turns[turn]) == 0 || !strings.Contains(a.turns[turn][0], s.token) {
		bad("answered by a turn that it is not in")
		return
	}
	leader := a.known[soakToken.FindString(a.turns[lead][0])]
	if leader == nil {
		bad("answered by a turn of nobody: %q", a.turns[lead])
		return
	}
	k, text := soakKinds[leader.kind], carrier.Str("text")
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
func (a *soakAudit) failed(s *soakMessage, o harness.Answer, bad func(string, ...any)) {
	a.T.Helper()
	carries := o.Str("into") == ""
	if !o.Flag("is_error") || o.Str("error") == "" || carries && o.Str("text") == "" {
		bad("a failure that does not say why")
	}
	var kinds []soakKind
	texts := strings.Join(a.turns[o.Str("turn_id")], "\n")
	for _, token := range soakToken.FindAllString(texts, -1) {
		if m := a.known[token]; m != nil {
			kinds = append(kinds, soakKinds[m.kind])
		}
	}
	if slices.ContainsFunc(kinds, func(k soakKind) bool { return slices.Contains(k.codes, o.Code()) }) {
		return
	}
	switch o.Code() {
	case "interrupted":
		if o.Str("error") == interruptedByClaude {
			return // counted
		}
		if len(a.turns[o.Str("turn_id")]) > 1 && strings.HasPrefix(o.Str("error"), "Claude ended this turn without an answer.") {
			return // claude does not run what was cut twice, and the daemon that saw why is gone
		}
		if !slices.ContainsFunc(kinds, func(k soakKind) bool { return k.tool }) {
			bad("a turn without a tool is told as interrupted")
		}
	case "agent_exit", "agent_start":
		if !strings.Contains(o.Str("error"), "tried 3 times") {
			bad("claude's end is told at once")
		}
	default:
		bad("failed otherwise")
	}
}

// reports checks that what background tasks reported stands in their channel, once.
func (a *soakAudit) reports(g *harness.Gateway, l *soakLine) {
	a.T.Helper()
	seen := map[string]bool{}
	for _, b := range g.Must("GET", "/channels/"+l.key+"/messages?limit=100", nil, 200).Array("background") {
		token := soakToken.FindString(b.Str("text"))
		s := a.known[token]
		if s == nil || s.kind != "background" || !strings.HasPrefix(token, "T"+l.key[1:]+"-") || seen[token] {
			a.T.Errorf("channel %s: report %s (seen before: %v)", l.key, b.Body, seen[token])
		}
		seen[token] = true
		a.count("report")
	}
}

// nothingLoose fails if something runs that belongs to no session, or to one whose
// host is gone.
func (r *soakRun) nothingLoose() {
	r.T.Helper()
	var loose []string
	r.Eventually("nothing of an ended session runs", func() bool {
		loose = nil
		hosts := map[int]bool{}
		for _, h := range r.Hosts() {
			hosts[h.PID] = true
		}
		for _, p := range r.Processes() {
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
	"not restarted": "the new process was killed before it could take over, or the old one was told to end",
	"the new process failed; the program before goes on": "it was killed while it took over",
	"the gateway has crashed":                            "the worker was killed",
	"session host not started":                           "the daemon was killed before it had told the host what to run",
	"host sent a bad frame":                              "it was killed while it sent it",
}

// soakWords are what a daemon that cannot go on says last, and why.
var soakWords = map[string]string{
	"bareclaw: hand over: ":                           "the supervisor was killed, or the gateway told to end, before another worker served",
	"bareclaw: take over: ":                           "likewise",
	"bareclaw: start below the supervisor: receive: ": "the supervisor was killed before it had told the worker what to do",
	"bareclaw: another gateway (pid":                  "it was started while another one was there",
}

// quietLogs fails if a log has an error that what was done does not explain, or
// something that is no log at all, such as a panic.
func (r *soakRun) quietLogs() {
	r.T.Helper()
	for line := range strings.Lines(r.Log.String()) {
		var l struct{ Level, Msg string }
		switch err := json.Unmarshal([]byte(line), &l); {
		case err != nil && !explained(line, soakWords), l.Level == "ERROR" && soakErrors[l.Msg] == "":
			r.T.Errorf("in the daemons' log: %s", line)
		}
	}
	for _, f := range r.Glob("state/hosts/*.log") {
		b, err := os.ReadFile(f)
		if err != nil {
			r.T.Error(err)
		}
		for line := range strings.Lines(string(b)) {
			_, msg, _ := strings.Cut(line, `level=ERROR msg="`)
			if !strings.HasPrefix(line, "time=") || msg != "" && !explained(msg, soakErrors) {
				r.T.Errorf("in a host's log: %s", line)
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
