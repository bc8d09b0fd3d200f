package lanes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// scenarios plays scripts, each in a gateway of its own. A script is a list of steps, separated by semicolons or
// lines: what users, the agent and the world do, and what is then to be seen. A step is a verb, followed by words and
// by name=value; see the verbs in userSteps, agentSteps, worldSteps and viewSteps. "with" sets options of the gateway.
// A step "one answered ok" holds that the message "one" has an outcome. Words with spaces stand in quotes. A message
// is known by its text, a turn by any of its messages, and a process of the agent by the number of its start.
//
// {a|b|c} plays the script once for each of the alternatives.
func scenarios(t *testing.T, scripts map[string]string) {
	t.Helper()
	t.Parallel()
	for name, script := range scripts {
		for i, one := range alternatives(script) {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				o, steps := parse(t, one)
				var offset atomic.Int64 // of the wall clock
				o.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
				play(t, o, func(_ *testing.T, w *world) {
					s := &scene{world: w, sent: map[string]*sending{}, unblock: map[string]func(){}, offset: &offset}
					s.run(steps)
				})
			})
		}
	}
}

var choices = regexp.MustCompile(`\{([^}]*\|[^}]*)\}`)

// alternatives returns the script for each of its alternatives. All lists have the same length.
func alternatives(script string) (all []string) {
	first := choices.FindStringSubmatch(script)
	if first == nil {
		return []string{script}
	}
	for i := range strings.Split(first[1], "|") {
		all = append(all, choices.ReplaceAllStringFunc(script, func(list string) string {
			return strings.Split(strings.Trim(list, "{}"), "|")[i]
		}))
	}
	return all
}

// A step of a scenario.
type step struct {
	text   string
	words  []string // the verb first
	values map[string]string
}

func (p step) word(i int) string {
	if i < len(p.words) {
		return p.words[i]
	}
	return ""
}

func (p step) has(word string) bool { return slices.Contains(p.words, word) }

var tokens = regexp.MustCompile(`(\w+=)?("(\\"|[^"])*"|[^\s"]+)`)

// unquote returns a word without its quotes.
func unquote(word string) string {
	word = strings.TrimPrefix(strings.TrimSuffix(word, `"`), `"`)
	return strings.ReplaceAll(word, `\"`, `"`)
}

func parse(t *testing.T, script string) (o Options, steps []step) {
	t.Helper()
	for line := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		p := step{text: strings.TrimSpace(line), values: map[string]string{}}
		for _, token := range tokens.FindAllString(line, -1) {
			name, value, ok := strings.Cut(token, "=")
			if ok && !strings.HasPrefix(token, `"`) {
				p.values[name] = unquote(value)
			} else {
				p.words = append(p.words, unquote(token))
			}
		}
		switch {
		case p.text == "":
		case p.words[0] == "with":
			for name, value := range p.values {
				setOption(t, &o, name, value)
			}
		default:
			steps = append(steps, p)
		}
	}
	return o, steps
}

func setOption(t *testing.T, o *Options, name, value string) {
	t.Helper()
	number, notNumber := strconv.ParseFloat(value, 64)
	d, notDuration := time.ParseDuration(value)
	numeric := []string{"queue", "sessions", "turnbudget", "budget"}
	timed := []string{"timeout", "stall", "idle", "approvaltime"}
	if slices.Contains(numeric, name) && notNumber != nil || slices.Contains(timed, name) && notDuration != nil {
		t.Fatalf("option %s=%s does not parse", name, value)
	}
	switch name {
	case "queue":
		o.QueueLimit = int(number)
	case "timeout":
		o.TurnTimeout = d
	case "stall":
		o.StallAfter = d
	case "action":
		o.StallAction = StallAction(value)
	case "idle":
		o.IdleTimeout = d
	case "sessions":
		o.MaxSessions = int(number)
	case "turnbudget":
		o.TurnBudget = number
	case "budget":
		o.DailyBudget = number
	case "approvals":
		o.Approvals = ApprovalPolicy(value)
	case "approvaltime":
		o.ApprovalTimeout = d
	case "greeting":
		o.Greeting = []core.Notice{{Code: value}}
	case "deliver":
		prefix, adapter, _ := strings.Cut(value, ":")
		o.Deliverers = map[string]string{prefix: adapter}
	default:
		t.Fatalf("no option %q", name)
	}
}

// A scene is a world in which a scenario is played.
type scene struct {
	*world
	sent    map[string]*sending
	ops     []*operation
	sub     *feed.Subscription
	unblock map[string]func()
	offset  *atomic.Int64
	now     step
	last    core.UpdateID // the last update seen
}

// An operation is a request of a user under way.
type operation struct {
	step step
	err  error
	over atomic.Bool
}

