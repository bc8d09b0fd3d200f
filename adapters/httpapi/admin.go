package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// ErrUpgrading refuses an upgrade or a restart while another upgrade or restart is under
// way.
var ErrUpgrading = errors.New("an upgrade cannot begin now")

// admin reports the gateway's health and metrics, and restarts and upgrades the gateway.
type admin struct{ *shared }

func (a *admin) postRestart(w *response, r *http.Request) (any, error) {
	if err := readOptionalBody(w, r, &struct{}{}); err != nil {
		return nil, err
	}
	if w.local && a.RestartBuilds {
		return nil, notOnSocket("A restart that builds the program from its source tree (BARECLAW_SOURCE) is requested over TCP")
	}
	return replaced(a.Restart(r.Context()), api.RestartFailed)
}

func (a *admin) postUpgrade(_ *response, r *http.Request, o *api.UpgradeRequest) (any, error) {
	if err := a.checkOrder(r.Context(), o); err != nil {
		return nil, err
	}
	return replaced(a.Upgrade(r.Context(), *o), api.UpgradeFailed)
}

// replaced answers that another process takes over, or why none does.
func replaced(err error, failed string) (any, error) {
	switch {
	case err == nil:
		return api.Restarting{Status: "restarting"}, nil
	case errors.Is(err, core.ErrClosed):
		return nil, err
	case errors.Is(err, ErrUpgrading):
		return nil, refuse(http.StatusConflict, api.UpgradeRunning, "Not now: "+err.Error())
	}
	return nil, refuse(http.StatusServiceUnavailable, failed, "The gateway continues as it is: "+err.Error())
}

func (a *admin) checkOrder(ctx context.Context, o *api.UpgradeRequest) error {
	switch {
	case o.Rollback == (o.Path != ""):
		return badRequest(api.BadPath, `Send either "path", the program's file, or "rollback".`)
	case o.Path != "" && (o.Path[0] != '/' || strings.ContainsRune(o.Path, 0)):
		return badRequest(api.BadPath, `"path" must be an absolute path.`)
	case o.Channel == "":
		return nil
	}
	key, err := parseKey(o.Channel)
	if err != nil {
		return err
	}
	return a.checkChannel(ctx, key)
}

// healthTimeout bounds the wait for core and ledger in GET /health.
const healthTimeout = 2 * time.Second

func (a *admin) health(_ *response, r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	shown, today := a.Health(), a.Core.Channels.Spending()
	shown.UptimeMS = max(0, time.Since(shown.StartedAt).Milliseconds())
	shown.Spending = api.Spending{Day: today.Day, SpentUSD: humanize.RoundUSD(today.Spent), LimitUSD: today.Limit}
	draining := a.lifecycle.Err() != nil
	o, err := a.Core.Channels.Overview(ctx)
	if err != nil && !draining {
		shown.Problems = append(shown.Problems, "The channels do not answer: "+err.Error())
	}
	shown.Channels = api.ChannelsHealth{States: o.States(), Active: each(o.Active, showActive)}
	shown.Hosts = api.Hosts{Alive: o.Hosts, Limit: o.Limit}
	shown.Problems = append(append(shown.Problems, blockedChannels(&o)...), standstills(&o)...)
	switch b, err := a.Core.History.Balance(ctx); {
	case err == nil:
		shown.Ledger = &api.Ledger{
			Accepted:  b.Accepted,
			Answered:  b.Answered,
			Failed:    b.Failed,
			Cancelled: b.Cancelled,
			Waiting:   b.Waiting,
			Balanced:  b.Even(),
			Problem:   shown.Ledger.Problem,
		}
		if !b.Even() {
			shown.Problems = append(shown.Problems, "The ledger does not balance: some message has no outcome, or two.")
		}
	case !draining:
		shown.Problems = append(shown.Problems, "The ledger cannot be read: "+err.Error())
		fallthrough
	default:
		shown.Ledger = nil
	}
	shown.Status = status(draining, shown.Ready, shown.Agent.Problem != "" || len(shown.Problems) > 0)
	shown.Ready = shown.Ready && !draining
	return &shown, nil
}

