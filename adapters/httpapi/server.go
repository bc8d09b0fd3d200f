// Package httpapi serves the gateway over HTTP: on a TCP address for whoever
// holds the token or is the same user, and on a Unix socket for this user's own
// programs.
//
// An accepted message is durable before it is acknowledged, and its outcome is
// always a 200: is_error tells whether the agent answered. A 4xx or 5xx means
// that nothing was accepted. A client that leaves loses nothing: its message
// goes on, and GET /messages/{id} has the outcome.
//
// Every error is {"error": what to do, "code": a stable word}. The reference is
// docs/openapi.yaml, and tests hold the two together.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/core"
	"bareclaw/core/schedule"
)

const (
	defaultBodyLimit  = 32 << 20 // bytes
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Options are what a Server works with. Core, Log and Health are required.
type Options struct {
	Core *core.ProcessManager
	Push *core.PushRegistry // nil: POST /send knows no adapter
	Log  *slog.Logger
	// Schedules keeps what is to be sent at its time. Nil: there are no such routes.
	Schedules *schedule.Scheduler

	// Health is asked by GET /health, and once by New for the version. It must be
	// quick.
	Health func() Health
	// Restart has another process take over, and returns when that one is ready
	// to, before it does. The error is shown to whoever asked; after one the
	// gateway goes on as it is. Nil: restarts are refused.
	Restart func(ctx context.Context) error
	// Upgrade is Restart with another program, which is on trial then. ErrUpgrading
	// refuses it for now. Nil: upgrades are refused.
	Upgrade func(ctx context.Context, o UpgradeOrder) error
	// LastUpgrade tells of the last one; ok is false if there was none. Nil: none.
	LastUpgrade func() (u Upgrade, ok bool, err error)
	// Peer reports whether the other end of a connection belongs to this user,
	// and whether that could be found out. It is asked at most once for each
	// connection, and over TCP only where there is no token. A stranger is
	// refused; where nothing is known the connection is let in. Nil: not asked.
	Peer func(net.Conn) (ok, known bool)

	Token        string   // empty: none is asked for
	Host         string   // the configured address, accepted as a Host
	AllowedHosts []string // further names accepted as a Host, with any port
	BodyLimit    int64    // bytes; 0 means 32 MiB

	// Registry takes the metrics and is what GET /metrics shows. It must not hold
	// those of another Server. Nil: one of its own.
	Registry *prometheus.Registry
}

// Health is what GET /health says of the daemon.
type Health struct {
	PID        int
	Version    string
	Agent      Agent
	Generation uint64
	Ready      bool
	StartedAt  time.Time
	Problems   []string // each a sentence; empty when all is well
	// LedgerProblem is why nothing can be written, which Problems have too.
	LedgerProblem string
	Spares        Spares
	Telegram      *Telegram // nil where there is none
}

// Spares says how many sessions wait for a new channel.
type Spares struct {
	Ready  int `json:"ready"`
	Wanted int `json:"wanted"`
}

// Agent says which agent answers, and what is wrong with it.
type Agent struct {
	Kind    string // "claude" or "echo"
	Path    string
	Problem string // a sentence; empty when there is none
}

// A Server is the HTTP adapter. All methods are safe for concurrent use.
type Server struct {
	o       Options
	core    gateway
	guard   guard
	drain   drain
	metrics *metrics

	succession succession
	deliveries deliveries
	mu         sync.Mutex     // protects the field below
	listeners  []net.Listener // served until HandOver

	bodies    sync.Pool     // of *body
	responses sync.Pool     // of *response
	buffers   sync.Pool     // of *[]byte, for replies
	contents  chan struct{} // has one entry for each content that is being read

	tcp, local, inner *http.Server
}

// New returns a Server that listens nowhere yet.
func New(o Options) *Server { return newServer(o, managed{o.Core}) }

func newServer(o Options, g gateway) *Server {
	o.BodyLimit = cmp.Or(o.BodyLimit, defaultBodyLimit)
	if o.Push == nil {
		o.Push = &core.PushRegistry{}
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	s := &Server{o: o, core: g, guard: newGuard(o), drain: drain{done: make(chan struct{})},
		succession: succession{begun: make(chan struct{}), settled: make(chan struct{})}, contents: make(chan struct{}, maxContentReads)}
	s.metrics = newMetrics(o, g)
	s.bodies.New = func() any { return new(body) }
	s.responses.New = func() any { return new(response) }
	s.buffers.New = func() any { return new([]byte) }
	s.tcp = s.httpServer(s.Handler())
	s.local = s.httpServer(s.LocalHandler())
	s.inner = s.httpServer(s.handler(innerDoor))
	return s
}

// httpServer has no WriteTimeout: waits and streams last as long as a turn.
func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       ConnContext,
		ConnState:         noteConnState,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
	}
}

