package setup

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/samefile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
)

// A step is a part of a run.
type step struct {
	name, title string
	run         func(context.Context, *wizard) (steps.Outcome, error)
}

// A wizard is one run. No other goroutine uses a wizard.
type wizard struct {
	*Init
	c       *command.Context
	service service.Manager // of this user
	terminal
	store

	claude    string // path of the CLI; empty: none
	setups    []*adapters.Setup
	answered  bool // claude has answered, hence has a login
	portTaken bool

	toldNoService bool // the user has read why no service manager answers

	launched  bool    // a gateway was started, and may not answer yet
	running   bool    // the gateway answers
	firstCost float64 // of the first message, in US dollars; 0: not known
}

// run runs all steps and returns their outcomes, also with an error: ctx's error after an
// interruption, or a [*config.Problem] for a bad file of settings, in which case nothing
// was changed.
func (w *wizard) run(ctx context.Context) (Summary, error) {
	if err := w.open(); err != nil {
		return Summary{}, err
	}
	if names := w.readHere(); len(names) > 0 {
		w.tell("The .env in this directory is read too, and wins for a gateway that is started here. It sets %s.", strings.Join(names, ", "))
	}
	summary := Summary{EnvFile: w.path}
	plan := w.plan()
	for i, s := range plan {
		if i > 0 {
			w.say("")
		}
		w.say("%d/%d %s", i+1, len(plan), s.title)
		outcome, err := s.run(ctx, w)
		if ctx.Err() != nil || errors.Is(err, errEnd) {
			w.interrupted()
			return summary, context.Canceled
		}
		switch {
		case errors.Is(err, steps.ErrSkipped):
			outcome = steps.Skipped("as it is")
		case err != nil:
			outcome = failure(err)
			outcome.Next = cmp.Or(outcome.Next, "see what `bareclaw doctor` says")
		}
		word := map[steps.State]string{
			steps.StateDone: "Done", steps.StateUnchanged: "Fine", steps.StateSkipped: "Skipped", steps.StateFailed: "FAILED",
		}[outcome.State]
		w.note("%s: %s", word, term.SafeLine(outcome.Detail))
		w.advise(outcome.Next)
		summary.Steps = append(summary.Steps, Outcome{Step: s.name, Outcome: outcome})
	}
	summary.OK = !slices.ContainsFunc(summary.Steps, func(o Outcome) bool { return o.State == steps.StateFailed })
	summary.Running = w.running
	summary.access(w.setups)
	w.close(summary)
	return summary, nil
}

// plan returns the steps in their order. Adapters are connected before the settings are saved, and
// admit people afterwards.
func (w *wizard) plan() []step {
	before := []step{
		{"claude", "Claude Code", findClaude},
		{"login", "Its login", checkLogin},
		{"settings", "Settings", chooseSettings},
		{"permissions", "What Claude may do", choosePermissions},
	}
	saving := step{"save", "Saving", saveSettings}
	after := []step{
		{"service", "Keeping it running", startGateway},
		{"message", "A first message", sendFirstMessage},
		{"heartbeat", "The heartbeat", offerHeartbeat}, // after the first message, for an estimate of the costs
		{"doctor", "A look at everything", runDoctor},
	}
	var connect, admit []step
	for _, s := range w.setups {
		connect = append(connect, ofAdapter(s.Connect))
		admit = append(admit, ofAdapter(s.Admit))
	}
	return slices.Concat(before, connect, []step{saving}, admit, after)
}

// open reads the settings.
func (w *wizard) open() error {
	here, users, err := config.DotEnvFiles(config.AsGateway)
	if err != nil {
		return err
	}
	if users == "" {
		return steps.Trouble("The directory of the user's configuration is not known.", "set HOME or XDG_CONFIG_HOME")
	}
	w.path = users
	if _, err := openEnv(w.path); err != nil {
		return err
	}
	_, missing := os.Stat(w.path)
	w.fresh = errors.Is(missing, fs.ErrNotExist)
	w.shadows = map[string]string{}
	if here != "" {
		if w.shadows, err = config.ReadDotEnv(here); err != nil {
			return err
		}
	}
	return w.adopt()
}

