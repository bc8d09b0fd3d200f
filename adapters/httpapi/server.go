// Package httpapi serves the gateway over HTTP: on a TCP address to clients with the
// token or of the same user, and on a Unix socket to the user's own programs.
//
// An accepted message is durable before the acknowledgement, and the status of an
// outcome is always 200: is_error reports whether the agent failed to answer. A 4xx or
// 5xx means that nothing was accepted. A client that disconnects loses nothing: the
// message continues, and GET /messages/{id} has the outcome.
//
// Package api has the shapes of requests and replies, docs/openapi.yaml is the
// reference.
package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/core/schedule"
)

const (
	defaultBodyLimit  = 32 << 20 // bytes
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Options configure a Server. Inert, Peer, Token, Host, AllowedHosts and BodyLimit are optional.
type Options struct {
	Core      Core
	Commands  *commands.Table
	Push      *core.PushRegistry
	Mounts    []Mount        // what other rooms serve
	Servers   MountedServers // of other people
	Observers Observers
	Log       *slog.Logger
	Schedules *schedule.Scheduler

	// Health returns the state of the daemon for GET /health and GET /metrics, without the
	// figures of core; Ledger holds only the problem. Health must be quick.
	Health func() api.Health
	// Settings are the settings in force, without secrets.
	Settings []api.Setting
	// RestartBuilds says that Restart builds the program from a source tree.
	RestartBuilds bool
	// Inert returns a text of others so that it means nothing to the agent's program; nil: the
	// text as it is.
	Inert func(text string) string
	// FileMentions says that the agent's program attaches the files that a typed text mentions.
	FileMentions bool
	// Restart starts another process, and returns when the new process is ready to take
	// over. The client receives the error; after an error the present process continues.
	Restart func(ctx context.Context) error
	// Upgrade is Restart with another program, on trial. ErrUpgrading refuses the
	// upgrade for now.
	Upgrade     func(ctx context.Context, o api.UpgradeRequest) error
	LastUpgrade func() (api.Upgrade, error)
	// Peer reports whether the other end of a connection may belong to the gateway's user:
	// others are refused. Peer is called at most once for each connection, and over TCP only
	// without a token. Nil: all peers are accepted.
	Peer func(net.Conn) bool

	Token        string   // empty: requests need no token
	Host         string   // the configured address, accepted as a Host
	AllowedHosts []string // further names accepted as a Host, with any port
	BodyLimit    int64    // bytes; 0 means 32 MiB

	// Metrics adds further metrics to GET /metrics.
	Metrics []prometheus.Collector
}

// A Server is the HTTP adapter. All methods are safe for concurrent use.
type Server struct {
	log       *slog.Logger
	mounts    []Mount
	bodyLimit int64
	bodies    bodyBudget
	guard     guard
	lifecycle *lifecycle
	handover  *handover
	requests  *prometheus.HistogramVec
	refusals  *refusals
	http      *http.Server
	mu        sync.Mutex     // protects listeners
	listeners []net.Listener // served until HandOver
}

// New returns a Server without listeners.
func New(o Options) *Server {
	o.BodyLimit = cmp.Or(o.BodyLimit, defaultBodyLimit)
	if o.Inert == nil {
		o.Inert = func(text string) string { return text }
	}
	l := newLifecycle()
	s := &Server{
		requests: metrics.NewHistogram("bareclaw_http_request_duration_seconds",
			"Duration of requests, waits and streams included, by route and status (gone: the client disconnected first).", "method", "route", "status"),
		bodies:    bodyBudget{limit: maxBodies},
		refusals:  &refusals{log: o.Log, counts: map[string]*refusalCount{}},
		log:       o.Log,
		mounts:    o.Mounts,
		bodyLimit: o.BodyLimit,
		guard:     newGuard(o),
		lifecycle: l,
		handover:  &handover{lifecycle: l, log: o.Log, settled: make(chan struct{})},
	}
	sh := &shared{
		Options:   o,
		lifecycle: l,
		requests:  s.requests,
		refusals:  s.refusals,
		contents:  make(chan struct{}, maxContentReads),
		scrapes:   make(chan struct{}, 1),
	}
	own := []prometheus.Collector{s.requests, metrics.Func(s.refusals.writeMetrics), metrics.Func(sh.writeMetrics)}
	sh.registry = metrics.NewRegistry(slices.Concat(own, o.Metrics)...)
	all := routes(sh)
	s.http = &http.Server{ // no WriteTimeout: waits and streams last as long as a turn
		Handler:           s.handler(s.router(all)),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       withListener,
		ConnContext:       s.guard.withPeer,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	return s
}

// shared is what several parts of the API use.
type shared struct {
	Options

	lifecycle *lifecycle
	requests  *prometheus.HistogramVec
	registry  *prometheus.Registry // of all metrics
	refusals  *refusals
	contents  chan struct{} // has an entry for each content being read
	scrapes   chan struct{} // has an entry while metrics are collected
}

// Serve serves the API on a TCP listener, behind all checks, until Shutdown or HandOver, and
// then returns nil. The listener is closed.
func (s *Server) Serve(l net.Listener) error { return s.serve(tcpListener, l) }

// ServeLocal is Serve for the Unix listener of the user's own programs: without checks of
// token and Host, and without requests of web pages and proxies, or that would give the agent
// permissions.
func (s *Server) ServeLocal(l net.Listener) error { return s.serve(localListener, l) }

// ServeTools is Serve for the TCP listener of the tool host: its paths are those below
// api.PathToolHost.
func (s *Server) ServeTools(l net.Listener) error { return s.serve(toolListener, l) }

// ServeInner serves the requests forwarded by a predecessor, on a Unix listener, also after
// HandOver. It checks only the peer, because the predecessor has checked the clients.
func (s *Server) ServeInner(l net.Listener) error { return s.serve(innerListener, l) }

func (s *Server) serve(from listener, l net.Listener) error {
	if from != innerListener {
		s.mu.Lock()
		s.listeners = append(s.listeners, l)
		s.mu.Unlock()
	}
	err := s.http.Serve(servedListener{l, from})
	closed := errors.Is(err, net.ErrClosed) && (from == innerListener || s.lifecycle.handingOver())
	if closed || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve http on %s: %w", l.Addr(), err)
}

// Drain accepts no more messages and answers held requests: waits for an outcome get 202
// and the message's path, streams end with an event that names the reason. Only the
// reason of the first call counts. Drain does not block.
func (s *Server) Drain(reason Reason) {
	s.lifecycle.drain(reason)
	s.http.SetKeepAlivesEnabled(false)
}

// HandOver begins to hand the work over to another process: nothing more is accepted
// here, streams end with the reason Restarting, and every request waits for Forward.
// HandOver does not block. Core may still answer held requests afterwards.
func (s *Server) HandOver() {
	s.lifecycle.drain(handingOver)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close() // other processes hold the socket
	}
}

// Forward names the Unix sockets on which the successor serves the requests from TCP and
// from the local socket. Empty names mean that no successor exists: held requests are
// answered as by Drain.
func (s *Server) Forward(inner, local string) { s.handover.settle(inner, local) }

// Shutdown drains, closes the listeners and returns when every request has been
// answered. When ctx ends first, Shutdown cuts the remaining connections and returns an
// error.
func (s *Server) Shutdown(ctx context.Context, reason Reason) error {
	defer s.refusals.close()
	s.Drain(reason)
	if err := s.http.Shutdown(ctx); err != nil {
		return fmt.Errorf("shut down http: %w", errors.Join(err, s.http.Close()))
	}
	return nil
}
