package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"bareclaw/internal/plainjson"
	"bareclaw/observe/capture"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// Captured is what is known of the requests to the app. The methods are those of capture.Store.
type Captured interface {
	Requests(f capture.Filter) []*capture.Request
	Request(id string) (r *capture.Request, ok bool)
	Endpoints() []capture.EndpointFigures
	Clear()
}

// Findings are the problems of the app. The methods are those of findings.Store.
type Findings interface {
	All() []findings.Finding
	Finding(id string) (f findings.Finding, ok bool)
	Report(id string, status findings.FixStatus, note string) (findings.Finding, error)
	Clear() int
}

// A Replayer sends requests again.
type Replayer interface {
	// Replay sends the latest GET or HEAD request to an endpoint to the app again, as a request like any
	// other, and returns when the new one is captured. The error is ErrNoReplay if there is none.
	Replay(ctx context.Context, endpoint string) (Replayed, error)
}

// ErrNoReplay means that no request to an endpoint can be sent again.
var ErrNoReplay = errors.New("no GET or HEAD request to the endpoint has been seen since the observer started: send one through the proxy")

// Options are what a Server is made with. Earlier, Replay, Ingest, Telemetry and Problems are optional.
type Options struct {
	Captured Captured
	Findings Findings
	// Earlier returns the figures of endpoints in earlier runs of the app, the oldest run first.
	Earlier func() map[string][]rules.RunFigures
	Replay  Replayer
	// Ingest serves PathIngest.
	Ingest http.Handler
	// Telemetry serves PathTelemetry.
	Telemetry http.Handler
	// Problems returns what is wrong with the observer itself, in sentences.
	Problems func() []string
	// Peer reports whether the other end of a connection may belong to this user.
	Peer func(c net.Conn) bool
	Log  *slog.Logger
}

// A Server answers requests to the API of one observer.
type Server struct {
	Options

	events *broadcaster
	routes *http.ServeMux
	http   *http.Server
}

// NewServer returns a server that answers once Serve is called.
func NewServer(o Options) *Server {
	s := &Server{
		Options: o,
		events:  newBroadcaster(),
		routes:  http.NewServeMux(),
	}
	for path, h := range map[string]func(r *http.Request) (any, error){
		PathRequests:    s.listRequests,
		PathFlows:       s.listFlows,
		PathLogs:        s.entries(KindLog),
		PathFetches:     s.entries(KindFetch),
		PathErrors:      s.entries(KindError),
		PathQueries:     s.entries(KindQuery),
		PathMetrics:     s.metrics,
		PathMetricsLive: s.liveMetrics,
		PathActivity:    s.activity,
		PathInsights:    s.insights,
		PathSecurity:    s.security,
		PathFindings:    s.listFindings,
		PathStatus:      s.status,
	} {
		s.routes.Handle("GET "+path, s.answer(h))
	}
	s.routes.Handle("POST "+PathReport, s.answer(s.report))
	s.routes.Handle("POST "+PathClear, s.answer(s.clear))
	s.routes.HandleFunc("GET "+PathEvents, s.serveEvents)
	if o.Replay != nil {
		s.routes.Handle("POST "+PathReplay, s.answer(s.replay))
	}
	if o.Ingest != nil {
		s.routes.Handle("POST "+PathIngest, o.Ingest)
	}
	if o.Telemetry != nil {
		s.routes.Handle(PathTelemetry, o.Telemetry)
	}
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		ConnContext:       s.withPeer,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	s.http.RegisterOnShutdown(s.events.close)
	return s
}

const (
	// readTimeout bounds how long a client may take to send a request.
	readTimeout = 30 * time.Second
	// idleTimeout bounds how long a connection may be without a request.
	idleTimeout = 2 * time.Minute
)

// Serve answers requests from a listener on loopback until Shutdown, and then returns
// http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error { return s.http.Serve(l) }

// Shutdown ends the server as http.Server.Shutdown does. Streams of events end at once.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// peerKey is the key of a connection's verdict in the contexts of its requests.
type peerKey struct{}

// withPeer asks once for each connection whose it is.
func (s *Server) withPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, s.Peer(c))
}

