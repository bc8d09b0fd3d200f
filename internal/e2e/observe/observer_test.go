package observe

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/webapps"
	"bareclaw/observe/api"
	"bareclaw/observe/capture"
	"bareclaw/observe/discovery"
	"bareclaw/observe/findings"
)

const (
	// patience bounds each wait.
	patience = 3 * time.Minute
	// judged is how long it takes until a request is judged, on a busy machine: for telemetry that an app does not complete
	// an observer waits for 10 s.
	judged = 20 * time.Second
)

// An observer is a running observer of an app.
type observer struct {
	t      testing.TB
	app    *webapps.App
	run    *harness.Invocation
	record discovery.Record
	client *api.Client
	browse *http.Client
}

// observe starts an observer of an app on a machine of its own, and waits until the app answers.
func observe(t *testing.T, app *webapps.App, args ...string) *observer {
	t.Helper()
	m := harness.NewMachine(t)
	o := &observer{
		t:   t,
		app: app,
		browse: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	args = append([]string{"observe", "--json"}, args...)
	cmd := m.Prepare(append(append(args, "--"), app.Command...)...)
	cmd.Dir = app.Dir
	cmd.Env = append(cmd.Env, app.Env...)
	o.run = m.InvokeCmd(cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-o.run.Done
		if t.Failed() {
			t.Logf("the observer said:\n%s%s", o.run.Out.String(), o.run.Err.String())
		}
	})
	o.eventually("the observer is ready", func() bool {
		line, _, whole := strings.Cut(o.run.Out.String(), "\n")
		return whole && json.Unmarshal([]byte(line), &o.record) == nil && o.record.Port > 0
	})
	o.client = api.NewClient(fmt.Sprintf("http://127.0.0.1:%d", o.record.Port), api.Timeouts{
		Fetch:  patience,
		Health: patience,
		Replay: patience,
	})
	o.eventually("the app answers", func() bool { return o.get("/healthz") < http.StatusInternalServerError })
	return o
}

// eventually waits until something holds, and fails if the observer ends meanwhile.
func (o *observer) eventually(what string, holds func() bool) {
	o.t.Helper()
	check.Eventually(o.t, patience, what, func() bool {
		select {
		case <-o.run.Done:
			o.t.Fatalf("the observer has ended, while waiting: %s", what)
		default:
		}
		return holds()
	})
}

// get requests a path of the app through the observer. Header is names and values in turn.
func (o *observer) get(path string, header ...string) (status int) {
	o.t.Helper()
	return o.send(http.MethodGet, path, "", header...)
}

// send sends a request to the app through the observer, and reads the response.
func (o *observer) send(method, path, body string, header ...string) (status int) {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.t.Context(), method, o.record.Proxy+path, strings.NewReader(body))
	check.OK(o.t, err)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	res, err := o.browse.Do(r)
	check.OK(o.t, err)
	_, err = io.Copy(io.Discard, res.Body)
	check.OK(o.t, err)
	check.OK(o.t, res.Body.Close())
	return res.StatusCode
}

// findings returns what was found, by rule and endpoint.
func (o *observer) findings() map[place]api.Finding {
	o.t.Helper()
	all, _, err := o.client.Findings(o.t.Context(), api.Choice{})
	check.OK(o.t, err)
	found := map[place]api.Finding{}
	for _, f := range all {
		at := place{f.Issue.Rule, f.Issue.Endpoint}
		if other, twice := found[at]; twice {
			o.t.Errorf("two findings of %s: %q and %q", at, other.Issue.Desc, f.Issue.Desc)
		}
		found[at] = f
	}
	return found
}

// A place is where a rule has found something.
type place struct{ rule, endpoint string }

func (p place) String() string { return p.rule + " at " + p.endpoint }

// A plant is a flaw of an app, and how it shows.
type plant struct {
	rule     string
	endpoint string
	shown    string // the description: see isLike
	likely   bool
	times    int // how often shows must run until the flaw is found
	shows    func(o *observer)
	clears   func(o *observer) // runs instead of shows, and shows that the flaw is gone; nil: shows
}

func (p *plant) place() place { return place{p.rule, p.endpoint} }

// showFlaws has all flaws show.
func showFlaws(o *observer, plants []plant) {
	for i := range plants {
		for range plants[i].times {
			plants[i].shows(o)
		}
	}
}

