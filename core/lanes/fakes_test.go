package lanes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/feed"
)

// A world is a gateway among fakes, in a bubble with a clock of its own. The
// ledger, the agent and the session ids outlive the gateway; see restart and
// crash.
type world struct {
	t        *testing.T
	o        Options
	tools    ToolServer
	ledger   *testLedger
	agent    *fakeAgent
	sessions *fakeSessions
	m        *Manager
	life     *life
	saved    *feed.Snapshot // what the last life has left of its feeds; nil: nothing
	log      strings.Builder
}

// play runs a test in a world, in parallel with others.
func play(t *testing.T, o Options, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	playNow(t, o, test)
}

// playNow runs a test in a world, not in parallel with others.
func playNow(t *testing.T, o Options, test func(t *testing.T, w *world)) {
	t.Helper()
	playOn(t, openSQLite, nil, o, test)
}

// playWith is playNow with a server of tools.
func playWith(t *testing.T, tools ToolServer, o Options, test func(t *testing.T, w *world)) {
	t.Helper()
	playOn(t, openSQLite, tools, o, test)
}

// playOn runs a test in a world with a ledger and a server of tools, nil for none. At its end the
// gateway is told to leave, and everything must be over and the ledger balanced.
func playOn(t *testing.T, open openLedger, tools ToolServer, o Options, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t:        t,
			o:        o,
			tools:    tools,
			ledger:   newTestLedger(t, open),
			sessions: &fakeSessions{ids: map[core.ChannelKey]string{}},
		}
		w.agent = newFakeAgent(t, w.ledger, w.sessions)
		if o.Log == nil {
			w.o.Log = slog.New(slog.NewTextHandler(&w.log, nil))
		}
		defer func() {
			if t.Failed() {
				t.Log(w.log.String())
			}
		}()
		w.start()
		defer w.end()
		test(t, w)
	})
}

// start begins a new life of the gateway.
func (w *world) start() {
	w.t.Helper()
	if w.life != nil {
		w.ledger.closeFor(w.life)
	}
	w.life = &life{}
	o := w.o
	o.Advice = Advice{
		DailyBudget: "BUDGET", MaxSessions: "SESSIONS", TurnTimeout: "TIMEOUT", AskPeople: "ask people", AllowTool: "allow the tool",
		UndoModel: "take back the model", UndoMode: "take back the mode", Undo: "take back all",
		Login: "log in", Shorten: "shorten", NewConversation: func(key core.ChannelKey) string { return "new " + string(key) },
		Retry: func(id core.MessageID) string { return "retry " + string(id) },
	}
	o.Ledger, o.Agent, o.Sessions = ledgerOf{w.ledger, w.life}, agentOf{w.agent, w.life}, w.sessions
	w.m = New(o)
	if w.saved != nil {
		if err := w.m.Feeds.Restore(w.saved.Index, w.m.o.Now(), w.m.o.Log, written(w.saved)); err != nil {
			w.t.Fatal(err)
		}
		w.saved = nil
	}
	if err := w.m.Recover(w.t.Context(), w.tools); err != nil {
		w.t.Fatal(err)
	}
}

// restart ends the gateway in an orderly way and starts it again.
func (w *world) restart() {
	w.t.Helper()
	w.m.Detach()
	w.start()
	synctest.Wait()
}

// detach ends the gateway in an orderly way, and keeps what it leaves of its feeds.
func (w *world) detach() {
	w.t.Helper()
	w.m.Detach()
	var err error
	if w.saved, err = w.m.SaveFeeds(); err != nil {
		w.t.Fatal(err)
	}
}

// written is what Restore asks for the updates.
func written(s *feed.Snapshot) func() (*io.SectionReader, error) {
	return func() (*io.SectionReader, error) {
		var b bytes.Buffer
		err := s.WriteUpdates(&b)
		return io.NewSectionReader(bytes.NewReader(b.Bytes()), 0, int64(b.Len())), err
	}
}

// handOver has the next life take up the feeds too.
func (w *world) handOver() {
	w.t.Helper()
	w.detach()
	w.start()
	synctest.Wait()
}

