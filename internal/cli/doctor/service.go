package doctor

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

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

func checkService(ctx context.Context, r *report) {
	const why = "Nobody starts the gateway when it dies, or after a reboot."
	switch err := r.keeper(); {
	case errors.Is(err, errNoServices):
		r.note("service_unknown", term.SafeSentence(err.Error()), why, "have what starts your programs run `bareclaw serve`")
		return
	case err != nil:
		r.note("service_unavailable", term.SafeSentence(err.Error()), why, "")
		return
	}
	checkJob(ctx, r, service.Gateway, "The gateway", "bareclaw service install", why)
	if r.cfg.Heartbeat.Mode == config.HeartbeatOn || r.cfg.Heartbeat.Mode != config.HeartbeatOff && !heartbeat.Declined(r.cfg.StateDir()) {
		why := "Nobody looks around regularly, nor starts the gateway if it is down."
		if !heartbeat.Asks(r.cfg) {
			why = "Nobody starts the gateway if it is down."
		}
		checkJob(ctx, r, service.Heartbeat, "The heartbeat", "bareclaw heartbeat install", why)
	}
}

// checkJob examines a job with a name for people; command installs the job, and why says
// what is lost without it.
func checkJob(ctx context.Context, r *report, job service.Job, name, command, why string) {
	before := len(r.found)
	st, err := r.Services.Status(ctx, job, r.Spec)
	switch {
	case err != nil:
		r.problem("service_status", fmt.Sprintf("%s does not report the state of %s: %v.", r.Services.System(), strings.ToLower(name), err), why, command)
		return
	case !st.Installed && job == service.Heartbeat && heartbeat.Asks(r.cfg):
		r.note("service_missing", name+" is not installed as a service.", why,
			"`"+command+"`, which has Claude asked every "+humanize.Span(time.Duration(r.cfg.Heartbeat.Interval))+"; with --revive it asks nothing, and costs nothing")
		return
	case !st.Installed:
		r.note("service_missing", name+" is not installed as a service.", why, command)
		return

	case st.Active && !st.Current:
		f := r.warning("service_outdated", fmt.Sprintf("%s is installed in %s with other files than this program would install.", name, r.Services.System()),
			"What was changed since is not in effect, such as how it is stopped and started again.", "`"+command+"`, where the gateway's .env is")
		if r.Unfit == nil {
			f.by(func(ctx context.Context) error {
				_, err := r.Services.Install(ctx, job, r.Spec)
				if errors.Is(err, service.ErrHeld) {
					return nil // the files are in place, and a gateway runs
				}
				return err
			})
		}
	case st.Problem != "":
		r.problem("service_unwell", st.Problem, why, command)
	case !st.Active:
		r.warning("service_inactive", name+" is installed, and does not run.", why, command)
	}
	if job == service.Gateway {
		if what, command := StartsOlder(r.cfg, r.Spec.Binary, st); what != "" {
			r.warning("service_older", what, "After a crash or a reboot what was changed since is gone, and an older program may not read the newer one's records.", command)
		}
	}
	if job == service.Gateway && st.System == service.Systemd {
		checkLingering(r)
	}
	if len(r.found) == before {
		r.ok("%s is installed in %s, current and active.", name, st.System)
	}
}

// StartsOlder reports a service that starts an older program than the newest build from
// source, and returns the advice. what is empty if the service starts the current
// program.
func StartsOlder(cfg config.Config, self string, st service.Status) (what, command string) {
	if !st.Installed || !st.Current || cfg.Files.Source == config.SourceOff {
		return "", ""
	}
	built, newer := program.NewerBuild(cfg.StateDir(), self)
	if !newer {
		return "", ""
	}
	return fmt.Sprintf("%s starts %s, and a restart has built a newer program, %s.", st.System, self, built),
		"install -m 755 " + quote(built) + " " + quote(self)
}

// checkLingering checks whether services of the user run while the user is logged out.
func checkLingering(r *report) {
	u, err := user.Current()
	if err != nil || exists(lingerDir+u.Username) {
		return
	}
	r.warning("not_lingering", "Services of "+u.Username+" run only while that user is logged in.",
		"The gateway is ended at logout, and not started at boot.", "loginctl enable-linger "+quote(u.Username))
}
