package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/doctor"
	"bareclaw/internal/detached"
	"bareclaw/internal/humanize"
	"bareclaw/internal/logfile"
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
	"bareclaw/internal/wait"
)

// readyLimit is how long the gateway may take to serve.
const readyLimit = 30 * time.Second

// startGateway installs the service, or starts the gateway, and waits until the gateway serves.
func startGateway(ctx context.Context, w *wizard) (steps.Outcome, error) {
	if w.portTaken {
		return steps.Skipped("the gateway could not listen on its port"), nil
	}
	cfg, err := w.load()
	if err != nil {
		return steps.Outcome{}, steps.Trouble("the gateway would not start: "+term.SafeLine(err.Error()), "mend that in "+w.path+" and run this again")
	}
	if w.NoService {
		return startAlone(ctx, w, cfg)
	}
	if err := w.service.Available(ctx); err != nil {
		w.note("%s", term.SafeSentence(err.Error()))
		w.toldNoService = true
		return startAlone(ctx, w, cfg)
	}
	name := string(w.service.System())
	spec, err := service.NewSpec(w.request(cfg))
	if err != nil {
		w.note("It cannot be a service of %s: %s", name, term.Safe(err.Error()))
		return startAlone(ctx, w, cfg)
	}
	return installService(ctx, w, cfg, spec, name)
}

func installService(ctx context.Context, w *wizard, cfg config.Config, spec service.Spec, name string) (steps.Outcome, error) {
	status, err := w.service.Status(ctx, service.Gateway, spec)
	if err != nil {
		return steps.Outcome{}, fmt.Errorf("ask %s for the gateway's service: %w", name, err)
	}
	if !status.Installed {
		yes, err := w.agree(ctx, "Have "+name+" keep the gateway running?", "It starts it when you log in, and again whenever it ends. `bareclaw service uninstall` takes that back.")
		if err != nil {
			return steps.Outcome{}, err
		}
		if !yes {
			return startAlone(ctx, w, cfg)
		}
	}
	old, _ := gatewayHealth(ctx, cfg)
	if err := installGateway(ctx, w, spec); err != nil {
		return steps.Outcome{}, err
	}
	if err := awaitGateway(ctx, w, cfg, api.Health{}); err != nil {
		return steps.Outcome{}, err
	}
	if now, ok := gatewayHealth(ctx, cfg); ok && w.wrote && now.PID == old.PID && now.StartedAt.Equal(old.StartedAt) {
		return restartGateway(ctx, w, cfg, old)
	}
	return steps.DoneIf(!status.Active || !status.Current, name+" keeps the gateway running"), nil
}

// installGateway installs the gateway's job. A gateway started by hand is replaced if the
// user agrees.
func installGateway(ctx context.Context, w *wizard, spec service.Spec) error {
	did, err := w.service.Install(ctx, service.Gateway, spec)
	w.noteAll(did)
	if errors.Is(err, service.ErrHeld) {
		held := steps.Trouble("a gateway that was started in another way runs already", "end it (Ctrl-C in its terminal) or run `bareclaw service install --take-over`, then run this again")
		if !w.asks() {
			return held
		}
		w.note("A gateway that was started in another way runs already.")
		yes, askErr := w.agree(ctx, "Have the service take its place?", "Its sessions go on. If it runs in a terminal, it ends there.")
		if askErr != nil {
			return askErr
		}
		if !yes {
			return held
		}
		did, err = service.TakeOver(ctx, w.service, spec)
		w.noteAll(did)
	}
	if err != nil {
		return steps.Trouble(term.SafeLine(err.Error()), "see `bareclaw service status`, or run the gateway without a service: `bareclaw init --no-service`")
	}
	return nil
}

// startAlone starts the gateway in the background without a service manager.
func startAlone(ctx context.Context, w *wizard, cfg config.Config) (steps.Outcome, error) {
	running, isRunning := gatewayHealth(ctx, cfg)
	switch {
	case isRunning && w.wrote:
		return restartGateway(ctx, w, cfg, running)
	case isRunning:
		w.running = true
		return steps.Unchanged(fmt.Sprintf("the gateway runs already (pid %d)", running.PID)), nil
	}
	start := !w.NoStart
	if start {
		var err error
		start, err = w.agree(ctx, "Start the gateway now, in the background?", "It will not start again after a reboot. `bareclaw stop` ends it, `bareclaw start` starts it again, and `bareclaw serve` runs it in a terminal.")
		if err != nil {
			return steps.Outcome{}, err
		}
	}
	if !start {
		return steps.Outcome{State: steps.StateSkipped, Detail: "the gateway does not run", Next: "start it with `bareclaw start`"}, nil
	}
	if err := launchGateway(ctx, w, cfg); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Outcome{State: steps.StateDone, Detail: "the gateway runs in the background", Next: "it will not start again after a reboot; start it at boot with `bareclaw serve`"}, nil
}

func restartGateway(ctx context.Context, w *wizard, cfg config.Config, old api.Health) (steps.Outcome, error) {
	if err := client.Local(cfg).Do(ctx, "POST", api.PathRestart, nil, nil); err != nil {
		return steps.Outcome{}, steps.Trouble("the gateway runs on with its old settings: "+term.SafeLine(err.Error()), "restart it with `bareclaw restart`")
	}
	if err := awaitGateway(ctx, w, cfg, old); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Done("the gateway was restarted with the new settings"), nil
}

