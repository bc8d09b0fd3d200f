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
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"bareclaw/internal/peercred"
	"bareclaw/internal/procmark"
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
	Log            *slog.Logger
}

// An observer is what Run is about.
type observer struct {
	Options

	record   discovery.Record
	store    *capture.Store
	findings *findings.Store
	history  *findings.History
	proxy    *proxy.Proxy
	app      *app.App // nil: somebody else starts the app
	target   *target
	proxyAt  net.Listener
	apiAt    net.Listener
}

// ExitError is how an app ended that an observer has started.
type ExitError struct{ Status int }

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("the app has ended with status %d", e.Status) }

// gcPercent has the heap grow by 40 % between two collections, so that an observer with full stores stays small.
const gcPercent = 40

// Run observes an app until ctx ends, or the app: then the error is an *ExitError. Ready is called when
// the proxy takes requests, and found when it is known where the app answers, each time it starts.
func Run(ctx context.Context, o Options, events Events) error {
	debug.SetGCPercent(gcPercent)
	v, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer v.close()
	return v.run(ctx, events)
}

// Events tell whoever runs an observer how far it is. Both functions must not block.
type Events struct {
	Ready func(record discovery.Record) // the proxy takes requests
	Found func(u *url.URL, run int)     // the app answers there, for the so many-th time
}

// open opens the files, and listens.
func open(ctx context.Context, o Options) (*observer, error) {
	v := &observer{Options: o}
	port, err := v.replace(ctx)
	if err != nil {
		return nil, err
	}
	if v.record, err = discovery.Own(IDOf(o.Dir)); err != nil {
		return nil, fmt.Errorf("describe the observer: %w", err)
	}
	data := filepath.Join(o.Dir, discovery.DataDir)
	if v.findings, err = findings.OpenStore(data, o.Log); err != nil {
		return nil, err
	}
	if v.history, err = findings.OpenHistory(data, o.Log); err != nil {
		return nil, err
	}
	v.store = capture.NewStore(capture.Options{Log: o.Log, ReadsOutput: len(o.Command) > 0})
	v.proxy = proxy.New(proxy.Options{Store: v.store, Log: o.Log, Refuse: v.refuseAddress})
	if v.proxyAt, err = listen(o.Port, port); err != nil {
		return nil, err
	}
	if v.apiAt, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the observer's API: %w", err), v.proxyAt.Close())
	}
	return v, nil
}

// listen listens on a port of the proxy: the one that is wanted, else the one it had before, else a free one.
func listen(wanted, before int) (net.Listener, error) {
	at := func(port int) (net.Listener, error) {
		return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if wanted != 0 {
		l, err := at(wanted)
		if err != nil {
			return nil, fmt.Errorf("port %d is taken: choose another one with --port, or none: %w", wanted, err)
		}
		return l, nil
	}
	if before != 0 {
		if l, err := at(before); err == nil {
			return l, nil
		}
	}
	l, err := at(0)
	if err != nil {
		return nil, fmt.Errorf("listen for the app's requests: %w", err)
	}
	return l, nil
}

// close closes the listeners, which a server may have done already.
func (v *observer) close() {
	_ = v.proxyAt.Close()
	_ = v.apiAt.Close()
}

// run starts the app, and serves until ctx or the app ends.
func (v *observer) run(ctx context.Context, events Events) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := v.start(); err != nil {
		return err
	}
	if err := v.publish(); err != nil {
		return errors.Join(err, v.stopApp(ctx))
	}
	defer v.withdraw()
	events.Ready(v.record)

	v.target = v.newTarget(events.Found)
	var running sync.WaitGroup
	for _, loop := range v.loops() {
		running.Go(func() { loop(ctx) })
	}
	proxyServer := &http.Server{
		Handler:           v.proxy,
		ReadHeaderTimeout: readHeaderTimeout,
		ErrorLog:          slog.NewLogLogger(v.Log.Handler(), slog.LevelDebug),
	}
	apiServer := v.newAPI()
	failed := make(chan error, 2)
	go func() { failed <- proxyServer.Serve(v.proxyAt) }() // ends by Close
	go func() { failed <- apiServer.Serve(v.apiAt) }()     // ends by Shutdown
	err := v.await(ctx, failed)

	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer stop()
	_ = proxyServer.Close()
	err = errors.Join(err, v.stopApp(stopping))
	_ = apiServer.Shutdown(stopping) // the app tells its last steps until here
	cancel()
	running.Wait()
	return err
}

