package toolhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"bareclaw/internal/guard"
	"bareclaw/toolhost/api"
)

// A child is a running tool host.
type child struct {
	pid       int
	startedAt time.Time
	client    *client
	cmd       *exec.Cmd
	input     io.Closer     // the tool host ends when its input does
	exited    chan struct{} // closed when the process has ended; err is set then
	err       error
	loading   api.File      // that was being loaded when the process ended; set with err
	stuck     *stuckCode    // that could not be interrupted; nil: none; set with err
	hung      bool          // it was killed because it did not answer
	directory directory     // the tools directory that the process may read
	left      chan struct{} // closed when the child is no longer the present one; the next two are set then
	blocked   string        // the tool that could not be interrupted, and is why; empty: none
	leftOut   string        // the file that is left out from now on, because it is to blame; empty: none
	health    *api.Health   // the last answer; nil: none came
	calls     underWay
}

// stuckCode is code that the tool host cannot interrupt.
type stuckCode struct {
	Tool string
	File api.File // zero for code that has no file
}

// passedOn are the variables of the environment that the tool host sees.
var passedOn = []string{"TZ", "LANG", "TMPDIR"}

// startChild starts a tool host, for which a server carries out functions.
func startChild(self string, boot api.Bootstrap, functions *http.Server, log *slog.Logger) (*child, error) {
	line, err := json.Marshal(boot)
	if err != nil {
		return nil, err
	}
	conns, err := connect()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, api.Subcommand)
	cmd.Dir = "/"
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(passedOn, name)
	})
	cmd.ExtraFiles = conns.inherited // become api.CallsFD and its siblings
	says := &logWriter{log: log}
	says.onFatal = sync.OnceFunc(func() { time.AfterFunc(dumpGrace, func() { _ = cmd.Process.Kill() }) }) // an error means that it has ended
	cmd.Stderr = says
	cmd.SysProcAttr = attributes()
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		conns.close()
		return nil, fmt.Errorf("start the tool host: %w", err)
	}
	conns.closeInherited()
	c := &child{pid: cmd.Process.Pid, startedAt: time.Now(), cmd: cmd, input: input, exited: make(chan struct{}), left: make(chan struct{})}
	go func() { // ends with the process
		err := cmd.Wait()
		if err == nil {
			err = errors.New("the tool host has ended")
		}
		if says.reason != "" {
			err = fmt.Errorf("%w: %s", err, says.reason)
		}
		c.err, c.loading, c.stuck = err, says.loading, says.stuck
		close(c.exited)
	}()
	go func() { _ = api.Serve(functions, conns.functions) }() // ends with the connection, and that with the process
	if c.client, err = newClient(conns.calls, conns.control); err == nil {
		_, err = input.Write(append(line, '\n'))
	}
	if err != nil { // the process has ended
		c.stop()
		return nil, c.err // which says why
	}
	return c, nil
}

// awaitReady returns when the tool host answers.
func (c *child) awaitReady(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the tool host did not answer within %s", startTimeout))
	defer cancel()
	type answer struct {
		health api.Health
		err    error
	}
	answered := make(chan answer, 1)
	go func() { // ends with ctx
		var a answer
		a.err = guard.Do(log, "asking the tool host for its health", func() (err error) {
			a.health, err = c.client.health(ctx)
			return err
		})
		answered <- a
	}()
	select {
	case a := <-answered:
		c.health = &a.health
		return a.err
	case <-c.exited:
		return c.err
	}
}

// call has the process carry out a call. A call that gets no answer stays under way.
func (c *child) call(ctx context.Context, t api.Tool, args json.RawMessage) (api.CallReply, error) {
	file := api.File{Name: t.File, Sum: t.Sum}
	c.calls.begin(file)
	reply, err := c.client.call(ctx, t.Name, args)
	if !errors.Is(err, errNoAnswer) {
		c.calls.end(file)
	}
	return reply, err
}

// awaitLeft returns when the tool host, which ends or did not answer, is no longer the present one. It returns
// the tool that could not be interrupted, and the file that is left out because of the end; empty: none.
func (c *child) awaitLeft(ctx context.Context) (stuck, leftOut string) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-c.left:
		return c.blocked, c.leftOut
	case <-ctx.Done():
		return "", ""
	}
}

// explain returns why the process has ended, and the file to blame, if there is no other suspect. A process
// that was killed because it did not answer may have lacked the processor, which is nobody's fault.
func (c *child) explain() (culprit api.File, why cause) {
	only, busy := c.calls.culprit()
	switch none := (api.File{}); {
	case c.hung:
		return none, isKnownCrash
	case c.stuck != nil:
		return c.stuck.File, isStuck
	case c.loading == none && busy:
		return only, isKnownCrash
	case c.loading == none:
		return none, isUnknown
	case busy:
		return none, isKnownCrash
	}
	return c.loading, isKnownCrash
}

