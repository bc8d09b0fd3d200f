package setup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bareclaw/core/config"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/humanize"
	"bareclaw/internal/steps"
	"bareclaw/internal/term"
)

// The answers to the question for the heartbeat, on the command line too.
const (
	HeartbeatYes    = "yes"
	HeartbeatNo     = "no"
	HeartbeatRevive = "revive"
)

// offerHeartbeat installs the heartbeat if the user agrees, or agreed before. Claude is asked at the
// user's cost, so nothing else counts as consent.
func offerHeartbeat(ctx context.Context, w *wizard) (steps.Outcome, error) {
	cfg, err := w.load()
	if err != nil {
		return steps.Skipped("the gateway would not start: " + term.SafeLine(err.Error())), nil
	}
	if w.Heartbeat == HeartbeatNo {
		return declineHeartbeat(ctx, w, cfg)
	}
	switch {
	case cfg.Heartbeat.Mode == config.HeartbeatOff:
		return steps.Skipped("BARECLAW_HEARTBEAT is off"), nil
	case w.claude == "" || cfg.Claude.Agent == config.AgentEcho:
		return steps.Skipped("the echo agent answers, which has nothing to look after"), nil
	}
	name, why := string(w.service.System()), ""
	spec, err := service.NewSpec(w.request(cfg))
	if err != nil {
		why = "it cannot be a job of " + name + ": " + term.Safe(err.Error())
	}
	if w.service.Available(ctx) != nil {
		why = "needs " + name + ", which is not running here"
	}
	switch {
	case why != "" && w.Heartbeat != "": // a failure only for a user who asked for the heartbeat
		return steps.Outcome{}, steps.Trouble("the heartbeat was not installed: "+why, "see `bareclaw heartbeat status`")
	case why != "":
		return steps.Skipped(why), nil
	}
	status := heartbeat.Look(ctx, cfg, w.service, w.request(cfg))
	if status.Other != "" && w.Heartbeat == "" {
		return steps.Skipped("the one that is installed looks after the gateway whose state is in " + status.Other), nil
	}
	consent := knownConsent(w, cfg, &status)
	switch consent {
	case heartbeat.ConsentNo:
		return steps.Unchanged("not wanted, as you said before; `bareclaw heartbeat install` installs it"), nil
	case heartbeat.ConsentNone:
		if !w.asks() {
			return steps.Outcome{State: steps.StateSkipped, Detail: "nobody has agreed to it", Next: "choose with --heartbeat=yes, revive or no: see `bareclaw init --help`"}, nil
		}
		if consent, err = askForHeartbeat(ctx, w, cfg); err != nil {
			return steps.Outcome{}, err
		}
	}
	if consent == heartbeat.ConsentNo {
		return declineHeartbeat(ctx, w, cfg)
	}
	return installHeartbeat(ctx, w, cfg, spec, consent, &status)
}

// knownConsent returns an earlier answer of the user: on the command line, in a setting,
// in an earlier run, or by an installation of an older version.
func knownConsent(w *wizard, cfg config.Config, s *heartbeat.Status) heartbeat.Consent {
	switch {
	case w.Heartbeat == HeartbeatYes || w.Heartbeat == "" && cfg.Heartbeat.Mode == config.HeartbeatOn:
		return heartbeat.ConsentAsk
	case w.Heartbeat == HeartbeatRevive || cfg.Heartbeat.Mode == config.HeartbeatRevive && s.Consent != heartbeat.ConsentNo:
		return heartbeat.ConsentRevive
	case s.Consent == heartbeat.ConsentNone && s.Installed:
		return heartbeat.ConsentAsk
	}
	return s.Consent
}

