package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bareclaw/core"
	"bareclaw/core/lanes"
)

// What a person who sends /stop is promised, from when the gateway receives the command.
const (
	stopHeard = time.Second     // the chat shows that it is heeded
	stopEnded = 2 * time.Second // the turn has ended, and the chat shows that
)

// TestStopInTime sends /stop by a clock that only waiting moves: the outcome comes in time
// whether the agent listens or has to be ended, and the chat shows at once that something
// is being done.
func TestStopInTime(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]*stoppableAgent{
		"listens at once":     {obeys: time.Millisecond},
		"listens in a second": {obeys: 999 * time.Millisecond},
		"listens too late":    {obeys: 5 * time.Second},
		"is deaf":             {obeys: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := &clockedAPI{updates: make(chan string, 10)}
				serveClocked(t, api, agent)
				api.updates <- update(1, "work")
				time.Sleep(10 * time.Second)
				if n := len(api.sent("")); n != 1 { // the status of the turn
					t.Fatalf("before /stop the chat has %d messages: %v", n, api.calls)
				}
				stopped := time.Now()
				api.updates <- update(2, "/stop")
				time.Sleep(10 * time.Second)
				shown, ended := api.sent("Stop"), api.sent("⏹ Stopped within ")
				if len(shown) == 0 || shown[0].at.Sub(stopped) > stopHeard {
					t.Errorf("%v after /stop nothing showed that it was heeded: %v", stopHeard, api.calls)
				}
				if len(ended) != 1 || ended[0].at.Sub(stopped) > stopEnded {
					t.Errorf("%v after /stop nothing showed that the turn had ended: %v", stopEnded, api.calls)
				}
			})
		})
	}
}

// TestTypingGoesOn shows that somebody types as long as a turn runs, also where nothing
// else is shown: Telegram shows each typing action for five seconds.
func TestTypingGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &clockedAPI{updates: make(chan string, 10)}
		serveClocked(t, api, &stoppableAgent{})
		api.updates <- update(1, "/verbose 0")
		time.Sleep(10 * time.Second)
		api.updates <- update(2, "work")
		time.Sleep(time.Minute)
		if n := len(api.made("sendChatAction", "")); n < 12 || n > 16 || len(api.sent("")) != 1 {
			t.Errorf("in a minute of work there were %d typing actions; all calls: %v", n, api.calls)
		}
	})
}

// update is a text that user 7 sends.
func update(id int, text string) string {
	entities := ""
	if strings.HasPrefix(text, "/") {
		entities = fmt.Sprintf(`,"entities":[{"type":"bot_command","offset":0,"length":%d}]`, len(text))
	}
	return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":%d,"text":%q,"from":{"id":7,"first_name":"Anna"},"chat":{"id":7,"type":"private"}%s}}`,
		id, id, time.Now().Unix(), text, entities)
}

// serveClocked serves user 7 in the bubble of a test, until its end.
func serveClocked(t *testing.T, api *clockedAPI, agent core.Agent) {
	t.Helper()
	a := newAdapter(t, func(c *lanes.Options, o *Options) { c.Agent, o.HTTP = agent, &http.Client{Transport: api} })
	a.poller.client.Polls = &http.Client{Transport: api}
	if err := a.o.Core.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run(t, a))
}

// A clockedAPI is a Bot API without a network, which a bubble's clock would wait for.
type clockedAPI struct {
	updates chan string

	mu    sync.Mutex // guards the field below
	calls []clockedCall
}

// A clockedCall is a call of a method, with the text that it shows.
type clockedCall struct {
	at           time.Time
	method, text string
}