// crash ends the gateway as kill -9 does: what it had asked of the ledger may
// not have happened, and nothing more is heard of it.
func (w *world) crash() {
	w.life.dead.Store(true)
	w.agent.mu.Lock()
	for _, h := range w.agent.hosts {
		if h.client != nil {
			h.client.cutLocked()
		}
	}
	w.agent.mu.Unlock()
	w.ledger.kill(w.life)
	w.m.Detach() // for its goroutines
}

func (w *world) end() {
	w.t.Helper()
	w.ledger.release()
	w.m.Detach()
	w.agent.mu.Lock()
	for _, h := range w.agent.hosts {
		h.endLocked()
	}
	w.agent.mu.Unlock()
	for _, id := range w.ledger.putBack {
		if f := w.agent.fates[id]; f != nil && (f.ToolBegun || f.Answered) {
			w.t.Errorf("messages of turn %s were put back after %+v", id, *f)
		}
	}
	b, err := w.ledger.Balance(context.Background())
	if err != nil || !b.Even() {
		w.t.Errorf("balance %+v is not even (%v)", b, err)
	}

}

// after lets time pass.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// submit hands in a message and waits until it is accepted.
func (w *world) submit(text string, change ...func(*core.Submission)) *core.Ticket {
	w.t.Helper()
	s := submission(text, change...)
	t, err := w.m.Submit(w.t.Context(), s)
	if err != nil {
		w.t.Fatalf("submit %q: %v", text, err)
	}
	synctest.Wait()
	return t
}

// A sending is a Submit under way.
type sending struct {
	ticket *core.Ticket
	err    error
	over   atomic.Bool
	unsure bool

	channel core.ChannelKey
}

// submitting hands in a message without waiting for its acceptance.
func (w *world) submitting(text string, change ...func(*core.Submission)) *sending {
	s := &sending{}
	go func() {
		s.ticket, s.err = w.m.Submit(context.Background(), submission(text, change...))
		s.over.Store(true)
	}()
	synctest.Wait()
	return s
}