func status(draining, ready, problems bool) string {
	switch {
	case draining:
		return api.StatusDraining
	case !ready:
		return api.StatusStarting
	case problems:
		return api.StatusDegraded
	default:
		return api.StatusOK
	}
}

func showActive(c *core.ChannelStatus) api.ActiveChannel {
	return api.ActiveChannel{
		Channel:      string(c.Key),
		State:        c.State,
		Since:        c.Since,
		Why:          c.Why,
		Until:        c.Until,
		Activity:     c.Activity,
		Waiting:      c.Waiting,
		Running:      c.Running,
		HostPID:      c.HostPID,
		AgentPID:     c.AgentPID,
		AgentVersion: c.Version,
	}
}

// standstills returns a sentence for each reason why no messages are answered, with the
// remedy.
func standstills(o *core.Overview) (problems []string) {
	for _, s := range o.Standstills() {
		problems = append(problems, strings.TrimSpace(fmt.Sprintf("Nothing is answered on %s. %s %s", namesOf(s.Channels), s.Why, remedies[s.Code])))
	}
	return problems
}

// remedies tell a person how to end a channel's parking, by code.
var remedies = map[string]string{
	core.CodeUsageLimit:  "Nothing else has to be done.",
	core.ParkedForBudget: "To go on before that, raise BARECLAW_DAILY_BUDGET_USD and restart the gateway.",
}

func namesOf(channels []core.ChannelKey) string {
	const most = 3
	var names []string
	for _, key := range channels[:min(most, len(channels))] {
		names = append(names, strconv.Quote(string(key)))
	}
	all := strings.Join(names, ", ")
	if more := len(channels) - most; more > 0 {
		all += fmt.Sprintf(" and %d more channels", more)
	}
	return all
}

func blockedChannels(o *core.Overview) (problems []string) {
	for i := range o.Active {
		if c := &o.Active[i]; c.HostBlocked != "" {
			problems = append(problems, fmt.Sprintf("Channel %q: %s", c.Key, c.HostBlocked))
		}
	}
	return problems
}

func (s *Server) observe(res *response, method string, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other" // clients must not be able to add label values
	}
	status := "gone"
	if res.status != 0 {
		status = strconv.Itoa(res.status)
	}
	s.requests.WithLabelValues(method, res.route, status).Observe(took.Seconds())
}

func (a *admin) metrics(w *response, r *http.Request) (any, error) {
	select {
	case a.scrapes <- struct{}{}:
		defer func() { <-a.scrapes }()
	case <-r.Context().Done(): // clients that do not wait must not have scrapes pile up
		return nil, context.Cause(r.Context())
	}
	text, err := metrics.Text(a.registry)
	if err != nil {
		a.Log.Error("not all metrics are collected", "err", err)
	}
	return nil, w.bytes(http.StatusOK, metrics.ContentType, text)
}

// writeMetrics writes what the API knows of the gateway. It reads nothing more once the server drains.
func (s *shared) writeMetrics(w *metrics.Writer) {
	own := s.Health()
	w.Gauge("bareclaw_build_info", "Which build this is; always 1.", 1, "go", runtime.Version(), "version", own.Version)
	const spares = "Sessions that wait for a new channel: ready ones, and how many are wanted."
	w.Gauge("bareclaw_warm_spares", spares, float64(own.Spares.Ready), "state", "ready")
	w.Gauge("bareclaw_warm_spares", spares, float64(own.Spares.Wanted), "state", "wanted")
	metrics.WriteTotals(s.lifecycle, w, s.Core.Channels, s.Core.History, s.Log)
	metrics.WriteSchedules(s.lifecycle, w, s.Schedules, s.Log)
}
