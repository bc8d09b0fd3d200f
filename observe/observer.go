// Package observe is an observer of a web app: a process of its own that passes requests on to the app, has rules look at
// what passes and at what the app tells of itself, keeps what they find, and tells people.
package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"bareclaw/internal/mdtext"
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
	analyst  *analysis.Analyst
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
	v.notifier = v.newNotifier()
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
	v.analyst = v.newAnalyst()
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

// newAPI returns the server of the API, which also takes the app's telemetry.
func (v *observer) newAPI() *api.Server {
	return api.NewServer(api.Options{
		Captured:  v.store,
		Findings:  v.findings,
		Earlier:   v.history.AllEarlier,
		Replay:    newReplayer(v.store, v.address()),
		Ingest:    ingest.NewReceiver(v.store),
		Telemetry: otlp.NewReceiver(v.store),
		Problems:  v.problems,
		Peer:      peercred.MayBeSameUser,
		Log:       v.Log,
	})
}

func portAt(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// problems returns what is wrong with the observer itself, in sentences.
func (v *observer) problems() []string {
	var problems []string
	if err := v.findings.Problem(); err != nil {
		problems = append(problems, mdtext.Ended("What was found cannot be saved, and is lost when the observer ends: "+err.Error()))
	}
	panics := v.analyst.Panics()
	for _, rule := range slices.Sorted(maps.Keys(panics)) {
		problems = append(problems, fmt.Sprintf("The rule %s has panicked %s, and may miss problems: the log of the observer says where.",
			rule, mdtext.Count(panics[rule], "time", "times")))
	}
	return problems
}