const (
	// readHeaderTimeout bounds how long a client of the proxy may take for the header of a request.
	readHeaderTimeout = 30 * time.Second
	// endTime bounds how long the end of an observer may take.
	endTime = 10 * time.Second
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
		return &ExitError{max(exit.ExitCode(), 1)} // -1: by a signal
	}
	return err
}

// appEnded returns a channel that is closed when the app has ended; nil: somebody else starts it.
func (v *observer) appEnded() <-chan struct{} {
	if v.app == nil {
		return nil
	}
	return v.app.Ended()
}

// start starts the app, if that is the observer's.
func (v *observer) start() error {
	if len(v.Command) == 0 {
		return nil
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	environment := app.Environment{
		Port:       port,
		API:        portAt(v.apiAt),
		Dir:        v.Dir,
		Instrument: v.Instrument,
	}
	v.app, err = app.Start(app.Options{
		Command:    v.Command,
		Dir:        v.Dir,
		Environ:    environment.Environ(v.Environ),
		Mark:       v.mark().String(),
		Foreground: v.Foreground,
		Stdin:      v.Stdin,
		Stdout:     v.Stdout,
		Stderr:     v.Stderr,
		Said:       v.said,
	})
	return err
}

// mark returns what the app and all that it starts have in their environment.
func (v *observer) mark() procmark.Mark {
	return procmark.Of(string(v.Records), v.record.PID, v.record.Start)
}

// said takes a line that the app has printed.
func (v *observer) said(stream, line string) {
	now := time.Now()
	v.store.Signal(capture.Signal{
		At:  now,
		Log: &capture.Log{At: now, Text: line, From: stream},
	})
}

func (v *observer) stopApp(ctx context.Context) error {
	if v.app != nil {
		v.app.Stop(ctx)
	}
	return nil
}

// newTarget returns the target, which tells the proxy and the store where the app answers.
func (v *observer) newTarget(found func(*url.URL, int)) *target {
	t := &target{
		refuse: func(port int) error {
			if why := v.Refused(port); why != "" {
				return errors.New(why)
			}
			return nil
		},
		appeared: func(u *url.URL) {
			if err := v.proxy.SetTarget(u); err != nil {
				v.Log.Error("the app cannot be observed", "err", err)
				return
			}
			found(u, v.store.AppStarted())
		},
	}
	if v.app == nil {
		t.find = foreignApp{v.Target}
		return t
	}
	t.find = ownApp{v.app}
	return t
}

// loops return what runs beside the servers, until the context ends.
func (v *observer) loops() []func(context.Context) {
	analyst := analysis.New(analysis.Options{
		Source:   v.store,
		Findings: v.findings,
		History:  v.history,
		Rules:    rules.All(),
		Log:      v.Log,
	})
	loops := []func(context.Context){
		v.target.follow,
		v.store.Run,
		v.findings.Run,
		v.history.Run,
		func(ctx context.Context) { _ = analyst.Run(ctx) }, // an error means that ctx has ended
	}
	if v.Channel != "" && v.Notify != Off {
		notifier := &Notifier{
			Pushes:  v.findings,
			Gateway: v.Gateway,
			Channel: v.Channel,
			App:     filepath.Base(v.Dir),
			Address: v.record.Proxy,
			Log:     v.Log,
		}
		loops = append(loops, notifier.Run)
	}
	return loops
}

// newAPI returns the server of the API, which also takes the app's telemetry.
func (v *observer) newAPI() *api.Server {
	return api.NewServer(api.Options{
		Captured:  captured{v.store},
		Findings:  v.findings,
		Ingest:    ingest.NewReceiver(v.store),
		Telemetry: otlp.NewReceiver(v.store),
		Peer:      peercred.MayBeSameUser,
		Log:       v.Log,
	})
}

// refuseAddress says why requests must not go to an address.
func (v *observer) refuseAddress(address string) string {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	port, _ := strconv.Atoi(text) // 0, which nobody has, after an error
	return v.Refused(port)
}

func portAt(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port for the app: %w", err)
	}
	defer func() { _ = l.Close() }()
	return portAt(l), nil
}

// command returns the command in a line, for people.
func (v *observer) command() string { return capture.MaskText(strings.Join(v.Command, " ")) }