func (s *scene) run(steps []step) {
	for _, p := range steps {
		s.now = p
		synctest.Wait()
		switch {
		case s.sent[p.words[0]] != nil:
			s.expect(p.words[0], p)
		case userSteps[p.words[0]] != nil:
			s.do(p, userSteps[p.words[0]])
		case agentSteps[p.words[0]] != nil:
			agentSteps[p.words[0]](s, p)
		case worldSteps[p.words[0]] != nil:
			worldSteps[p.words[0]](s, p)
		case viewSteps[p.words[0]] != nil:
			viewSteps[p.words[0]](s, p)
		default:
			s.t.Fatalf("no step %q", p.text)
		}
		if synctest.Wait(); s.t.Failed() {
			s.t.Fatalf("failed at: %s", p.text)
		}
	}
	s.finished()
}

// finished checks that the requests of users are over, with the expected errors.
func (s *scene) finished() {
	for _, op := range s.ops {
		s.check(op)
	}
	s.ops = nil
}

func (s *scene) check(op *operation) {
	for name := range strings.SplitSeq(op.step.values["err"], ",") {
		if want := named[name]; !op.over.Load() || !errors.Is(op.err, want) {
			s.t.Errorf("%s: over %v, error %v, want %v", op.step.text, op.over.Load(), op.err, want)
		}
	}
}

// do has a user request something. What the request comes to is checked at once if the request is over, and else by
// the step "over", or at the end.
func (s *scene) do(p step, request func(*scene, context.Context, step) error) {
	op := &operation{step: p}
	go func() {
		op.err = request(s, context.Background(), p)
		op.over.Store(true)
	}()
	synctest.Wait()
	if op.over.Load() {
		s.check(op)
	} else {
		s.ops = append(s.ops, op)
	}
}

// named are errors, as scenarios call them.
var named = map[string]error{
	"": nil, "full": core.ErrStorageFull, "storage": core.ErrStorage, "queue_full": core.ErrQueueFull, "key_reused": core.ErrKeyReused,
	"not_waiting": core.ErrNotWaiting, "not_found": core.ErrNotFound, "not_pending": core.ErrNotPending, "nothing_runs": core.ErrNothingRuns,
	"closed": core.ErrClosed, "bad_content": core.ErrBadContent, "not_failed": core.ErrNotFailed, "unwritten": core.ErrUnwritten, "internal": errInternal, "busy": core.ErrBusy,
}

// id returns the id of a message.
func (s *scene) id(name string) core.MessageID {
	s.t.Helper()
	sent := s.sent[name]
	if name == "none" {
		return "none"
	}
	if sent != nil && sent.over.Load() && sent.ticket != nil {
		return sent.ticket.Message.ID
	}
	all, err := s.ledger.Messages(s.t.Context(), "c", 100, "") // accepted, and its sender was not told
	i := slices.IndexFunc(all, func(m core.Message) bool { return m.Prompt.Text == name })
	if i < 0 {
		s.t.Fatalf("%s: message %q is not accepted (%v)", s.now.text, name, err)
	}
	return all[i].ID
}

func (s *scene) channel(p step) core.ChannelKey {
	if key := p.values["in"]; key != "" {
		return core.ChannelKey(key)
	}
	return "c"
}

// turns returns the newest turn of each of the messages, which are separated by commas.
func (s *scene) turns(names string) (h *fakeHost, ids []core.TurnID) {
	s.t.Helper()
	for name := range strings.SplitSeq(names, ",") {
		if s.sent[name] == nil {
			s.t.Fatalf("%s: no message %q", s.now.text, name)
		}
		h = s.hostOf(s.sent[name].channel)
		ids = append(ids, s.newestTurn(name))
	}
	return h, ids
}

// newestTurn returns the turn of a message that is on record, or else the turn that was handed over last.
func (s *scene) newestTurn(name string) (newest core.TurnID) {
	s.t.Helper()
	if sent := s.sent[name]; sent.over.Load() && sent.ticket != nil {
		if m, err := s.ledger.Message(s.t.Context(), sent.ticket.Message.ID); err == nil && m.Turn != "" {
			return m.Turn
		}
	}
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	for id, line := range s.agent.lines {
		if slices.Contains(strings.Split(textOf(s.t, line), "\n\n"), name) && id > newest {
			newest = id
		}
	}
	if newest == "" {
		s.t.Fatalf("%s: no turn has message %q", s.now.text, name)
	}
	return newest
}

func (s *scene) turn(name string) (*fakeHost, core.TurnID) {
	s.t.Helper()
	h, ids := s.turns(name)
	return h, ids[0]
}

// duration reads a duration.
func (s *scene) duration(text string) time.Duration {
	s.t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatalf("%s: %v", s.now.text, err)
	}
	return d
}

func (s *scene) number(text string) float64 {
	s.t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if text != "" && err != nil {
		s.t.Fatalf("%s: %v", s.now.text, err)
	}
	return n
}