// RoundTrip answers a call. A poll waits for an update.
func (c *clockedAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	method := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	result := "true"
	switch method {
	case "getMe":
		result = `{"id":123456,"is_bot":true,"first_name":"Bot","username":"bot"}`
	case "getUpdates":
		var asked struct{ Timeout int }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			return nil, err
		}
		select {
		case u := <-c.updates:
			result = "[" + u + "]"
		case <-time.After(time.Duration(asked.Timeout) * time.Second):
			result = "[]"
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	default:
		id := c.note(method, r.FormValue("text"))
		if method == "sendMessage" || method == "editMessageText" {
			result = fmt.Sprintf(`{"message_id":%d,"date":%d,"chat":{"id":7,"type":"private"}}`, id, time.Now().Unix())
		}
	}
	body := fmt.Sprintf(`{"ok":true,"result":%s}`, result)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// note keeps a call, and returns an id for what it may send.
func (c *clockedAPI) note(method, text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, clockedCall{time.Now(), method, text})
	return 1000 + len(c.calls)
}

// sent returns the messages that were sent with a text.
func (c *clockedAPI) sent(text string) []clockedCall { return c.made("sendMessage", text) }

// made returns the calls of a method with a text.
func (c *clockedAPI) made(method, text string) (all []clockedCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if call.method == method && strings.Contains(call.text, text) {
			all = append(all, call)
		}
	}
	return all
}

// A stoppableAgent works until it is told to end that, which takes it some time.
type stoppableAgent struct {
	idleAgent
	obeys time.Duration
}

// Start begins a session.
func (a *stoppableAgent) Start(_ context.Context, _ core.ChannelKey, l core.Launch) (core.Session, error) {
	s := &stoppableSession{obeys: a.obeys, id: l.SessionID, events: make(chan []core.Event, 100)}
	s.say(core.Event{Kind: core.Readied})
	return s, nil
}

// A stoppableSession is a conversation with such an agent.
type stoppableSession struct {
	obeys  time.Duration
	id     string
	events chan []core.Event

	mu    sync.Mutex // guards the fields below
	seq   uint64
	turn  core.TurnID
	ended bool
}

func (s *stoppableSession) say(events ...core.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range events {
		if s.ended {
			return
		}
		s.seq++
		ev.Seq, ev.At = s.seq, time.Now()
		s.events <- []core.Event{ev}
	}
}

func (s *stoppableSession) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.events)
	}
}

func (s *stoppableSession) Info() core.SessionInfo {
	return core.SessionInfo{SessionID: s.id, HostPID: 1, AgentPID: 2, Ready: true}
}
func (s *stoppableSession) Events() <-chan []core.Event      { return s.events }
func (s *stoppableSession) Answer(string, core.Answer) error { return nil }
func (s *stoppableSession) Ack(uint64)                       {}
func (s *stoppableSession) Detach()                          { s.end() }

// Hand begins a turn, with a tool that goes on.
func (s *stoppableSession) Hand(id core.TurnID, _ []byte) error {
	s.turn = id
	s.say(core.Event{Kind: core.TurnState, Turn: id, Phase: core.PhaseQueued}, core.Event{Kind: core.TurnState, Turn: id, Phase: core.PhaseStarted},
		core.Event{Kind: core.ToolBegun, Tool: "Bash", Target: "sleep 1000", ToolID: "1"})
	return nil
}

// Interrupt ends the turn when it is time.
func (s *stoppableSession) Interrupt() error {
	id := s.turn
	time.AfterFunc(s.obeys, func() {
		s.say(core.Event{Kind: core.Resulted, Result: &core.Result{Turns: []core.TurnID{id}, IsError: true, Interrupted: true, Error: "aborted"}},
			core.Event{Kind: core.TurnState, Turn: id, Phase: core.PhaseCompleted})
	})
	return nil
}

// Stop ends the agent, which takes as long as [core.StopNow] allows.
func (s *stoppableSession) Stop(core.StopMode) error {
	time.AfterFunc(300*time.Millisecond, func() {
		s.say(core.Event{Kind: core.Exited, Exit: &core.Exit{Code: "agent_exit", Text: "It was ended."}})
		s.end()
	})
	return nil
}