// ServeHTTP implements http.Handler for requests of the server's own connections. It refuses those of other
// users and of web pages: the pages of the app must not read what is known of it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := admit(r); err != nil {
		writeError(w, err)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// admit returns why a request is refused before it is looked at.
func admit(r *http.Request) error {
	if mine, known := r.Context().Value(peerKey{}).(bool); !known || !mine {
		return refuse(http.StatusForbidden, "only processes of the observer's user may use its API")
	}
	if !IsLoopback(r.Host) {
		return refuse(http.StatusForbidden, "the Host header names no loopback address: use 127.0.0.1")
	}
	if r.Header["Origin"] != nil {
		return refuse(http.StatusForbidden, "requests from web pages are refused")
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		if site != "none" {
			return refuse(http.StatusForbidden, "requests from web pages are refused")
		}
	}
	return nil
}

// IsLoopback reports whether a host, with a port or without, names this machine by a loopback address or as
// localhost. Other names may resolve to a loopback address too: a web page can have its own do so.
func IsLoopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// A refusal is an error with the status of its answer.
type refusal struct {
	status int
	text   string
}

// Error returns what is wrong with the request.
func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// answer returns a handler that answers with a value as JSON.
func (s *Server) answer(h func(r *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := h(r)
		if err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, v)
	})
}

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if known, ok := errors.AsType[*refusal](err); ok {
		status = known.status
	}
	writeJSON(w, status, failure{Error: err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = plainjson.NewEncoder(w).Encode(v) // the client is gone otherwise
}

// maxBody bounds the body of a request but that of ingest, in bytes.
const maxBody = 64 << 10

// readBody decodes the body of a request.
func readBody(r *http.Request, v any) error {
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return refuse(http.StatusUnsupportedMediaType, "send the body as application/json")
	}
	err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody)).Decode(v)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", maxBody)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the body cannot be read: %v", err)
	}
	return nil
}

// status returns how the observer itself does.
func (s *Server) status(*http.Request) (any, error) {
	out := Status{Problems: []string{}}
	if s.Problems != nil {
		out.Problems = append(out.Problems, s.Problems()...)
	}
	return out, nil
}

// clear forgets all findings and all that was captured.
func (s *Server) clear(*http.Request) (any, error) {
	s.Captured.Clear()
	s.Findings.Clear()
	s.FindingsChanged()
	return done{Cleared: true}, nil
}

// maxNote bounds what is said of a fix, in bytes.
const maxNote = 2000

func (s *Server) report(r *http.Request) (any, error) {
	var report Report
	if err := readBody(r, &report); err != nil {
		return nil, err
	}
	switch report.Status {
	case findings.FixBegun, findings.Fixed, findings.WontFix:
	default:
		return nil, refuse(http.StatusBadRequest, "status must be %s, %s or %s", findings.FixBegun, findings.Fixed, findings.WontFix)
	}
	if report.FindingID == "" {
		return nil, refuse(http.StatusBadRequest, "findingId is missing")
	}
	if len(report.Notes) > maxNote {
		return nil, refuse(http.StatusBadRequest, "notes has more than %d bytes", maxNote)
	}
	if _, ok := s.Findings.Finding(report.FindingID); !ok {
		return nil, refuse(http.StatusNotFound, "there is no finding %.80q", report.FindingID)
	}
	if _, err := s.Findings.Report(report.FindingID, report.Status, report.Notes); err != nil {
		return nil, refuse(http.StatusConflict, "%v", err)
	}
	s.FindingsChanged()
	return done{OK: true}, nil
}

func (s *Server) replay(r *http.Request) (any, error) {
	var request ReplayRequest
	if err := readBody(r, &request); err != nil {
		return nil, err
	}
	replayed, err := s.Replay.Replay(r.Context(), request.Endpoint)
	switch {
	case errors.Is(err, ErrNoReplay):
		return nil, refuse(http.StatusNotFound, "%v", err)
	case err != nil:
		return nil, refuse(http.StatusBadGateway, "%v", cmp.Or(context.Cause(r.Context()), err))
	}
	return replayed, nil
}