func gatewayHealth(ctx context.Context, cfg config.Config) (h api.Health, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := client.Local(cfg).Do(ctx, "GET", api.PathHealth, nil, &h)
	return h, err == nil
}

// awaitGateway waits until a gateway serves that is not the old one.
func awaitGateway(ctx context.Context, w *wizard, cfg config.Config, old api.Health) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	err := wait.Poll(ctx, 50*time.Millisecond, func() (bool, error) {
		h, ok := gatewayHealth(ctx, cfg)
		return ok && h.Ready && (h.PID != old.PID || h.StartedAt.After(old.StartedAt)), nil
	})
	if err != nil {
		return steps.Trouble(fmt.Sprintf("the gateway does not serve after %s", readyLimit), "see what it says: `bareclaw logs`")
	}
	w.running = true
	return nil
}

// launchGateway starts a gateway that outlives this program and its terminal.
func launchGateway(ctx context.Context, w *wizard, cfg config.Config) error {
	path := filepath.Join(cfg.StateDir(), logfile.Name)
	started, err := detached.Gateway{Self: w.c.Self, Environ: w.daemonEnviron(), Log: path}.Start()
	if err != nil {
		return err
	}
	w.launched = true
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errEnded := errors.New("the gateway has ended")
	go func() { // ends with the gateway, or this program
		<-started.Ended //nolint:errcheck // the log says why
		cancel(errEnded)
	}()
	err = awaitGateway(ctx, w, cfg, api.Health{})
	if !errors.Is(context.Cause(ctx), errEnded) {
		return err
	}
	said := term.SafeLine(started.LastLine())
	if said == "" { // for example on a full disk
		return steps.Trouble("the gateway ended and could not say why", "see what `bareclaw serve` says in a terminal, and `bareclaw doctor`")
	}
	return steps.Trouble("the gateway ended: "+said, "mend that and run this again; all it said is in "+path)
}

// answerLimit is how long the first answer may take.
const answerLimit = 2 * time.Minute

// firstChannel is the channel of the first message: that of `bareclaw chat`, which goes on there.
const firstChannel = "terminal"

// sendFirstMessage sends a message to the gateway and shows the answer.
func sendFirstMessage(ctx context.Context, w *wizard) (steps.Outcome, error) {
	switch {
	case !w.running:
		return steps.Skipped("the gateway does not run"), nil
	case w.NoTurn:
		return steps.Skipped("as asked (--no-turn)"), nil
	}
	cfg, err := w.load()
	if err != nil {
		return steps.Outcome{}, err
	}
	gateway := client.Local(cfg)
	const text = "Hello! Say in one short sentence that you are there."
	w.note("> %s", text)
	var answer api.Message
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	begun := time.Now()
	if err := gateway.Do(limited, "POST", api.PathMessage, api.MessageRequest{Channel: firstChannel, Text: text}, &answer); err != nil {
		return steps.Outcome{}, steps.Trouble("no answer came: "+term.SafeLine(err.Error()), "see `bareclaw status`: the message may still be answered")
	}
	took := humanize.Duration(time.Since(begun))
	if answer.IsError {
		return steps.Outcome{}, steps.Trouble("the message failed: "+term.SafeLine(answer.Text), "mend that, then: bareclaw send "+firstChannel+" hello")
	}
	w.answered = w.answered || len(answer.Notices) == 0 // the echo agent's answers have notices
	w.firstCost = answer.CostUSD
	w.note("< %s", term.SafeLine(humanize.Shorten(answer.Text, 500)))
	return steps.Done(fmt.Sprintf("answered in %s", took)), nil
}

func runDoctor(ctx context.Context, w *wizard) (steps.Outcome, error) {
	if w.NoDoctor {
		return steps.Skipped("as asked (--no-doctor)"), nil
	}
	o := doctor.Options{Report: config.Examine(config.AsGateway), Version: w.c.Version, Self: w.c.Self, Answered: w.answered, Services: w.service}
	o.Environ = os.Environ() // including the variables of .env files
	o.Spec, o.Unfit = service.NewSpec(w.request(o.Report.Config))
	findings := doctor.Run(ctx, o)
	if ctx.Err() != nil {
		return steps.Outcome{}, ctx.Err()
	}
	shown := findings
	if w.toldNoService {
		shown = slices.DeleteFunc(slices.Clone(findings), func(f doctor.Finding) bool { return f.Code == "service_unavailable" })
	}
	if err := doctor.Print(w.out, shown, true); err != nil {
		return steps.Outcome{}, fmt.Errorf("print what was found: %w", err)
	}
	switch {
	case !doctor.Healthy(findings):
		return steps.Outcome{}, steps.Trouble("something needs your attention: see above", "bareclaw doctor")
	case slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Level == doctor.Warning }):
		return steps.Unchanged("it works; what is marked above deserves a look"), nil
	}
	return steps.Unchanged("it works, and nothing is in the way"), nil
}