// await waits until all flaws are findings in a state, and reopened so many times. Those that are not found show again:
// clean requests may outweigh a flaw that is about an average, and on a busy machine requests of one page may look like those
// of a timer.
func await(o *observer, plants []plant, state findings.State, reopens int) {
	o.t.Helper()
	left := plants
	defer func() {
		if len(left) > 0 {
			o.t.Logf("not %s: %v; the findings are %v", state, places(left), o.findings())
		}
	}()
	shown := time.Now()
	o.eventually(fmt.Sprintf("all flaws are %s", state), func() bool {
		left = missing(o, left, state, reopens)
		if time.Since(shown) > judged {
			showFlaws(o, left)
			shown = time.Now()
		}
		return len(left) == 0
	})
}

// missing returns the flaws that are not yet findings in a state.
func missing(o *observer, plants []plant, state findings.State, reopens int) []plant {
	found := o.findings()
	return slices.DeleteFunc(slices.Clone(plants), func(p plant) bool {
		f, isFound := found[p.place()]
		return isFound && f.Now() == state && f.ReopenCount == reopens
	})
}

// clearFlaws sends requests that show that the flaws are gone until the observer has taken it for proven.
func clearFlaws(o *observer, plants []plant) {
	o.t.Helper()
	left := plants
	for begun := time.Now(); len(left) > 0; {
		if time.Since(begun) > patience {
			o.t.Fatalf("not resolved by clean requests: %v", places(left))
		}
		for i := range left {
			clears := left[i].clears
			if clears == nil {
				clears = left[i].shows
			}
			for range findings.CleanHitsForResolution {
				clears(o)
				if left[i].rule == "sensitive-logs" { // whose a line is, is known of requests that are not close together
					<-time.After(2 * capture.PrintedFor)
				}
			}
		}
		for waited := time.Now(); len(left) > 0 && time.Since(waited) < judged; {
			<-time.After(judged / 100)
			left = missing(o, left, findings.Resolved, reopensOf(o, left))
		}
	}
}

func reopensOf(o *observer, plants []plant) int { return o.findings()[plants[0].place()].ReopenCount }

func places(plants []plant) (all []string) {
	for i := range plants {
		all = append(all, plants[i].place().String())
	}
	return all
}

// awaitShown waits until the findings say what they should, or can be expected to. A first look at a request may not know
// all of it.
func awaitShown(o *observer, plants []plant) {
	o.t.Helper()
	for begun := time.Now(); time.Since(begun) < judged; <-time.After(judged / 100) {
		found := o.findings()
		isOther := func(p plant) bool { return !p.isShown(found[p.place()]) }
		if !slices.ContainsFunc(plants, isOther) {
			return
		}
	}
}

// isShown reports whether a finding says what it should.
func (p *plant) isShown(f api.Finding) bool {
	return isLike(f.Issue.Desc, p.shown) && f.Issue.Likely == p.likely
}

// compare fails unless the findings are those of the flaws, and nothing else.
func compare(o *observer, plants []plant) {
	o.t.Helper()
	awaitShown(o, plants)
	found := o.findings()
	for i := range plants {
		p := &plants[i]
		f, isFound := found[p.place()]
		if !isFound {
			o.t.Errorf("%s is not found", p.place())
			continue
		}
		if !p.isShown(f) {
			o.t.Errorf("%s: %q, likely %t; want %q, likely %t", p.place(), f.Issue.Desc, f.Issue.Likely, p.shown, p.likely)
		}
		delete(found, p.place())
	}
	for at, f := range found {
		o.t.Errorf("%s is found too: %q", at, f.Issue.Desc)
	}
}

// bound is a part of a pattern that stands for a figure.
var bound = regexp.MustCompile(`>=\d+`)

// isLike reports whether a text is like a pattern, in which # stands for anything, and >=2 for a figure of at least 2.
func isLike(text, pattern string) bool {
	expression := bound.ReplaceAllLiteralString(regexp.QuoteMeta(pattern), `(\d+)`)
	expression = strings.ReplaceAll(expression, "#", ".*")
	figures := regexp.MustCompile("^" + expression + "$").FindStringSubmatch(text)
	if figures == nil {
		return false
	}
	for i, least := range bound.FindAllString(pattern, -1) {
		want, _ := strconv.Atoi(strings.TrimPrefix(least, ">=")) // are digits
		got, err := strconv.Atoi(figures[i+1])
		if err != nil || got < want {
			return false
		}
	}
	return true
}
