package observe

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"bareclaw/observe/analysis"
	"bareclaw/observe/api"
	"bareclaw/observe/capture"
	"bareclaw/observe/rules"
)

// run starts the app, and serves until ctx or the app ends. Who takes what another one makes ends after that.
func (v *observer) run(ctx context.Context, events Events) error {
	if err := v.start(); err != nil {
		return err
	}
	if err := v.publish(); err != nil {
		v.endApp(ctx, nil)
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
	v.endApp(stopping, context.Cause(ctx))
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

// newAnalyst returns the one that has the rules look at requests.
func (v *observer) newAnalyst() *analysis.Analyst {
	return analysis.New(analysis.Options{
		Source:   shownSource{v.store, v.api},
		Findings: v.findings,
		History:  v.history,
		Rules:    rules.All(),
		Log:      v.Log,
	})
}

// look has the rules look at requests, until ctx ends or none is left.
func (v *observer) look(ctx context.Context) {
	_ = v.analyst.Run(ctx) // the error says which
}

// newNotifier returns the one that tells people; nil: nobody is told.
func (v *observer) newNotifier() *Notifier {
	if v.Channel == "" || v.Notify == Off {
		return nil
	}
	return &Notifier{
		Pushes:  v.findings.Pushes(),
		Changed: v.told,
		Gateway: v.Gateway,
		Channel: v.Channel,
		App:     filepath.Base(v.Dir),
		Log:     v.Log,
	}
}

// tellers return loops that tell people and the agent of findings.
func (v *observer) tellers() []func(context.Context) {
	if v.notifier == nil {
		return nil
	}
	if v.Notify != Fix {
		return []func(context.Context){v.notifier.Run}
	}
	fixer := &Fixer{
		Rounds:  v.findings.Rounds(),
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
