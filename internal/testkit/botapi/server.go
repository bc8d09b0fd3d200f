// Package botapi is a strict Telegram Bot API server for tests. It keeps one bot's chats,
// files and updates, plays the people who write to the bot, and refuses what Telegram
// refuses, in Telegram's words.
//
// A scenario makes a server, points the bot at it, acts as a user, and looks at what that
// user sees:
//
//	s := botapi.New(t)
//	anna := s.User(7, "Anna", "Arden", "anna")
//	chat := s.Private(anna)                      // Anna has pressed Start
//	startDaemon(t, s.URL(), s.Token())           // calls go to URL/bot<token>/<method>
//
//	sent := chat.Send(anna, "hello")             // sent.UpdateID, sent.MessageID
//	answer := chat.AwaitText("ok: hello")        // fails with a dump of all chats
//	chat.Tap(anna, answer.ID, "Stop")            // fails if there is no such button
//
// [Chat.Messages] is what people see now; [Server.Calls] is every request with its
// outcome. The state is the server's: a daemon that is killed and started again finds it
// as it was.
//
// Faults are scripted for the next calls of a method in a chat, in order:
//
//	s.Script("sendMessage", chat.ID(), botapi.TooMany(2), botapi.ResetAfter())
//	held := s.Hold("getUpdates", 0)              // a poll that stalls until held.Release()
//	s.DropNetwork()                              // and s.RestoreNetwork()
//
// What Telegram tolerates and drops (an entity that cannot be shown, a number that is
// none) and parse_mode, which our adapter must not use, are violations: they fail the
// test. The documented rate limits hold unless [WithoutRates] is given; a call before
// retry_after is over counts in [Server.RateViolations].
package botapi

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// DefaultToken is the bot token of a server made without [WithToken].
const DefaultToken = "123456:AAE-fake-token_0123456789abcdefghij"

// Patience is how long a test waits for what should come at once. A busy machine needs
// some of it.
const Patience = 3 * time.Minute

// An Option changes how a server behaves.
type Option func(*Server)

// WithToken sets the only token that is not answered 401. Its first part, up to the colon,
// is the bot's user id.
func WithToken(token string) Option { return func(s *Server) { s.token = token } }

// WithoutRates switches the limits off.
func WithoutRates() Option { return func(s *Server) { s.rate.off = true } }

// A Server is one Bot API server with one bot. All methods may be called from any
// goroutine, but those that act for a user end the test when they are misused, and then
// the rules of [testing.T.FailNow] hold.
type Server struct {
	token   string
	addr    string         // the same for the server's whole life
	running sync.WaitGroup // accept loops and handlers

	netMu sync.Mutex   // protects http
	http  *http.Server // nil while there is no network

	mu      sync.Mutex    // protects the fields below and all that hangs on them
	t       testing.TB    // nil outside of a test and when the test is over
	changed chan struct{} // closed and replaced at every change
	bot     *User
	users   map[int64]*User
	chats   map[int64]*chat
	calls   []*Call
	faults  []*fault
	broken  []string // violations
	revoked bool     // the token is no longer good

	updates   queue
	webhook   string
	lastID    int // of messages outside of supergroups, which count on their own
	files     map[string]*file
	callbacks map[string]*callback
	commands  map[string][]command
	rate      limiter
}

// New runs a server for the test and closes it at the test's end. What the users see is
// then written to the log of a failed test.
func New(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s, err := start(t, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the Bot API server at the end:\n%s", s.Dump())
		}
		s.Close()
	})
	return s
}

// NewServer runs a server outside of a test, until [Server.Close]. Violations are only
// recorded, and misuse of what acts for a user panics.
func NewServer(opts ...Option) (*Server, error) { return start(nil, opts) }

func start(t testing.TB, opts []Option) (*Server, error) {
	s := &Server{
		t: t, token: DefaultToken, changed: make(chan struct{}),
		users: map[int64]*User{}, chats: map[int64]*chat{}, files: map[string]*file{},
		callbacks: map[string]*callback{}, commands: map[string][]command{},
		updates: queue{nextID: firstUpdateID}, rate: newLimiter(),
	}
	for _, opt := range opts {
		opt(s)
	}
	id, _, _ := strings.Cut(s.token, ":")
	botID, err := strconv.ParseInt(id, 10, 64)
	if err != nil || botID <= 0 {
		return nil, fmt.Errorf("the token %q does not begin with a bot's id", s.token)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the Bot API: %w", err)
	}
	s.addr = l.Addr().String()
	s.bot = &User{ID: botID, FirstName: "Fake", Username: "fake_bot", bot: true}
	s.users[botID] = s.bot
	s.serve(l)
	return s, nil
}

// URL returns where the Bot API is, without a slash at the end. It stays the same when the
// network is dropped and restored.
func (s *Server) URL() string { return "http://" + s.addr }

// Token returns the bot's token.
func (s *Server) Token() string { return s.token }

// Close drops all connections and returns when every handler has ended. It may be called
// more than once.
func (s *Server) Close() {
	s.DropNetwork()
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t = nil // nobody may write to the log of a test that is over
}

// locked returns what f finds in the server's state.
func locked[T any](s *Server, f func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f()
}

// must ends the test, or panics outside of one, if err is not nil.
func (s *Server) must(err error) {
	if err == nil {
		return
	}
	t := locked(s, func() testing.TB { return s.t })
	if t == nil {
		panic("botapi: " + err.Error())
	}
	t.Helper()
	t.Fatalf("botapi: %v", err)
}

// violateLocked records what a client did that Telegram tolerates, ignores or drops, and
// that is a mistake all the same. It fails the test.
func (s *Server) violateLocked(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.broken = append(s.broken, text)
	if s.t != nil {
		s.t.Errorf("botapi: %s", text)
	}
	s.changedLocked()
}

// changedLocked wakes everybody who waits for a change.
func (s *Server) changedLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Await returns once cond is true. It looks again at every change of the server: a call
// begun or answered, a message, a poll. After [Patience] the test ends with what was
// awaited and everything the users see.
func (s *Server) Await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if err := s.wait(what, cond); err != nil {
		t.Fatal(err)
	}
}

// wait fails if cond does not become true in time.
func (s *Server) wait(what string, cond func() bool) error {
	timeout := time.NewTimer(Patience)
	defer timeout.Stop()
	for {
		changed := locked(s, func() chan struct{} { return s.changed })
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-timeout.C:
			return fmt.Errorf("no %s within %v. The Bot API server:\n%s", what, Patience, s.Dump())
		}
	}
}
