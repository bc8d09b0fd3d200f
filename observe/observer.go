// Package observe is an observer of a web app: a process of its own that passes requests on to the app, has rules look at
// what passes and at what the app tells of itself, keeps what they find, and tells people.
package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"bareclaw/internal/peercred"
	"bareclaw/internal/wait"
	"bareclaw/observe/analysis"
	"bareclaw/observe/api"
	"bareclaw/observe/app"
	"bareclaw/observe/capture"
	"bareclaw/observe/capture/ingest"
	"bareclaw/observe/capture/otlp"
	"bareclaw/observe/capture/proxy"
	"bareclaw/observe/discovery"
	"bareclaw/observe/findings"
	"bareclaw/observe/rules"
)

// Notify says what becomes of what is found.
type Notify string

// What becomes of it.
const (
	Tell Notify = "tell" // people on the channel are told
	Fix  Notify = "fix"  // and the channel's agent is asked to fix it, which costs money
	Off  Notify = "off"  // it is kept
)

// Options describe what to observe. Dir is absolute, and one of Command and Target is set.
type Options struct {
	Dir        string   // of the app
	Command    []string // starts the app
	Target     *url.URL // where an app answers that somebody else starts
	Port       int      // of the proxy; 0: that of the observer before, or a free one
	Instrument bool     // load instrumentation into the app that is installed beside it

	Channel string // that is told; empty: none
	Notify  Notify
	Gateway Gateway

	Records discovery.Records
	Refused func(port int) string // why a port must not be observed; empty: it may be

	Environ        []string // of which the app gets what is not the gateway's
	Foreground     bool     // the app shares the terminal
	Stdin          *os.File
	Stdout, Stderr io.Writer // of the app; what the observer itself says goes to Stderr
	// Output takes what the app prints, line by line with its secrets masked; nil: Stdout and Stderr take it as it is.
	Output io.Writer
	Log    *slog.Logger
}

// An observer is what Run is about.
type observer struct {
	Options

	record   discovery.Record
	store    *capture.Store
	findings *findings.Store
	history  *findings.History
	proxy    *proxy.Proxy
	notifier *Notifier // nil: nobody is told
	app      *app.App  // nil: somebody else starts the app
	api      *api.Server
	wanted   int // the port that the app is told to listen on; 0: none
	target   *target
	lock     *os.File
	proxyAt  net.Listener
	apiAt    net.Listener

	told  wait.Signal // the notifier may have something to tell
	toFix wait.Signal // the fixer may have something to ask for
}

// ErrInterrupted is the cause of a context that ends because the terminal has told all its processes to end, the app too.
var ErrInterrupted = errors.New("the terminal has ended the observer")

// ExitError is how an app ended that an observer has started.
type ExitError struct {
	Status int    // for a signal 128 and its number, as shells have it
	Signal string // that ended the app; empty: none
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "the app was ended by the signal: " + e.Signal
	}
	return fmt.Sprintf("the app has ended with status %d", e.Status)
}

// Run observes an app until ctx ends, or the app: then the error is an *ExitError. What was found until then is told, which may
// take some seconds.
func Run(ctx context.Context, o Options, events Events) error {
	v, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer v.close()
	return v.run(ctx, events)
}

// Events tell whoever runs an observer how far it is. The functions are required, and must not block.
type Events struct {
	Ready func(record discovery.Record) // the proxy takes requests
	Found func(u *url.URL, run int)     // the app answers there, for the so many-th time
	Ended func(exit *ExitError)         // the app has ended
	Told  func()                        // people were told what was found last
}