// askForHeartbeat asks which heartbeat the user wants, and explains the effects and the costs.
func askForHeartbeat(ctx context.Context, w *wizard, cfg config.Config) (heartbeat.Consent, error) {
	tells := "is kept on the channel " + heartbeat.Channel
	if to := string(cfg.Heartbeat.Notify); to != "" {
		tells = "is sent to " + term.SafeLine(to)
	}
	w.note("%s can look after the gateway every %s:", w.service.System(), humanize.Span(time.Duration(cfg.Heartbeat.Interval)))
	w.note("y: the gateway is started if it is down, and Claude is asked whether anything needs attention. What Claude finds %s.", tells)
	w.note("   %s", heartbeatCost(w, time.Duration(cfg.Heartbeat.Interval)))
	w.note("r: the gateway is started if it is down. Claude is not asked, and it costs nothing (BARECLAW_HEARTBEAT=revive).")
	w.note("n: no heartbeat, and no later start of the gateway installs one.")
	letter, err := w.pick(ctx, steps.Question{
		Text: "Install the heartbeat?",
		Has:  "y/r/N",
		Help: "`bareclaw heartbeat status` shows what it found and what it cost, `bareclaw heartbeat uninstall` takes it back, and `bareclaw heartbeat install` installs it later.",
	})
	return map[string]heartbeat.Consent{"y": heartbeat.ConsentAsk, "r": heartbeat.ConsentRevive, "n": heartbeat.ConsentNo}[letter], err
}

// heartbeatCost estimates the cost of a heartbeat that asks Claude from the cost of the first
// message. Both begin with a fresh session.
func heartbeatCost(w *wizard, interval time.Duration) string {
	const day, month = 24 * time.Hour, 30 * 24 * time.Hour
	if w.firstCost <= 0 {
		return "What a question costs is not known yet: see `bareclaw heartbeat status` after the first ones. On a subscription they count against its limits."
	}
	return fmt.Sprintf("It costs about %s a day, %s a month: the first message cost %s by Claude's own figure, and a question in which Claude has to look into something costs more. "+
		"With an API key that is billed; on a subscription it counts against its limits instead.",
		humanize.USD(w.firstCost*float64(day)/float64(interval)), humanize.USD(w.firstCost*float64(month)/float64(interval)), humanize.USD(w.firstCost))
}

func declineHeartbeat(ctx context.Context, w *wizard, cfg config.Config) (steps.Outcome, error) {
	before, err := heartbeat.ReadConsent(cfg.StateDir())
	if err := errors.Join(err, heartbeat.SaveConsent(cfg.StateDir(), heartbeat.ConsentNo)); err != nil {
		return steps.Outcome{}, err
	}
	if w.service.Available(ctx) == nil {
		status := heartbeat.Look(ctx, cfg, w.service, w.request(cfg))
		if status.Installed && status.Other == "" {
			did, err := w.service.Uninstall(ctx, service.Heartbeat)
			w.noteAll(did)
			if err != nil {
				return steps.Outcome{}, steps.Trouble("the heartbeat was not uninstalled: "+term.SafeLine(err.Error()), "bareclaw heartbeat uninstall")
			}
			return steps.Done("the heartbeat was uninstalled"), nil
		}
	}
	const detail = "no heartbeat, as you said; `bareclaw heartbeat install` installs it"
	return steps.DoneIf(before != heartbeat.ConsentNo, detail), nil
}

// installHeartbeat records the consent and installs the job. A heartbeat that asks nothing becomes
// a setting too.
func installHeartbeat(ctx context.Context, w *wizard, cfg config.Config, spec service.Spec, consent heartbeat.Consent, before *heartbeat.Status) (steps.Outcome, error) {
	if consent == heartbeat.ConsentRevive && cfg.Heartbeat.Mode == config.HeartbeatAuto {
		if err := w.choose(varHeartbeat, string(config.HeartbeatRevive)); err != nil {
			return steps.Outcome{}, err
		}
		if _, err := w.write(); err != nil {
			return steps.Outcome{}, err
		}
	}
	if err := heartbeat.SaveConsent(cfg.StateDir(), consent); err != nil {
		return steps.Outcome{}, err
	}
	did, err := w.service.Install(ctx, service.Heartbeat, spec)
	w.noteAll(did)
	if err != nil {
		return steps.Outcome{}, steps.Trouble("the heartbeat was not installed: "+term.SafeLine(err.Error()), "bareclaw heartbeat install")
	}
	does := "asks Claude and looks after the gateway"
	if consent == heartbeat.ConsentRevive {
		does = "looks after the gateway and asks Claude nothing"
	}
	detail := fmt.Sprintf("%s calls the heartbeat every %s, which %s", w.service.System(), humanize.Span(time.Duration(cfg.Heartbeat.Interval)), does)
	return steps.DoneIf(!before.Installed || !before.Current || !before.Active, detail), nil
}
