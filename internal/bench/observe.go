package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/observe/discovery"
)

// observed measures an observer: what it adds to requests, beside a bare reverse proxy that takes turns with it, what it
// takes in of an app's telemetry, how soon tools answer, and its size.
func observed(ctx context.Context, l *lab, t target) (figures []figure, err error) {
	s, err := l.observe(ctx, t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	for _, measure := range []func(context.Context) ([]figure, error){s.latency, s.load, s.spans, s.crowd, s.tools} {
		taken, err := measure(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w%s", err, s.lastWords())
		}
		figures = append(figures, taken...)
	}
	return figures, nil
}

// A site is an app behind an observer, and behind a bare proxy.
type site struct {
	lab      *lab
	dir      string
	app      string // the address of the app itself, 127.0.0.1:port
	bare     string // that of the bare proxy
	record   discovery.Record
	observer *exec.Cmd
	proxy    *exec.Cmd
	exited   chan struct{} // closed when the observer has been waited for
}

// observe starts the observer of an app, and a bare proxy for the same app.
func (l *lab) observe(ctx context.Context, t target) (*site, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l.count++
	s := &site{
		lab: l,
		dir: filepath.Join(l.dir, strconv.Itoa(l.count)),
	}
	for _, name := range []string{"home", "state", "app"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(s.dir, name), 0o700))
	}
	if err != nil {
		return nil, err
	}
	if s.app, err = freeAddress(); err == nil {
		s.bare, err = freeAddress()
	}
	if err == nil {
		err = s.begin(t, self)
	}
	if err == nil {
		err = s.awaitReady(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("observe an app: %w%s", err, s.lastWords()), s.stop())
	}
	return s, nil
}

// freeAddress returns an address of loopback on which nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// begin starts the observer, which starts the app, and the bare proxy.
func (s *site) begin(t target, self string) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	_, port, _ := net.SplitHostPort(s.app)
	args := slices.Concat(t.command[1:], []string{"observe", "--notify", "off", "--", self, observedRole})
	s.observer = exec.Command(t.command[0], args...) //nolint:noctx // it is stopped by its own signal, not killed
	s.observer.Dir = filepath.Join(s.dir, "app")
	s.observer.Stdout = log
	s.observer.Stderr = log
	s.observer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	home := filepath.Join(s.dir, "home")
	s.observer.Env = []string{
		"HOME=" + home,
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(),
		"PORT=" + port,
		"BARECLAW_STATE_DIR=" + filepath.Join(s.dir, "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		proc.ReadableVariable + "=1",
	}
	if err := s.observer.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func() { // ends with the process
		_ = s.observer.Wait()
		close(s.exited)
	}()
	s.proxy = exec.Command(self, bareRole, s.bare, s.app) //nolint:noctx // it is killed in stop
	s.proxy.Stderr = os.Stderr
	return s.proxy.Start()
}

// records are those of the observers.
func (s *site) records() discovery.Records {
	return discovery.Records(filepath.Join(s.dir, "state", "observe"))
}

// awaitReady returns when the app answers at both addresses.
func (s *site) awaitReady(ctx context.Context) error {
	ready := func() bool {
		if s.hasExited() {
			return true
		}
		all, _ := s.records().Live() // those that can be read
		if len(all) == 0 {
			return false
		}
		s.record = all[0]
		return s.answers(s.bare) && s.answers(s.through())
	}
	err := await(ctx, readyWithin, 10*time.Millisecond, ready)
	if err == nil && s.hasExited() {
		if s.observer.ProcessState.ExitCode() == exitcode.Usage { // it is older than the command
			return errCannotSee
		}
		return errors.New("the observer has ended: " + s.observer.ProcessState.String())
	}
	return err
}

func (s *site) hasExited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// through returns the address of the observer's proxy.
func (s *site) through() string { return s.record.Proxy[len("http://"):] }

func (s *site) answers(address string) bool {
	c, err := dial(address)
	if err != nil {
		return false
	}
	defer c.Close()
	status, _, err := c.do(get(address, "/ready"), time.Second)
	return err == nil && status == http.StatusOK
}

// get returns the bytes of a request.
func get(address, path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\n\r\n")
}

// stop ends the observer with its app, and the proxy.
func (s *site) stop() error {
	if s.exited != nil {
		_ = s.observer.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(stopWithin):
			fmt.Fprintf(s.lab.log, "bench: the observer did not stop within %s\n", stopWithin)
			_ = s.observer.Process.Kill()
			<-s.exited
		}
	}
	if s.proxy != nil && s.proxy.Process != nil {
		_ = s.proxy.Process.Kill()
		_ = s.proxy.Wait()
	}
	return os.RemoveAll(s.dir)
}