// adopt copies settings from the environment to the file, the single place for changes: a
// service would keep the environment of the installation.
func (w *wizard) adopt() error {
	for _, v := range config.Variables() {
		if value := w.inEnviron(v.Name); value != "" {
			if err := w.choose(v.Name, value); err != nil {
				return err
			}
		}
	}
	token := w.current(varHTTP)
	maps.Copy(w.choices, w.onCommandLine)
	switch w.onCommandLine[varHTTP] {
	case None:
		w.choices[varHTTP] = ""
	case Generate: // only if none is set
		w.choices[varHTTP] = cmp.Or(token, rand.Text())
	}
	set := config.HeartbeatMode(w.current(varHeartbeat))
	switch {
	case w.Heartbeat == HeartbeatRevive:
		w.choices[varHeartbeat] = string(config.HeartbeatRevive)
	case w.Heartbeat != "" && set != "" && set != config.HeartbeatAuto:
		w.choices[varHeartbeat] = string(config.HeartbeatAuto)
	}
	return nil
}

// request describes the service as `bareclaw service install` does.
func (w *wizard) request(cfg config.Config) service.Request {
	dir, _ := config.WorkingDir() // none is refused as a directory
	return service.Request{
		Binary:   w.c.Self,
		Dir:      dir,
		Environ:  w.daemonEnviron(),
		Claude:   string(cfg.Claude.Command),
		StateDir: cfg.StateDir(),
		Interval: time.Duration(cfg.Heartbeat.Interval),
		Echo:     w.claude == "", // the first step has reported a missing claude
	}
}

// settle takes a given value or asks until the value is good. Without a terminal settle
// returns the first problem.
func (w *wizard) settle(ctx context.Context, name string, q steps.Question, byDefault string, take func(string) error) error {
	for {
		value := byDefault
		if w.asks() && !w.given(name) {
			answer, err := w.ask(ctx, q)
			if err != nil {
				return err
			}
			value = cmp.Or(answer, byDefault)
		}
		err := take(value)
		if err == nil || !w.asks() || w.given(name) {
			return err
		}
		if errors.Is(err, errAnother) {
			continue
		}
		o := failure(err)
		w.note("%s", term.SafeLine(o.Detail))
		w.advise(o.Next)
	}
}

func (w *wizard) interrupted() {
	w.say("")
	w.say("Interrupted. Nothing is half done.")
	if !w.wrote {
		w.say("No setting was changed.")
	}
	if names := w.heldBack(); len(names) > 0 {
		w.say("%s was not saved.", strings.Join(names, ", "))
	}
	if w.launched && !w.running {
		w.say("The gateway was started and runs on: see `bareclaw status`.")
	}
	w.say("Go on with: bareclaw init")
}

func (w *wizard) close(s Summary) {
	w.say("")
	if s.OK {
		w.say("All set.")
	} else {
		w.tell("Not all went well; what is marked FAILED says how to go on. Run `bareclaw init` again at any time.")
	}
	w.say("  Settings   %s", term.SafeLine(w.path))
	dir := w.stateDir()
	if dir != "" {
		w.say("  State      %s", term.SafeLine(dir))
	}
	name := w.commandName()
	if name != programName {
		defer w.tell("%s is not in a directory of your PATH, so it is called by its whole name.", programName)
	}
	if !w.running {
		w.say("  Start      %s start", name)
		return
	}
	address := net.JoinHostPort(w.host(), w.port())
	if h, alive, _ := statemark.Gateway(dir); alive && h.Address != "" { // the address for port 0
		address = h.Address
	}
	w.say("  HTTP       http://%s", term.SafeLine(address))
	next := []string{name + " chat", name + " status", name + " send CHANNEL TEXT"}
	for _, setup := range w.setups {
		access := setup.Access()
		if access.Link == "" {
			continue
		}
		w.say("  %-10s %s", setup.Title, term.SafeLine(access.Link))
		next = []string{term.SafeLine(access.Greet), name + " status"}
	}
	for i, line := range next {
		w.say("  %-10s %s", []string{"Next", ""}[min(i, 1)], line)
	}
}

// programName is what a person calls.
const programName = "bareclaw"

// commandName returns how a person calls this program: by its name if the PATH leads to it, else by
// its path.
func (w *wizard) commandName() string {
	found, err := exec.LookPath(programName)
	if err == nil && samefile.Paths(found, w.c.Self) {
		return programName
	}
	return term.SafeLine(w.c.Self)
}
