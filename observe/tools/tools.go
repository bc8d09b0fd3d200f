// Package tools defines the tools by which a session looks into the web apps that are observed, and proves its
// fixes. They reach observers, and apps that contain brakit, by the API of package api.
package tools

import (
	"context"
	"encoding/json"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/observe/discovery"
)

// SourceName is the name of the source of the tools.
const SourceName = "observe"

// Observers are those of this machine. All methods are safe for concurrent use.
type Observers interface {
	// Records returns the records of all observers, running or not.
	Records() ([]discovery.Record, error)
	// Start starts an observer, and returns when its addresses are known.
	Start(ctx context.Context, s Start) (discovery.Record, error)
	// Stop ends an observer, and returns when it has ended.
	Stop(ctx context.Context, id string) error
}

// A Start says what a new observer is for.
type Start struct {
	Dir     string // of the app
	Target  string // the app's URL, on loopback
	Port    int    // on which the observer is to listen; 0: any
	Channel core.ChannelKey
}

// Options are what the tools use. All are required.
type Options struct {
	Observers Observers
	// Dir returns the directory of a channel's agent; for "", that of a channel without one of its own.
	Dir func(channel core.ChannelKey) string
}

// Source returns the source of the tools.
func Source(o Options) tools.Source { return tools.Fixed(SourceName, Tools(o)...) }

// Tools returns the tools.
func Tools(o Options) []tools.Tool {
	return toolsOf(newFinder(o, time.Now()))
}

// toolsOf returns the tools that find apps by a finder.
func toolsOf(f *finder) []tools.Tool {
	return []tools.Tool{
		getFindings(f),
		getEndpoints(f),
		getRequestDetail(f),
		verifyFix(f),
		getReport(f),
		clearFindings(f),
		reportFix(f),
		observeStart(f),
		observeStop(f),
		observeStatus(f),
	}
}

// object returns the schema of an object with these properties and no others.
func object(properties string, required ...string) json.RawMessage {
	b, err := json.Marshal(struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required,omitempty"`
		Additional bool            `json:"additionalProperties"`
	}{"object", json.RawMessage("{" + properties + "}"), required, false})
	if err != nil {
		panic("observe: a schema is not JSON: " + err.Error())
	}
	return b
}

// appProperty is the argument that all tools take which are about an app.
const appProperty = `"app":{"type":"string","minLength":1,"description":"Which app, if several run: an id of observe_status, or the directory of the app. By default the one that runs in your directory or near it."}`

// appArgs are the arguments that name the app.
type appArgs struct {
	App string `json:"app"`
}

// named returns the app that the arguments name.
func (a appArgs) named() string { return a.App }

// An about is the arguments of a call about an app.
type about interface{ named() string }

// A view is what a tool has found: its JSON is for programs.
type view interface {
	// text returns the same for the agent of a session.
	text(b *page)
}

// speaking returns a handler whose errors are as tools return them: see speak.
func speaking[A any](do func(ctx context.Context, c tools.Call, args A) (tools.Result, error)) tools.Handler {
	return tools.WithArgs(func(ctx context.Context, c tools.Call, args A) (tools.Result, error) {
		r, err := do(ctx, c, args)
		return r, speak(err)
	})
}

// handler returns the handler of a tool that is about an app.
func handler[A about](f *finder, do func(ctx context.Context, a *app, args A) (view, error)) tools.Handler {
	return speaking(func(ctx context.Context, c tools.Call, args A) (tools.Result, error) {
		a, err := f.find(ctx, c.Caller, args.named())
		if err != nil {
			return tools.Result{}, err
		}
		v, err := do(ctx, a, args)
		if err != nil {
			return tools.Result{}, err
		}
		return result(v, a)
	})
}

// result returns a result with what a tool has found, and with what is wrong with the search for the app.
func result(v view, a *app) (tools.Result, error) {
	r, err := tools.Object(v)
	if err != nil {
		return tools.Result{}, err
	}
	p := &page{}
	v.text(p)
	if a != nil {
		for _, note := range a.notes {
			p.line("Note: %s", data(note, maxWords))
		}
	}
	r.Text = p.String()
	return r, nil
}

// reach returns the reach of a tool that is about an app: the channel of its observer.
func reach[A about](f *finder) tools.Reach {
	return tools.ReachOf(func(_ context.Context, c tools.Call, args A) (core.ChannelKey, error) {
		return f.channelOf(c.Caller, args.named()), nil
	})
}
