package observe

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"bareclaw/observe/app"
)

// A listedApp listens where it is said to.
type listedApp struct {
	all    []app.Listener
	silent []int // ports that do not answer HTTP
	asked  []int
}

func (l *listedApp) listeners() ([]app.Listener, error) { return l.all, nil }

func (l *listedApp) address(_ context.Context, port int) (*url.URL, error) {
	l.asked = append(l.asked, port)
	if slices.Contains(l.silent, port) {
		return nil, errors.New("nothing answers")
	}
	return &url.URL{Scheme: "http", Host: "localhost:" + strconv.Itoa(port)}, nil
}

// TestTarget: the port that the app was told to use wins, debuggers and other observers are no apps, and a new socket is another
// start.
func TestTarget(t *testing.T) {
	t.Parallel()
	at := func(port int, socket string) app.Listener { return app.Listener{Port: port, Socket: socket} }
	steps := []struct {
		name    string
		all     []app.Listener
		address string // empty: none
		starts  int    // so far
		asked   []int
	}{
		{"nothing listens", nil, "", 0, nil},
		{"a debugger", []app.Listener{at(9229, "d")}, "", 0, nil},
		{"another observer", []app.Listener{at(4000, "o")}, "", 0, nil},
		{"a port that is silent", []app.Listener{at(2000, "s")}, "", 0, []int{2000}},
		{"a side port", []app.Listener{at(2000, "s"), at(2500, "a")}, "localhost:2500", 1, []int{2000, 2500}},
		{"the same", []app.Listener{at(2000, "s"), at(2500, "a")}, "localhost:2500", 1, nil},
		{"the port it was told", []app.Listener{at(2500, "a"), at(3000, "b")}, "localhost:3000", 2, []int{3000}},
		{"the same, and its second socket", []app.Listener{at(3000, "b6"), at(3000, "b")}, "localhost:3000", 2, nil},
		{"a restart", []app.Listener{at(3000, "c")}, "localhost:3000", 3, []int{3000}},
		{"it is down", nil, "", 3, nil},
		{"it is up again", []app.Listener{at(2600, "e")}, "localhost:2600", 4, []int{2600}},
	}
	listed := &listedApp{silent: []int{2000}}
	starts := 0
	target := &target{
		find:     listed,
		prefer:   3000,
		appeared: func(*url.URL) { starts++ },
		refuse: func(port int) error {
			if port == 4000 {
				return errors.New("this is an observer")
			}
			return nil
		},
	}
	for _, s := range steps {
		listed.all = s.all
		listed.asked = nil
		found := target.look(t.Context())
		u, problem := target.address, target.problem
		host := ""
		if u != nil {
			host = u.Host
		}
		if host != s.address || found != (u != nil) || (u == nil) != (problem != "") || starts != s.starts {
			t.Errorf("%s: at %q after %d starts, problem %q", s.name, host, starts, problem)
		}
		if !slices.Equal(listed.asked, s.asked) {
			t.Errorf("%s: asked %v, want %v", s.name, listed.asked, s.asked)
		}
	}
}

// TestCommandIsMasked: the arguments of secret flags are masked, and nothing else.
func TestCommandIsMasked(t *testing.T) {
	t.Parallel()
	for want, command := range map[string][]string{
		"npm start -- --token [masked:6] --port 3000":    {"npm", "start", "--", "--token", "a b,c]", "--port", "3000"},
		"serve --db-password [masked:2] --token --watch": {"serve", "--db-password", "-x", "--token", "--watch"},
		"serve --api-key=[masked:3] --password":          {"serve", "--api-key=abc", "--password"},
	} {
		v := &observer{Options: Options{Command: command}}
		if got := v.command(); got != want {
			t.Errorf("shown as %q, want %q", got, want)
		}
	}
}
