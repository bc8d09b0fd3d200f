package botapi

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Server is one Bot API server with one bot. All methods may be called from
// any goroutine, but those that act for a user end the test when they are
// misused, and then the rules of [testing.T.FailNow] hold.
type Server struct {
	opts    options
	addr    string // the same for the server's whole life
	http    *http.Server
	running sync.WaitGroup // accept loops and handlers

	netMu    sync.Mutex // protects the fields below
	listener net.Listener
	conns    map[net.Conn]struct{}
	closed   bool

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
	webhook   webhook
	lastID    int // of messages outside of supergroups, which count on their own
	files     map[string]*file
	callbacks map[string]*callback
	commands  map[string][]command
	rate      limiter
}

// New runs a server for the test and closes it at the test's end. What the
// users see is then written to the log of a failed test.
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

// NewServer runs a server outside of a test, until [Server.Close]. Violations
// are only recorded, and misuse of what acts for a user panics.
func NewServer(opts ...Option) (*Server, error) { return start(nil, opts) }

func start(t testing.TB, opts []Option) (*Server, error) {
	o := defaults()
	for _, opt := range opts {
		opt(&o)
	}
	id, _, _ := strings.Cut(o.token, ":")
	botID, err := strconv.ParseInt(id, 10, 64)
	if err != nil || botID <= 0 {
		return nil, fmt.Errorf("the token %q does not begin with a bot's id", o.token)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the Bot API: %w", err)
	}
	s := &Server{
		opts: o, addr: l.Addr().String(), conns: map[net.Conn]struct{}{},
		t: t, changed: make(chan struct{}),
		users: map[int64]*User{}, chats: map[int64]*chat{}, files: map[string]*file{},
		callbacks: map[string]*callback{}, commands: map[string][]command{},
		updates: newQueue(), rate: newLimiter(o.rates),
	}
	s.bot = &User{s: s, ID: botID, FirstName: "Fake", Username: "fake_bot", bot: true}
	s.users[botID] = s.bot
	s.http = &http.Server{Handler: http.HandlerFunc(s.track), ConnState: s.connState, ReadHeaderTimeout: time.Minute}
	s.serve(l)
	return s, nil
}

// track counts a running handler, so that Close can wait for it.
func (s *Server) track(w http.ResponseWriter, r *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	s.route(w, r)
}

// URL returns where the Bot API is, without a slash at the end. It stays the
// same when the network is dropped and restored.
func (s *Server) URL() string { return "http://" + s.addr }

// Token returns the bot's token.
func (s *Server) Token() string { return s.opts.token }

// Close drops all connections and returns when every handler has ended. It may
// be called more than once.
func (s *Server) Close() {
	s.netMu.Lock()
	s.closed = true
	s.netMu.Unlock()
	s.DropNetwork()
	_ = s.http.Close()
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t = nil // nobody may write to the log of a test that is over
}

// must ends the test, or panics outside of one, if err is not nil.
func (s *Server) must(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	t := s.t
	s.mu.Unlock()
	if t == nil {
		panic("botapi: " + err.Error())
	}
	t.Helper()
	t.Fatalf("botapi: %s: %v", caller(), err)
}

// caller is the line of the test, however deep in here the mistake was found.
func caller() string {
	for depth := 2; ; depth++ {
		_, file, line, ok := runtime.Caller(depth)
		if !ok {
			return "somewhere"
		}
		if path.Base(path.Dir(file)) != "botapi" || strings.HasSuffix(file, "_test.go") {
			return fmt.Sprintf("%s:%d", path.Base(file), line)
		}
	}
}

var errNoNetwork = errors.New("botapi: the server is closed")
