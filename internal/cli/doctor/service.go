package doctor

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"bareclaw/core/config"
	"bareclaw/heartbeat"
	"bareclaw/heartbeat/program"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

// lingerDir has a file for each user whose services run without a login
// (systemd-logind).
const lingerDir = "/var/lib/systemd/linger/"

func checkService(ctx context.Context, l *look) []Finding {
	switch err := l.keeper(); {
	case errors.Is(err, errNoServices):
		return []Finding{note("service_unknown", term.SafeSentence(err.Error()),
			"Nobody starts the gateway when it dies, or after a reboot.", "have what starts your programs run `bareclaw serve`")}
	case err != nil:
		return []Finding{note("service_unavailable", term.SafeSentence(err.Error()),
			"Nobody starts the gateway when it dies, or after a reboot.", "")}
	}
	found := checkJob(ctx, l, service.Gateway)
	if l.cfg.Heartbeat == config.HeartbeatOn || l.cfg.Heartbeat != config.HeartbeatOff && !heartbeat.Declined(l.cfg.StateDir) {
		found = append(found, checkJob(ctx, l, service.Heartbeat)...)
	}
	return found
}

func checkJob(ctx context.Context, l *look, job service.Job) []Finding {
	command, why := "bareclaw service install", "Nobody starts the gateway when it dies, or after a reboot."
	name := "The gateway"
	if job == service.Heartbeat {
		command, why, name = "bareclaw heartbeat install", "Nobody looks around regularly, nor starts the gateway if it is down.", "The heartbeat"
		if !heartbeat.Asks(l.cfg) {
			why = "Nobody starts the gateway if it is down."
		}
	}
	st, err := l.Services.Status(ctx, job, l.Spec)
	switch {
	case err != nil:
		return []Finding{problem("service_status", fmt.Sprintf("What %s knows of %s cannot be told: %v.", l.Services.System(), strings.ToLower(name), err), why, command)}
	case !st.Installed && job == service.Heartbeat && heartbeat.Asks(l.cfg):
		return []Finding{note("service_missing", name+" is not installed as a service.", why,
			"`"+command+"`, which has Claude asked every "+humanize.Span(l.cfg.HeartbeatInterval)+"; with --revive it asks nothing, and costs nothing")}
	case !st.Installed:
		return []Finding{note("service_missing", name+" is not installed as a service.", why, command)}
	}
	var found []Finding
	switch {
	case st.Active && !st.Current:
		found = append(found, outdated(l, job, name, command))
	case st.Problem != "":
		found = append(found, problem("service_unwell", st.Problem, why, command))
	case !st.Active:
		found = append(found, warning("service_inactive", name+" is installed, and does not run.", why, command))
	}
	if job == service.Gateway {
		if what, command := StartsOlder(l.cfg, l.Spec.Binary, st); what != "" {
			found = append(found, warning("service_older", what, "After a crash or a reboot what was changed since is gone, and an older program may not read the newer one's records.", command))
		}
	}
	if job == service.Gateway && st.System == service.Systemd {
		found = append(found, lingering()...)
	}
	if len(found) == 0 {
		found = append(found, ok("%s is installed in %s, current and active.", name, st.System))
	}
	return found
}

// StartsOlder reports a service that starts an older program than the newest build from
// source, and returns the advice. what is empty if the service starts the current
// program.
func StartsOlder(cfg config.Config, self string, st service.Status) (what, command string) {
	if !st.Installed || !st.Current || cfg.Source == config.SourceOff {
		return "", ""
	}
	built, newer := program.NewerBuild(cfg.StateDir, self)
	if !newer {
		return "", ""
	}
	return fmt.Sprintf("%s starts %s, and a restart has built a newer program, %s.", st.System, self, built),
		"install -m 755 " + quote(built) + " " + quote(self)
}

// outdated reports installed files that differ from the files of a new installation.
func outdated(l *look, job service.Job, name, command string) Finding {
	f := warning("service_outdated", fmt.Sprintf("%s is installed in %s with files that are not those of this program.", name, l.Services.System()),
		"What was changed since is not in effect, such as how it is stopped and started again.", "`"+command+"`, where the gateway's .env is")
	if l.Unfit != nil {
		return f
	}
	return f.by(func(ctx context.Context) error {
		_, err := l.Services.Install(ctx, job, l.Spec)
		if errors.Is(err, service.ErrHeld) {
			return nil // the files are in place, and a gateway runs
		}
		return err
	})
}

// lingering reports whether services of the user run while the user is logged out.
func lingering() []Finding {
	u, err := user.Current()
	if err != nil || exists(lingerDir+u.Username) {
		return nil
	}
	return []Finding{warning("not_lingering", "Services of "+u.Username+" run only while that user is logged in.",
		"The gateway is ended at logout, and not started at boot.", "loginctl enable-linger "+quote(u.Username))}
}