// stop ends the process and returns when the process has ended. The process has nothing to do at
// its end, and is not asked: that would take longer.
func (c *child) stop() {
	c.leave()
	<-c.exited
}

// leave ends the process and does not wait: a hand-over need not take that time.
func (c *child) leave() {
	c.kill()
	_ = c.input.Close()
	c.client.close()
	c.directory.close()
}

// A directory notices when another one takes its place.
type directory struct {
	path string
	then os.FileInfo // nil: there was none
	open *os.File    // keeps the file system from using the number of a removed directory again; nil: not readable
}

func openDirectory(path string) directory {
	d := directory{path: path}
	d.then, _ = os.Stat(path)
	d.open, _ = os.Open(path)
	return d
}

func (d directory) close() { _ = d.open.Close() } // also without a file

// wasReplaced reports whether the path leads to another directory. A missing one is made anew.
func (d directory) wasReplaced() bool {
	now, err := os.Stat(d.path)
	if err != nil && os.MkdirAll(d.path, 0o700) == nil {
		now, err = os.Stat(d.path)
	}
	switch {
	case err != nil:
		return d.then != nil
	case d.then == nil:
		return true
	}
	return !os.SameFile(d.then, now)
}

// endedWell reports whether a process that has ended was told to end.
func (c *child) endedWell() bool { return c.cmd.ProcessState.Success() }

// kill ends the process at once.
func (c *child) kill() { _ = c.cmd.Process.Kill() } // an error means that it has ended

// maxLine bounds a line of a tool host's log, in bytes. The rest of a longer line is a line of its
// own.
const maxLine = 64 << 10

// dumpGrace is how long a tool host that crashes may print stacks. Deep ones take it half a minute,
// in which no tool works.
const dumpGrace = 250 * time.Millisecond

// maxDump is how many lines are logged that are no records: the stacks of a tool host that has
// crashed may be thousands.
const maxDump = 40

// A logWriter passes the records of a tool host's log on.
type logWriter struct {
	log    *slog.Logger
	dumped int    // lines that are no records
	reason string // for the end of the process: as the tool host says, or the line with which a crash begins
	rest   []byte

	loading api.File   // that the tool host has begun to load
	stuck   *stuckCode // that the tool host cannot interrupt; nil: none
	onFatal func()     // is called when the tool host prints why it crashes; nil: nothing
}

// Write implements io.Writer. A panic costs one line: the goroutine is not ours.
func (w *logWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		switch {
		case len(line) > maxLine:
			line, rest = w.rest[:maxLine:maxLine], w.rest[maxLine:]
		case !whole:
			return len(p), nil
		}
		w.rest = rest
		_ = guard.Do(w.log, "reading the tool host's log", func() error {
			w.record(line)
			return nil
		})
	}
}

func (w *logWriter) record(line []byte) {
	var record map[string]any
	var level slog.Level
	if json.Unmarshal(line, &record) != nil || level.UnmarshalText([]byte(fmt.Sprint(record[slog.LevelKey]))) != nil {
		w.dump(string(line))
		return
	}
	var about stuckCode
	switch record[slog.MessageKey] {
	case api.MessageLoading:
		_ = json.Unmarshal(line, &about) // else no file is blamed
		w.loading = about.File
		return
	case api.MessageStuck:
		_ = json.Unmarshal(line, &about) // likewise
		w.stuck = &about
		delete(record, "file")
	case api.MessageCannotRun:
		w.reason = fmt.Sprint(record["err"])
	}
	attrs := []any{"says", record[slog.MessageKey]}
	for _, key := range slices.Sorted(maps.Keys(record)) {
		if key != slog.LevelKey && key != slog.MessageKey && key != slog.TimeKey {
			attrs = append(attrs, key, record[key])
		}
	}
	w.log.Log(context.Background(), level, "tool host", attrs...)
}

// dump logs a line of a tool host that crashes, up to a limit.
func (w *logWriter) dump(line string) {
	if strings.HasPrefix(line, fatal) && w.onFatal != nil {
		w.onFatal()
	}
	if w.reason == "" || isReason(line) && !isReason(w.reason) {
		w.reason = line
	}
	switch w.dumped++; {
	case w.dumped <= maxDump:
		w.log.Error("tool host", "says", line)
	case w.dumped == maxDump+1:
		w.log.Error("tool host", "says", fmt.Sprintf("more than %d lines: the rest is left out", maxDump))
	}
}

// fatal is how a program of Go begins to say why it crashes, in which case it cannot go on.
const fatal = "fatal error: "

// isReason reports whether a line says why a program of Go has crashed.
func isReason(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, fatal)
}