// Handler returns the API as it is served over TCP, behind all checks. A server
// of one's own around it must set [ConnContext], or peers count as strangers.
func (s *Server) Handler() http.Handler { return s.handler(tcpDoor) }

// LocalHandler returns the API as it is served on the Unix socket: no token, no
// rules on Host and Origin, and no deciding of approvals.
func (s *Server) LocalHandler() http.Handler { return s.handler(localDoor) }

// Serve serves the API on a TCP listener until Shutdown or HandOver, and then
// returns nil. The listener is closed.
func (s *Server) Serve(l net.Listener) error { return s.serve(s.tcp, l) }

// ServeLocal is Serve for the Unix listener of this user's own programs.
func (s *Server) ServeLocal(l net.Listener) error { return s.serve(s.local, l) }

// ServeInner is Serve for the Unix listener of a process whose work was handed
// over to this one. That process has checked its callers: only the peer is asked
// for.
func (s *Server) ServeInner(l net.Listener) error {
	if err := s.inner.Serve(s.clients(l)); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve http on %s: %w", l.Addr(), err)
	}
	return nil
}

// clients returns the listener with connections that end well.
func (s *Server) clients(l net.Listener) net.Listener {
	return clientListener{Listener: l, draining: s.drain.done}
}

func (s *Server) serve(h *http.Server, l net.Listener) error {
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	err := h.Serve(s.clients(l))
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && isClosed(s.succession.begun) {
		return nil
	}
	return fmt.Errorf("serve http on %s: %w", l.Addr(), err)
}

// A Reason says why the server drains. It is the name of the last event on
// every stream.
type Reason string

// The reasons to drain.
const (
	Restarting   Reason = "restarting"
	ShuttingDown Reason = "shutdown"
)

type drain struct {
	once   sync.Once
	done   chan struct{} // closed when draining
	reason Reason        // written before done is closed
}

// Drain accepts no more messages and answers what is held: waits for an outcome
// with 202 and where to find it, streams with a last event that names the
// reason. Only the first call counts. It does not block.
func (s *Server) Drain(reason Reason) {
	s.drain.once.Do(func() {
		s.drain.reason = reason
		close(s.drain.done)
		s.tcp.SetKeepAlivesEnabled(false)
		s.local.SetKeepAlivesEnabled(false)
		s.inner.SetKeepAlivesEnabled(false)
	})
}

// Draining reports whether Drain was called.
func (s *Server) Draining() bool { return isClosed(s.drain.done) }

// Shutdown drains, closes the listeners and returns when every request has been
// answered. When ctx ends first the connections that are left are cut, and the
// error says so.
func (s *Server) Shutdown(ctx context.Context, reason Reason) error {
	s.Drain(reason)
	servers := []*http.Server{s.tcp, s.local, s.inner}
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, h := range servers {
		wg.Go(func() {
			if err := h.Shutdown(ctx); err != nil {
				errs[i] = fmt.Errorf("shut down http: %w", errors.Join(err, h.Close()))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