// open returns the observer of a directory that has none any more.
func open(ctx context.Context, o Options) (*observer, error) {
	v := &observer{
		Options: o,
		told:    wait.NewSignal(),
		toFix:   wait.NewSignal(),
	}
	if err := v.checkTarget(); err != nil {
		return nil, err
	}
	if err := v.claim(ctx); err != nil {
		return nil, err
	}
	if err := v.open(); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// open opens the files, and listens.
func (v *observer) open() (err error) {
	if v.record, err = discovery.Own(IDOf(v.Dir)); err != nil {
		return fmt.Errorf("describe the observer: %w", err)
	}
	data := filepath.Join(v.Dir, discovery.DataDir)
	stores, err := v.Records.StoreFile(IDOf(v.Dir), v.Log)
	if err != nil {
		return err
	}
	if v.findings, err = findings.OpenStore(data, stores, v.Log); err != nil {
		return err
	}
	if v.history, err = findings.OpenHistory(data, v.findings, v.Log); err != nil {
		return err
	}
	v.store = capture.NewStore(capture.Options{
		Log:         v.Log,
		ReadsOutput: len(v.Command) > 0,
	})
	v.proxy = proxy.New(proxy.Options{
		Store:  v.store,
		Log:    v.Log,
		Refuse: v.refuseAddress,
	})
	if v.proxyAt, err = v.listen(v.Records.ProxyPort(v.record.ID)); err != nil {
		return err
	}
	if v.apiAt, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("listen for the observer's API: %w", err)
	}
	v.api = v.newAPI()
	return v.checkTarget() // now its own addresses are known
}

// listen listens on a port of the proxy: the one that is wanted, else the one it had before, else a free one.
func (v *observer) listen(before int) (net.Listener, error) {
	at := func(port int) (net.Listener, error) {
		return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if v.Port != 0 {
		l, err := at(v.Port)
		if err != nil {
			return nil, fmt.Errorf("port %d cannot be used: choose another one with --port, or none: %w", v.Port, err)
		}
		return l, nil
	}
	if before != 0 {
		l, err := at(before)
		if err == nil {
			return l, nil
		}
		v.Log.Warn("the app gets another address: the port that it had is taken", "port", before, "err", err)
	}
	l, err := at(0)
	if err != nil {
		return nil, fmt.Errorf("listen for the app's requests: %w", err)
	}
	return l, nil
}

// close closes what is open still. A server may have closed a listener already.
func (v *observer) close() {
	if v.proxyAt != nil {
		_ = v.proxyAt.Close()
	}
	if v.apiAt != nil {
		_ = v.apiAt.Close()
	}
	_ = v.lock.Close() // the next observer of the directory may begin
}

// run starts the app, and serves until ctx or the app ends. Who takes what another one makes ends after that.
func (v *observer) run(ctx context.Context, events Events) error {
	if err := v.start(); err != nil {
		return err
	}
	if err := v.publish(); err != nil {
		v.stopApp(ctx)
		return err
	}
	defer v.withdraw()
	v.target = v.newTarget(events.Found)
	events.Ready(v.record)

	keeping := startLoops(ctx, v.findings.Run, v.history.Run, v.spread)
	looking := startLoops(ctx, v.look)
	capturing := startLoops(ctx, v.store.Run)
	telling := startLoops(ctx, append(v.tellers(), v.target.follow)...)
	proxyServer := &http.Server{
		Handler:           v.proxy,
		ReadHeaderTimeout: readHeaderTimeout,
		ErrorLog:          slog.NewLogLogger(v.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 2)
	go func() { failed <- proxyServer.Serve(v.proxyAt) }() // ends by Close
	go func() { failed <- v.api.Serve(v.apiAt) }()         // ends by Shutdown
	err := v.await(ctx, failed)

	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer stop()
	if exit, ok := errors.AsType[*ExitError](err); ok {
		events.Ended(exit)
		passing, enough := context.WithTimeout(stopping, passTime)
		defer enough()
		_ = proxyServer.Shutdown(passing) // the last responses pass
	}
	_ = proxyServer.Close()
	if errors.Is(context.Cause(ctx), ErrInterrupted) && v.Foreground {
		v.finishApp(stopping)
	} else {
		v.stopApp(stopping)
	}
	_ = v.api.Shutdown(stopping) // the app tells its last steps until here

	telling.stop()
	capturing.stop()
	v.store.Finish()
	rest, enough := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer enough()
	looking.finish(rest)
	v.tellRest(ctx, events)
	keeping.stop() // saves
	return err
}

// tellRest tells what is to be told still.
func (v *observer) tellRest(ctx context.Context, events Events) {
	if v.notifier == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer cancel()
	told, err := v.notifier.Finish(ctx)
	switch {
	case err != nil:
		v.Log.Warn("what was found last cannot be told now, and is told when the app is observed again", "err", err)
	case told:
		events.Told()
	}
}

const (
	// readHeaderTimeout bounds how long a client of the proxy may take for the header of a request.
	readHeaderTimeout = 30 * time.Second
	// endTime bounds how long the app may take to end.
	endTime = 8 * time.Second
	// passTime bounds how long responses may pass of an app that has ended.
	passTime = time.Second
	// lookTime bounds how long is looked at what is left when the app has ended.
	lookTime = time.Second
	// tellTime bounds how long people are told then. All of this takes less than replaceTime.
	tellTime = 5 * time.Second
)

// await blocks until ctx, the app or a server ends.
func (v *observer) await(ctx context.Context, failed <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return fmt.Errorf("serve requests: %w", err)
	case <-v.appEnded():
	}
	err := v.app.Err()
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return &ExitError{}
	case errors.As(err, &exit):
		return exitOf(exit)
	}
	return err
}

