package tools

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/observe/api"
	"bareclaw/observe/discovery"
)

// An app is one that a call is about.
type app struct {
	discovery.App

	client *api.Client
	notes  []string // what is wrong with the files that lead to apps
	// evidence is how long what the app tells of requests may take.
	evidence time.Duration
}

// A finder finds the apps that calls are about.
type finder struct {
	Options

	began    time.Time
	evidence time.Duration // see app
}

func newFinder(o Options, now time.Time) *finder {
	return &finder{
		Options:  o,
		began:    now,
		evidence: evidenceTimeout,
	}
}

// clientOf returns a client of an app's API.
func clientOf(a discovery.App) *api.Client {
	return api.NewClient(a.BaseURL(), api.Timeouts{
		Fetch:  ClientFetchTimeout,
		Health: HealthCheckTimeout,
		Replay: replayTimeout,
	})
}

// live returns the records of observers that run. The others are returned with an error.
func (f *finder) live() ([]discovery.Record, error) {
	all, err := f.Observers.Records()
	return slices.DeleteFunc(slices.Clone(all), func(r discovery.Record) bool { return !r.Alive() }), err
}

func (f *finder) search(depth int) *discovery.Search {
	return &discovery.Search{
		Records:  f.live,
		Alive:    func(ctx context.Context, a discovery.App) error { return clientOf(a).Alive(ctx) },
		MaxDepth: depth,
	}
}

// patience returns how long a call waits for an app.
func (f *finder) patience() time.Duration {
	return max(LazyDiscoveryTimeout, InitialDiscoveryTimeout-time.Since(f.began))
}

// find returns the app that a call is about: the named one, else the one that is the nearest to the caller's
// directory, else the only one that runs for the caller's channel. find blocks for some seconds if none runs.
func (f *finder) find(ctx context.Context, c tools.Caller, name string) (*app, error) {
	if name != "" {
		return f.findNamed(ctx, name)
	}
	dir := f.Dir(c.Channel)
	near := f.search(MaxDiscoveryDepth)
	found := near.Find(ctx, dir)
	if len(found.Apps) == 0 {
		others := f.mine(c, near.Running(ctx).Apps)
		switch len(others) {
		case 0:
			found = near.Await(ctx, dir, f.patience(), DiscoveryPollInterval)
		case 1:
			return f.choose(others[0], found.Notes), nil
		default:
			return nil, sentencef("no app is observed in %s or near it, and several run elsewhere: name one with app: %s", data(dir, maxWords), names(others))
		}
	}
	switch len(found.Apps) {
	case 0:
		return nil, sentencef("no app is observed in %s or near it. %s%s", data(dir, maxWords), howToStart, notesOf(found.Notes))
	case 1:
		return f.choose(found.Apps[0], found.Notes), nil
	}
	return nil, sentencef("several apps are observed near %s: name one with app: %s%s", data(dir, maxWords), names(found.Apps), notesOf(found.Notes))
}

// howToStart says how an app is observed.
const howToStart = "Start it with `bareclaw observe --detach -- COMMAND` and use the address that it prints; for an app that runs already, call observe_start."

// mine returns the apps of observers that the caller sees without naming them.
func (f *finder) mine(c tools.Caller, apps []discovery.App) []discovery.App {
	return slices.DeleteFunc(apps, func(a discovery.App) bool {
		channel := f.channelOf(c, a.Observer)
		return !c.ByUser() && channel != c.Channel
	})
}

func (f *finder) choose(a discovery.App, notes []string) *app {
	return &app{
		App:      a,
		client:   clientOf(a),
		notes:    notes,
		evidence: f.evidence,
	}
}

// names lists apps by what the argument app takes.
func names(apps []discovery.App) string {
	var all []string
	for _, a := range apps {
		all = append(all, fmt.Sprintf("%s (%s)", id(cmp.Or(a.Observer, a.Dir)), data(cmp.Or(a.Target, a.Dir), maxWords)))
	}
	return strings.Join(all, ", ")
}

// notesOf returns notes as the end of an error.
func notesOf(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	var all []string
	for _, note := range notes {
		all = append(all, data(note, maxWords))
	}
	return " " + strings.Join(all, " ")
}

// isNamed reports whether a name stands for an observer: its id, its directory or the last part of that, or one of
// its addresses.
func isNamed(r *discovery.Record, name string) bool {
	if r.ID == name || filepath.Base(r.Dir) == name || filepath.Clean(name) == r.Dir {
		return true
	}
	return r.Proxy != "" && strings.TrimSuffix(name, "/") == r.Proxy || r.Target != "" && strings.TrimSuffix(name, "/") == r.Target
}

// recordsNamed returns the running observers that a name stands for. An id stands for its own alone.
func (f *finder) recordsNamed(name string) ([]discovery.Record, error) {
	all, err := f.live()
	var found []discovery.Record
	for i := range all {
		if all[i].ID == name {
			return all[i : i+1], nil
		}
		if isNamed(&all[i], name) {
			found = append(found, all[i])
		}
	}
	if len(found) > 0 {
		err = nil
	}
	return found, err
}

func (f *finder) findNamed(ctx context.Context, name string) (*app, error) {
	records, err := f.recordsNamed(name)
	switch {
	case err != nil:
		return nil, err
	case len(records) > 1:
		var ids []string
		for _, r := range records {
			ids = append(ids, id(r.ID))
		}
		return nil, sentencef("%s may be each of several observers: name one by its id: %s", data(name, maxName), strings.Join(ids, ", "))
	case len(records) == 1:
		named := func(a discovery.App) bool { return a.Observer == records[0].ID }
		found := f.search(0).Find(ctx, records[0].Dir)
		if i := slices.IndexFunc(found.Apps, named); i >= 0 {
			return f.choose(found.Apps[i], found.Notes), nil
		}
		return nil, sentencef("the observer %s does not answer.%s", id(records[0].ID), notesOf(found.Notes))
	}
	if filepath.IsAbs(name) {
		if found := f.search(0).Find(ctx, name); len(found.Apps) == 1 {
			return f.choose(found.Apps[0], found.Notes), nil
		}
	}
	running := f.search(0).Running(ctx).Apps
	if len(running) == 0 {
		return nil, sentencef("there is no app %s, and none is observed. %s", data(name, maxName), howToStart)
	}
	return nil, sentencef("there is no app %s; observed are: %s", data(name, maxName), names(running))
}

// channelOf returns the channel that a call about an app concerns: that of the observer that is named, else the
// caller's own.
func (f *finder) channelOf(c tools.Caller, name string) core.ChannelKey {
	records, _ := f.recordsNamed(name) // without a name there are none
	for _, r := range records {
		if r.Channel != "" {
			return core.ChannelKey(r.Channel)
		}
	}
	return c.Channel
}

// checkTarget returns the URL of an app on this machine.
func checkTarget(target string) (string, error) {
	text := target
	if !strings.Contains(text, "://") {
		text = "http://" + strings.TrimPrefix(text, "//")
	}
	u, err := url.Parse(text)
	allowed := sentencef("target %s is not an app on this machine: give a URL such as http://localhost:3000", data(target, maxName))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.User != nil, u.RawQuery != "", u.Fragment != "", u.Path != "" && u.Path != "/":
		return "", allowed
	case !api.IsLoopback(u.Host):
		return "", allowed
	}
	return u.Scheme + "://" + u.Host, nil
}