// lastWords returns the end of what observer and app have printed, for an error.
func (s *site) lastWords() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	if len(text) == 0 {
		return ""
	}
	return "; the log ends:\n" + string(text[max(0, len(text)-2000):])
}

// plainPath is that of most requests: what is returned there has no flaw.
const plainPath = "/api/users/7?page=2"

// latency measures one client's requests to the app itself, through the bare proxy, and through the observer, in turn.
func (s *site) latency(context.Context) ([]figure, error) {
	took := make(map[string][]time.Duration)
	places := []string{s.app, s.bare, s.through()}
	clients := make(map[string]*client)
	for _, place := range places {
		c, err := dial(place)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		clients[place] = c
	}
	for range s.lab.plan.observedRequests {
		for _, place := range places {
			began := time.Now()
			status, _, err := clients[place].do(get(place, plainPath), askTimeout)
			if err == nil && status != http.StatusOK {
				err = refusal{status, place}
			}
			if err != nil {
				return nil, err
			}
			took[place] = append(took[place], time.Since(began))
		}
	}
	direct := median(took[s.app])
	return []figure{
		ms("observe.direct.p50", "request to an app, p50", direct),
		ms("observe.bare.p50", "added by a bare reverse proxy, p50", median(took[s.bare])-direct),
		ms("observe.added.p50", "added by an observer, p50", median(took[s.through()])-direct),
		ms("observe.added.p99", "added by an observer, p99", quantile(took[s.through()], 0.99)-quantile(took[s.app], 0.99)),
	}, nil
}

// observedClients is how many connections send requests under load.
const observedClients = 16

// load measures requests of many clients through the bare proxy and through the observer, in turn.
func (s *site) load(ctx context.Context) ([]figure, error) {
	var rates, costs, bareRates, bareCosts []float64
	for range s.lab.plan.observedRounds {
		bare, err := s.under(ctx, s.bare, s.proxy.Process.Pid)
		if err != nil {
			return nil, err
		}
		ours, err := s.under(ctx, s.through(), s.record.PID)
		if err != nil {
			return nil, err
		}
		bareRates = append(bareRates, bare.rate)
		bareCosts = append(bareCosts, bare.cost)
		rates = append(rates, ours.rate/bare.rate)
		costs = append(costs, ours.cost/bare.cost)
	}
	return []figure{
		{id: "observe.bare.rate", name: "requests through a bare reverse proxy", unit: "/s", value: middle(bareRates)},
		{id: "observe.bare.cpu", name: "CPU of a bare reverse proxy a request", unit: "µs", value: middle(bareCosts)},
		{id: "observe.rate", name: "requests through an observer, by those through the bare proxy", unit: "×", value: middle(rates)},
		{id: "observe.cpu", name: "CPU of an observer a request, by that of the bare proxy", unit: "×", value: middle(costs)},
	}, nil
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// A loading is what a process did under load.
type loading struct {
	rate float64 // requests a second
	cost float64 // µs of CPU a request
}

// under sends requests to a place for a while, where a process takes them.
func (s *site) under(ctx context.Context, place string, pid int) (loading, error) {
	until := time.Now().Add(s.lab.plan.load)
	used := cpuOf(pid)
	began := time.Now()
	request := get(place, plainPath)
	n, err := s.flood(ctx, place, func(int64) []byte {
		if time.Now().After(until) {
			return nil
		}
		return request
	})
	if err != nil {
		return loading{}, err
	}
	return loading{
		rate: float64(n) / time.Since(began).Seconds(),
		cost: float64((cpuOf(pid) - used).Microseconds()) / float64(n),
	}, nil
}

// flood sends what next returns for each number from 1 on by many clients, until it returns nothing, and returns how many
// requests were answered.
func (s *site) flood(ctx context.Context, place string, next func(n int64) []byte) (int64, error) {
	var begun, answered atomic.Int64
	errs := make([]error, observedClients)
	var all sync.WaitGroup
	for i := range observedClients {
		all.Go(func() {
			c, err := dial(place)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.Close()
			for ctx.Err() == nil {
				request := next(begun.Add(1))
				if request == nil {
					return
				}
				status, body, err := c.do(request, askTimeout)
				if err == nil && status >= http.StatusBadRequest {
					err = refusal{status, string(body)}
				}
				if err != nil {
					errs[i] = err
					return
				}
				answered.Add(1)
			}
		})
	}
	all.Wait()
	return answered.Load(), errors.Join(errors.Join(errs...), context.Cause(ctx))
}

// observedSpans is how many steps the app tells of each request.
const observedSpans = 10

// spans measures how fast the telemetry of requests is taken in.
func (s *site) spans(ctx context.Context) ([]figure, error) {
	var taken atomic.Int64
	var telling sync.WaitGroup
	until := time.Now().Add(s.lab.plan.load)
	began := time.Now()
	failed := make(chan error, 2)
	for worker := range cap(failed) {
		telling.Go(func() {
			if err := s.tell(ctx, worker, until, &taken); err != nil {
				failed <- err
			}
		})
	}
	telling.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return nil, err
	}
	return []figure{{
		id:    "observe.spans",
		name:  "spans taken in, with a request through the proxy for each " + strconv.Itoa(observedSpans),
		unit:  "/s",
		value: float64(taken.Load()) / time.Since(began).Seconds(),
	}}, nil
}