// exitOf describes how an app ended that has failed.
func exitOf(exit *exec.ExitError) *ExitError {
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return &ExitError{Status: exit.ExitCode()}
	}
	const bySignal = 128
	return &ExitError{
		Status: bySignal + int(status.Signal()),
		Signal: status.Signal().String(),
	}
}

// appEnded returns a channel that is closed when the app has ended; nil: somebody else starts it.
func (v *observer) appEnded() <-chan struct{} {
	if v.app == nil {
		return nil
	}
	return v.app.Ended()
}

// look has the rules look at requests, until ctx ends or none is left.
func (v *observer) look(ctx context.Context) {
	analyst := analysis.New(analysis.Options{
		Source:   shownSource{v.store, v.api},
		Findings: v.findings,
		History:  v.history,
		Rules:    rules.All(),
		Log:      v.Log,
	})
	_ = analyst.Run(ctx) // the error says which
}

// tellers return loops that tell people and the agent of findings.
func (v *observer) tellers() []func(context.Context) {
	if v.Channel == "" || v.Notify == Off {
		return nil
	}
	v.notifier = &Notifier{
		Pushes:  v.findings,
		Changed: v.told,
		Gateway: v.Gateway,
		Channel: v.Channel,
		App:     filepath.Base(v.Dir),
		Log:     v.Log,
	}
	if v.Notify != Fix {
		return []func(context.Context){v.notifier.Run}
	}
	fixer := &Fixer{
		Rounds:  v.findings,
		Changed: v.toFix,
		Gateway: v.Gateway,
		Channel: v.Channel,
		App:     IDOf(v.Dir),
		Log:     v.Log,
	}
	return []func(context.Context){v.notifier.Run, fixer.Run}
}

// spread tells all who want to know that findings have changed, until ctx ends.
func (v *observer) spread(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.findings.Changed():
			v.api.FindingsChanged()
			v.told.Send()
			v.toFix.Send()
		}
	}
}

// A shownSource has requests to look at, and shows each to clients of the API once it is known whole.
type shownSource struct {
	*capture.Store

	api *api.Server
}

// Next is [capture.Store.Next].
func (s shownSource) Next(ctx context.Context) (capture.Look, error) {
	look, err := s.Store.Next(ctx)
	if err == nil && look.Settled {
		s.api.RequestCaptured(look.Request)
	}
	return look, err
}

// newAPI returns the server of the API, which also takes the app's telemetry.
func (v *observer) newAPI() *api.Server {
	return api.NewServer(api.Options{
		Captured:  captured{v.store},
		Findings:  v.findings,
		Earlier:   v.history.AllEarlier,
		Replay:    newReplayer(v.store, v.address()),
		Ingest:    ingest.NewReceiver(v.store),
		Telemetry: otlp.NewReceiver(v.store),
		Peer:      peercred.MayBeSameUser,
		Log:       v.Log,
	})
}

func portAt(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }
