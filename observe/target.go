package observe

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/observe/app"
)

// How often a target looks for its app, while there is none, and while there is one.
const (
	searchInterval = 100 * time.Millisecond
	followInterval = time.Second
	// searchTime is how long a target looks often, while there is no app.
	searchTime = 30 * time.Second
)

// inspectorPorts are those of the debugger of Node.js, which answers HTTP too.
var inspectorPorts = [2]int{9229, 9239}

// A finder says where an app listens.
type finder interface {
	// listeners returns the app's listeners.
	listeners() ([]app.Listener, error)
	// address returns the app's address on a port, by the protocol that answers there.
	address(ctx context.Context, port int) (*url.URL, error)
}

// A target knows where the app answers, and follows its restarts. It belongs to the goroutine of follow.
type target struct {
	find     finder
	prefer   int                  // the port that the app was told to use; 0: none
	appeared func(u *url.URL)     // is called by follow for each start of the app
	refuse   func(port int) error // says why a port must not be observed; nil: it may be
	missing  func(problem string) // is called by follow where the app was not there for long

	address *url.URL // nil: the app does not answer
	socket  string   // of the app's listener
	latest  string   // the last socket that was not empty: a busy machine may not show it for a moment
	problem string   // why there is no address; empty: none is known
}

// follow looks for the app until ctx ends.
func (t *target) follow(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	seen := time.Now() // when the app was there, or the search began
	told := false      // that it is missing
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		switch {
		case t.look(ctx):
			seen = time.Now()
			told = false
			pause.Reset(followInterval)
		case time.Since(seen) < searchTime:
			pause.Reset(searchInterval)
		default:
			if !told && ctx.Err() == nil {
				t.missing(t.problem)
			}
			told = true
			pause.Reset(followInterval)
		}
	}
}

// isSettled reports whether the app still listens on the socket that is known, and on a port than which no other is
// tried before. It is much cheaper than a look at all that the app's processes have open.
func (t *target) isSettled() bool {
	if t.address == nil {
		return false
	}
	port, err := portOf(t.address)
	if err != nil || t.prefer != 0 && port != t.prefer {
		return false
	}
	all, err := app.On(port)
	return err == nil && slices.ContainsFunc(all, func(l app.Listener) bool { return l.Socket == t.socket })
}

// look looks for the app once, and reports whether it is there.
func (t *target) look(ctx context.Context) bool {
	if t.isSettled() {
		return true
	}
	all, err := t.find.listeners()
	if err != nil {
		t.set(nil, "", err.Error())
		return false
	}
	known := t.socket
	candidates := t.ranked(all)
	if t.isBest(candidates, known) {
		return true
	}
	problem := "the app does not listen on a port yet"
	for _, l := range candidates {
		if l.Socket == known {
			return true
		}
		if err := t.refuse(l.Port); err != nil {
			problem = err.Error()
			continue
		}
		u, err := t.find.address(ctx, l.Port)
		if err != nil {
			problem = err.Error()
			continue
		}
		if t.set(u, l.Socket, "") {
			t.appeared(u)
		}
		return true
	}
	t.set(nil, "", problem)
	return false
}

// isBest reports whether the socket is among the listeners, and none of the others is to be tried before.
func (t *target) isBest(all []app.Listener, socket string) bool {
	i := slices.IndexFunc(all, func(l app.Listener) bool { return l.Socket == socket })
	return i >= 0 && (all[i].Port == t.prefer || all[0].Port != t.prefer)
}

// ranked returns listeners in the order in which they are tried: the port that the app was told to use,
// and then others. Those of debuggers are left out.
func (t *target) ranked(all []app.Listener) []app.Listener {
	isDebugger := func(l app.Listener) bool {
		return l.Port != t.prefer && l.Port >= inspectorPorts[0] && l.Port <= inspectorPorts[1]
	}
	rank := func(l app.Listener) int {
		if l.Port == t.prefer {
			return 0
		}
		return 1
	}
	sorted := slices.DeleteFunc(slices.Clone(all), isDebugger)
	slices.SortStableFunc(sorted, func(a, b app.Listener) int { return rank(a) - rank(b) })
	return sorted
}

// set notes where the app answers, and reports whether it has started since it last did.
func (t *target) set(u *url.URL, socket, problem string) (started bool) {
	if socket != "" {
		started = socket != t.latest
		t.latest = socket
	}
	t.address = u
	t.socket = socket
	t.problem = problem
	return started
}

// An ownApp finds the app that the observer has started.
type ownApp struct{ app *app.App }

func (o ownApp) listeners() ([]app.Listener, error) { return o.app.Listeners() }

func (ownApp) address(ctx context.Context, port int) (*url.URL, error) { return app.Probe(ctx, port) }

// A foreignApp finds an app that somebody else has started, at a fixed address on this machine.
type foreignApp struct{ at *url.URL }

func (f foreignApp) listeners() ([]app.Listener, error) {
	port, err := portOf(f.at)
	if err != nil {
		return nil, err
	}
	return app.On(port)
}

func (f foreignApp) address(context.Context, int) (*url.URL, error) { return f.at, nil }

// portOf returns the port of an address, which may be that of its protocol.
func portOf(u *url.URL) (int, error) {
	switch {
	case u.Port() != "":
		port, err := strconv.Atoi(u.Port())
		if err != nil {
			return 0, fmt.Errorf("the port of %s: %w", u, err)
		}
		return port, nil
	case u.Scheme == "https":
		return 443, nil
	}
	return 80, nil
}

// ParseTarget reads the address of an app on this machine.
func ParseTarget(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an address such as http://localhost:3000", text)
	}
	if host := u.Hostname(); host != "localhost" && !strings.HasSuffix(host, ".localhost") {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Unmap().IsLoopback() {
			return nil, fmt.Errorf("%s is not this machine: only an app on this machine is observed, at localhost or 127.0.0.1", host)
		}
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}