// tell sends requests with traces of their own, and the steps of each, as an app with OpenTelemetry does.
func (s *site) tell(ctx context.Context, worker int, until time.Time, taken *atomic.Int64) error {
	api := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.record.Port))
	toApp, err := dial(s.through())
	if err != nil {
		return err
	}
	defer toApp.Close()
	toAPI, err := dial(api)
	if err != nil {
		return err
	}
	defer toAPI.Close()
	for n := 1; ctx.Err() == nil && time.Now().Before(until); {
		var steps []any
		for range observedClients { // requests whose steps are exported together
			trace := fmt.Sprintf("%016x%016x", worker+1, n)
			request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nTraceparent: 00-%s-%016x-01\r\n\r\n", plainPath, s.through(), trace, n)
			if _, _, err := toApp.do([]byte(request), askTimeout); err != nil {
				return err
			}
			steps = append(steps, stepsOf(trace)...)
			n++
		}
		body, err := json.Marshal(exported(steps))
		if err != nil {
			return err
		}
		head := fmt.Sprintf("POST /v1/traces HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", api, len(body))
		status, answer, err := toAPI.do(append([]byte(head), body...), askTimeout)
		if err == nil && status != http.StatusOK {
			err = refusal{status, string(answer)}
		}
		if err != nil {
			return err
		}
		taken.Add(int64(len(steps)))
	}
	return nil
}

// stepsOf returns the steps of a request: its answer, and queries.
func stepsOf(trace string) (steps []any) {
	const clientKind, serverKind = 3, 2
	now := time.Now().UnixNano()
	for i := range observedSpans {
		step := map[string]any{
			"traceId":           trace,
			"spanId":            fmt.Sprintf("%016x", i+1),
			"name":              "pg.query:SELECT",
			"kind":              clientKind,
			"startTimeUnixNano": strconv.FormatInt(now, 10),
			"endTimeUnixNano":   strconv.FormatInt(now+int64(time.Millisecond), 10),
			"attributes": []any{
				attribute("db.system", "postgresql"),
				attribute("db.statement", "SELECT id, name FROM users WHERE team_id = $1 ORDER BY name"),
			},
		}
		if i == 0 {
			step["kind"] = serverKind
			step["attributes"] = []any{attribute("http.method", http.MethodGet)}
		} else {
			step["parentSpanId"] = fmt.Sprintf("%016x", 1)
		}
		steps = append(steps, step)
	}
	return steps
}

func attribute(key, value string) any {
	return map[string]any{"key": key, "value": map[string]any{"stringValue": value}}
}

// exported returns what an exporter sends of steps.
func exported(steps []any) any {
	scope := map[string]any{"spans": steps}
	resource := map[string]any{"scopeSpans": []any{scope}}
	return map[string]any{"resourceSpans": []any{resource}}
}

// crowd measures the observer's size while very many requests have flaws, at very many endpoints.
func (s *site) crowd(ctx context.Context) ([]figure, error) {
	count := s.lab.plan.observedCrowd
	send := func(upTo int64) error {
		_, err := s.flood(ctx, s.through(), func(n int64) []byte {
			if n > upTo {
				return nil
			}
			return get(s.through(), flawedPath(n))
		})
		return err
	}
	if err := send(count / 10); err != nil {
		return nil, err
	}
	before, _, err := sizeOf(s.record.PID)
	if err == nil {
		err = send(count - count/10)
	}
	if err != nil {
		return nil, err
	}
	after, _, err := sizeOf(s.record.PID)
	many := strconv.FormatInt(count, 10) + " requests"
	return []figure{
		mib("observe.rss.before", "observer RSS, after a tenth of "+many, before),
		mib("observe.rss", "observer RSS, after "+many, after),
	}, err
}

// flawedPath returns one of nearly 1,000 paths that are endpoints of their own, where what is returned has a flaw.
func flawedPath(n int64) string {
	const letters = 26
	n %= 38 * letters
	return fmt.Sprintf("/flawed/%c%c", 'a'+n%letters, 'A'+n/letters)
}
