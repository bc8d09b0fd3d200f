package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bareclaw/internal/procmark"
	"bareclaw/observe/app"
	"bareclaw/observe/capture"
)

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
	environ := environment.Environ(v.Environ)
	v.wanted = app.PortOf(environ)
	v.warnOfClash()
	stdout := v.Stdout
	stderr := v.Stderr
	if v.Output != nil { // takes lines instead: see said
		stdout = io.Discard
		stderr = io.Discard
	}
	v.app, err = app.Start(app.Options{
		Command:    v.Command,
		Dir:        v.Dir,
		Environ:    environ,
		Mark:       v.mark().String(),
		Foreground: v.Foreground,
		Stdin:      v.Stdin,
		Stdout:     stdout,
		Stderr:     stderr,
		Said:       v.said,
	})
	return err
}

// warnOfClash says that another program has the port at which the app is to listen.
func (v *observer) warnOfClash() {
	others, _ := app.On(v.wanted) // without an answer the app will say so
	if len(others) > 0 {
		v.Log.Warn("the port that PORT names is taken by another program: end that, or unset PORT", "port", v.wanted)
	}
}

// mark returns what the app and all that it starts have in their environment.
func (v *observer) mark() procmark.Mark {
	return procmark.Of(string(v.Records), v.record.PID, v.record.Start)
}

// said takes a line that the app has printed.
func (v *observer) said(stream, line string) {
	if v.Output != nil {
		_, _ = io.WriteString(v.Output, capture.MaskText(line)+"\n") // the app goes on without
	}
	now := time.Now()
	v.store.Signal(capture.Signal{
		At: now,
		Log: &capture.Log{
			At:   now,
			Text: line,
			From: stream,
		},
	})
}

// endApp ends the app, if that is the observer's. The cause is that of the observer's end: its terminal may have told the app too.
func (v *observer) endApp(ctx context.Context, cause error) {
	switch {
	case v.app == nil:
	case v.Foreground && errors.Is(cause, ErrInterrupted):
		v.app.Finish(ctx)
	default:
		v.app.Stop(ctx)
	}
}

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

// newTarget returns the target, which tells the proxy, the store and the record where the app answers.
func (v *observer) newTarget(found func(*url.URL, int)) *target {
	t := &target{
		prefer: v.wanted,
		refuse: func(port int) error {
			if why := v.refused(port); why != "" {
				return errors.New(why)
			}
			return nil
		},
		missing: func(problem string) {
			v.Log.Warn("the app cannot be found yet, and is looked for", "why", problem)
		},
		appeared: func(u *url.URL) {
			if err := v.proxy.SetTarget(u); err != nil {
				v.Log.Error("the app cannot be observed", "err", err)
				return
			}
			run := v.store.AppStarted()
			v.answersAt(u)
			found(u, run)
		},
	}
	if v.app != nil {
		t.find = ownApp{v.app}
		return t
	}
	t.find = foreignApp{v.Target}
	t.prefer, _ = portOf(v.Target)  // 0 after an error
	_ = v.proxy.SetTarget(v.Target) // an error is the same when the app appears
	return t
}

// refused says why a port must not be observed; empty: it may be.
func (v *observer) refused(port int) string {
	isOwn := func(l net.Listener) bool { return l != nil && portAt(l) == port }
	isWanted := port != 0 && port == v.Port
	if isWanted || isOwn(v.proxyAt) || isOwn(v.apiAt) {
		return "this is the address of the observer itself: give another one with --port"
	}
	return v.Refused(port)
}

// checkTarget returns why the address is refused that is to be observed.
func (v *observer) checkTarget() error {
	if v.Target == nil {
		return nil
	}
	port, err := portOf(v.Target)
	if err != nil {
		return err
	}
	if why := v.refused(port); why != "" {
		return fmt.Errorf("%s cannot be observed: %s", v.Target, why)
	}
	return nil
}

// refuseAddress says why requests must not go to an address.
func (v *observer) refuseAddress(address string) string {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	port, _ := strconv.Atoi(text) // 0, which nobody has, after an error
	return v.refused(port)
}

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port for the app: %w", err)
	}
	defer func() { _ = l.Close() }()
	return portAt(l), nil
}

// command returns the command in a line, for people, with its secrets masked.
func (v *observer) command() string {
	shown := slices.Clone(v.Command)
	for i := 1; i < len(shown); i++ {
		name, isFlag := strings.CutPrefix(v.Command[i-1], "--")
		if isFlag && !strings.HasPrefix(shown[i], "--") {
			shown[i] = capture.MaskValue(name, shown[i])
		}
	}
	return capture.MaskText(strings.Join(shown, " "))
}