func (s *scene) wantSame(what string, got, want any) {
	s.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("%s: %s is %v, want %v", s.now.text, what, got, want)
	}
}

func (s *scene) wantIn(what, got, want string) {
	s.t.Helper()
	if !strings.Contains(got, want) {
		s.t.Errorf("%s: %s is %q, want %q in it", s.now.text, what, got, want)
	}
}

// expect checks what became of a message.
func (s *scene) expect(name string, p step) {
	s.t.Helper()
	sent := s.sent[name]
	switch state := core.State(p.word(1)); state {
	case "refused":
		if want := named[p.word(2)]; !sent.over.Load() || sent.err == nil || !errors.Is(sent.err, want) {
			s.t.Errorf("%s: over %v, error %v", p.text, sent.over.Load(), sent.err)
		}
	case "unknown": // whether it is accepted
		s.wantSame("acceptance known", sent.over.Load(), false)
	case "accepted":
		s.wantSame("acceptance", fmt.Sprint(sent.over.Load(), sent.err), "true <nil>")
	case "parked": // one parked 2 text until=1h: where its ticket says that the message waits
		<-sent.ticket.Parked()
		at := sent.ticket.QueuePosition()
		s.wantSame("position", at.Position, p.word(2))
		s.wantIn("reason", at.Why, p.word(3))
		if until := p.values["until"]; until != "" && !at.Until.Equal(s.moment(until)) {
			s.t.Errorf("%s: until %s", p.text, at.Until)
		}
	case "existing":
		s.wantSame("message", sent.ticket.Message.ID, s.id(p.word(2)))
		s.wantSame("existing", sent.ticket.Existing, true)
	case "open":
		if got := s.message(name); got.State.Final() {
			s.t.Errorf("%s: %+v", p.text, got.Reply)
		}
	case core.Waiting, core.Running:
		s.wantSame("state", s.message(name).State, state)
	case core.Answered, core.Failed, core.Cancelled:
		code, text := p.word(2), p.word(3)
		if state == core.Answered {
			code, text = "", p.word(2)
		}
		got := s.message(name)
		s.wantsReply(got, state, code, text)
		s.expectReply(got.Reply, p)
	default:
		s.t.Fatalf("%s: no such state", p.text)
	}
}

func (s *scene) expectReply(got core.Reply, p step) {
	s.t.Helper()
	if p.has("recorded") || s.ledger.faultless() {
		kept, err := s.ledger.Message(s.t.Context(), s.id(p.words[0]))
		if err != nil || kept.Reply.Text != got.Text || kept.State != got.State {
			s.t.Errorf("%s: the ledger has %s %q (%v), told was %+v", p.text, kept.State, kept.Reply.Text, err, got)
		}
	}
	into := core.MessageID("")
	if name, ok := p.values["into"]; ok && name != "" {
		into = s.id(name)
	}
	for what, want := range p.values {
		switch what {
		case "into":
			s.wantSame(what, got.Into, into)
			s.wantSame("coalesced", got.Coalesced, into != "")
		case "cost":
			s.wantSame(what, got.CostUSD, s.number(want))
		case "took":
			s.wantSame(what, got.Duration, s.duration(want))
		case "via":
			s.wantSame(what, got.Via, want)
		case "retryof":
			s.wantSame(what, s.message(p.words[0]).RetryOf, s.id(want))
		case "notices":
			s.wantSame(what, strings.Join(codes(got.Notices), ","), want)
		case "without":
			if strings.Contains(got.Text, want) {
				s.t.Errorf("%s: the text is %q", p.text, got.Text)
			}
		default:
			s.t.Fatalf("%s: no member %q", p.text, what)
		}
	}
}

// message returns the present state of a message, as the gateway tells it.
func (s *scene) message(name string) core.Message {
	s.t.Helper()
	got, err := s.m.Lookup.Message(s.t.Context(), s.id(name))
	if err != nil {
		s.t.Fatalf("%s: %v", s.now.text, err)
	}
	return got
}

// TestScenariosAreDescribed: docs/design/scenarios.md has each verb, and no other.
func TestScenariosAreDescribed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/design/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	verbs := slices.Concat(slices.Collect(maps.Keys(userSteps)), slices.Collect(maps.Keys(agentSteps)), slices.Collect(maps.Keys(worldSteps)), slices.Collect(maps.Keys(viewSteps)))
	var described []string
	for line := range strings.Lines(string(page)) {
		if columns := strings.Split(line, " | "); strings.HasPrefix(line, "| `") && len(columns) > 1 {
			for _, verb := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(columns[0], -1) {
				described = append(described, verb[1])
			}
		}
	}
	slices.Sort(verbs)
	slices.Sort(described)
	if !slices.Equal(verbs, described) {
		t.Errorf("the verbs are\n%q, described are\n%q", verbs, described)
	}
}