func submission(text string, change ...func(*core.Submission)) core.Submission {
	s := core.Submission{Channel: "c", Adapter: "test", Content: core.Content{Text: text}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func in(key core.ChannelKey) func(*core.Submission) {
	return func(s *core.Submission) { s.Channel = key }
}
func mode(m core.Mode) func(*core.Submission) { return func(s *core.Submission) { s.Mode = m } }
func askable(s *core.Submission)              { s.CanAsk = true }

func keyed(key, hash string) func(*core.Submission) {
	return func(s *core.Submission) { s.SourceKey, s.SourceHash = key, hash }
}

// host returns the live host of channel c.
func (w *world) host() *fakeHost {
	w.t.Helper()
	return w.hostOf("c")
}

func (w *world) hostOf(key core.ChannelKey) *fakeHost {
	w.t.Helper()
	synctest.Wait()
	w.agent.mu.Lock()
	defer w.agent.mu.Unlock()
	h := w.agent.hosts[key]
	if h == nil {
		w.t.Fatalf("channel %s has no host", key)
	}
	return h
}

// running returns the host of channel c and the turn that was handed to it last.
func (w *world) running() (*fakeHost, core.TurnID) {
	w.t.Helper()
	h := w.host()
	turns := h.handed()
	if len(turns) == 0 {
		w.t.Fatal("no turn was handed over")
	}
	return h, turns[len(turns)-1]
}

// begun submits a message and has the agent begin its turn.
func (w *world) begun(text string, change ...func(*core.Submission)) (*core.Ticket, *fakeHost, core.TurnID) {
	w.t.Helper()
	t := w.submit(text, change...)
	h, id := w.running()
	h.begin(id)
	synctest.Wait()
	return t, h, id
}

// handedTexts returns what was handed over in the turns of a host, prefixes left out.
func (w *world) handedTexts(h *fakeHost) []string {
	var texts []string
	for _, id := range h.handed() {
		w.agent.mu.Lock()
		texts = append(texts, textOf(w.t, w.agent.lines[id]))
		w.agent.mu.Unlock()
	}
	return texts
}

// textOf returns the text in a turn's line, without the prefix.
func textOf(t *testing.T, line string) (text string) {
	if err := json.Unmarshal([]byte(line), &text); err != nil {
		t.Fatal(err)
	}
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "[channel: ") {
		return rest
	}
	return text
}

// answer has the agent begin and answer the turn that was handed over last.
func (w *world) answer(text string) {
	w.t.Helper()
	h, id := w.running()
	h.answer(id, text)
}

// outcome returns what became of a message; it must be known by now.
func (w *world) outcome(t *core.Ticket) core.Message {
	w.t.Helper()
	synctest.Wait()
	select {
	case <-t.Done():
		return t.Outcome()
	default:
		w.t.Fatalf("message %q has no outcome", t.Message.Content.Text)
		return core.Message{}
	}
}

// wants checks the outcome of a message, in the waiter's hand and in the ledger.
func (w *world) wants(t *core.Ticket, state core.State, code, text string) core.Message {
	w.t.Helper()
	got := w.outcome(t)
	w.wantsReply(got, state, code, text)
	kept, err := w.ledger.Message(w.t.Context(), t.Message.ID)
	if err != nil || kept.State != got.State || kept.Reply.Text != got.Reply.Text {
		w.t.Errorf("ledger has %s %q (%v), the waiter was told %s %q", kept.State, kept.Reply.Text, err, got.State, got.Reply.Text)
	}
	return got
}

func (w *world) wantsReply(got core.Message, state core.State, code, text string) {
	w.t.Helper()
	if got.State != state || got.Reply.State != state || got.Reply.Code != code || !strings.Contains(got.Reply.Text, text) {
		w.t.Errorf("outcome of %q is %s %s %q, want %s %s with %q", got.Content.Text, got.State, got.Reply.Code, got.Reply.Text, state, code, text)
	}
	if got.Reply.IsError != (state != core.Answered) {
		w.t.Errorf("outcome of %q: is_error %v in state %s", got.Content.Text, got.Reply.IsError, state)
	}
	if got.Reply.Duration < 0 {
		w.t.Errorf("outcome of %q after %s", got.Content.Text, got.Reply.Duration)
	}
}

// wantsNow checks what became of a message of an earlier life.
func (w *world) wantsNow(id core.MessageID, state core.State, code, text string) core.Message {
	w.t.Helper()
	synctest.Wait()
	got, err := w.m.Lookup.Message(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	if !state.Final() {
		if got.State != state {
			w.t.Errorf("message %q is %s, want %s", got.Content.Text, got.State, state)
		}
		return got
	}
	w.wantsReply(got, state, code, text)
	return got
}

// undecided checks that a message has no outcome yet.
func (w *world) undecided(ts ...*core.Ticket) {
	w.t.Helper()
	synctest.Wait()
	for _, t := range ts {
		select {
		case <-t.Done():
			w.t.Fatalf("message %q ended too early: %+v", t.Message.Content.Text, t.Outcome().Reply)
		default:
		}
	}
}

// works checks that the channel still answers, and returns its host.
func (w *world) works() *fakeHost {
	w.t.Helper()
	w.after(3 * time.Second) // more than any pause
	t := w.submit("still there?")
	h, id := w.running()
	h.answer(id, "yes")
	w.wants(t, core.Answered, "", "yes")
	return h
}

func (w *world) wantErr(err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Errorf("error = %v, want %v", err, want)
	}
}

func codes(ns []core.Notice) []string {
	var out []string
	for _, n := range ns {
		out = append(out, n.Code)
	}
	return out
}

// queue returns what waits on channel c.
func (w *world) queue() []string {
	w.t.Helper()
	synctest.Wait()
	ms, err := w.m.Queue(w.t.Context(), "c")
	if err != nil {
		w.t.Fatal(err)
	}
	var texts []string
	for i := range ms {
		texts = append(texts, ms[i].Content.Text)
	}
	return texts
}
