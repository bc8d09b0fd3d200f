package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/cli/lifecycle"
	"bareclaw/internal/humanize"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/statemark"
	"bareclaw/internal/term"
)

const idleShown = 8

type status listed

// An overview is the status as the gateway reports it.
type overview struct {
	Running   bool           `json:"running"`
	Health    *api.Health    `json:"health,omitempty"`
	Channels  []api.Channel  `json:"channels,omitzero"`
	Approvals []api.Approval `json:"approvals,omitzero"`
	Schedules []api.Schedule `json:"schedules,omitzero"`
	Last      *stopped       `json:"last,omitempty"`
}

// Run runs the command.
func (s *status) Run(c *command.Context, gateway *client.Client) error {
	var health api.Health
	var channels api.Channels
	var approvals api.Approvals
	var schedules api.Schedules
	for _, part := range []struct {
		path string
		into any
	}{{api.PathHealth, &health}, {api.PathChannels, &channels}, {api.PathApprovals, &approvals}, {api.PathSchedules, &schedules}} {
		err := c.Get(gateway, part.path, part.into)
		if errors.Is(err, client.ErrUnreachable) && !command.InSession() {
			return reportNotRunning(c, s.JSON, err)
		}
		if err != nil {
			return err
		}
	}
	o := overview{Running: true, Health: &health, Channels: channels.Channels, Approvals: approvals.Approvals, Schedules: schedules.Schedules}
	if s.JSON {
		return c.PrintJSON(o)
	}
	return c.PrintLines(overviewLines(c, &o)...)
}

func overviewLines(c *command.Context, o *overview) []string {
	width, _ := term.Columns(c.Out) // also in a pipe, since the status is a single screen
	colours, now := term.PaletteFor(c.Out), time.Now()
	facts := gatewayFacts(o.Health, gatewayAddress(c), now)
	for i, line := range nextSchedules(o.Schedules, now) {
		facts.Add([]string{"schedules", ""}[min(i, 1)], line)
	}
	lines := facts.Lines(colours, width)
	for _, p := range append([]string{o.Health.Agent.Problem}, o.Health.Problems...) {
		lines = append(lines, problemLines(term.SafeLine(p), colours, width)...)
	}
	if failed := o.Health.FailedRestart; failed != nil {
		lines = append(lines, term.Wrap("The last restart failed ("+humanize.Ago(failed.At, now)+"), and the gateway went on as it was: "+term.SafeLine(failed.Error), width)...)
	}
	lines = append(lines, "")
	lines = append(lines, shownChannels(o.Channels, colours, now, width)...)
	if len(o.Approvals) > 0 {
		lines = append(lines, "", colours.Paint(term.Yellow, "Waits for a decision (bareclaw approvals allow|deny ID):"))
		lines = append(lines, approvalTable(o.Approvals, now).Lines(colours, width)...)
	}
	return lines
}

func problemLines(problem string, colours term.Palette, width int) []string {
	if problem == "" {
		return nil
	}
	mark := "! "
	lines := term.Wrap(problem, width-len(mark))
	for i := range lines {
		lines[i], mark = colours.Paint(term.Red, mark+lines[i]), "  "
	}
	return lines
}

func gatewayFacts(h *api.Health, address string, now time.Time) *command.Facts {
	t := &command.Facts{}
	state := cmp.Or(redUnless(h.Status == api.StatusOK), term.Green)
	t.AddPainted("gateway", fmt.Sprintf("%s, version %s, up %s, pid %d", h.Status, h.Version, humanize.Duration(humanize.Milliseconds(h.UptimeMS)), h.PID), state)
	if address != "" {
		t.Add("address", "http://"+address)
	}
	t.AddPainted("agent", strings.TrimSpace(h.Agent.Kind+" "+h.Agent.Path), redUnless(h.Agent.Problem == ""))
	sessions := fmt.Sprintf("%d of at most %d", h.Hosts.Alive, h.Hosts.Limit)
	if h.Spares.Wanted > 0 {
		sessions += fmt.Sprintf(", %d of %d spare", h.Spares.Ready, h.Spares.Wanted)
	}
	t.Add("sessions", sessions)
	today := humanize.USD(h.Spending.SpentUSD)
	if h.Spending.LimitUSD > 0 {
		spent, limit := humanize.USDOfLimit(h.Spending.SpentUSD, h.Spending.LimitUSD)
		today = spent + " of " + limit
	}
	t.AddPainted("cost today", today, redUnless(h.Spending.LimitUSD == 0 || h.Spending.SpentUSD < h.Spending.LimitUSD))
	if h.Ledger != nil {
		t.AddPainted("messages", fmt.Sprintf("%d accepted, %d failed, %d open", h.Ledger.Accepted, h.Ledger.Failed, h.Ledger.Waiting),
			redUnless(h.Ledger.Balanced))
	}
	if tools := h.Tools; tools != nil {
		says := fmt.Sprintf("%d of the gateway, %d built in, %d dynamic", tools.Gateway, tools.Builtin, tools.Dynamic)
		if !tools.Host.Healthy {
			says += ", tool host " + tools.Host.Status
		}
		t.AddPainted("tools", says, redUnless(tools.Host.Healthy && tools.Host.LastError == ""))
	}
	if tg := h.Telegram; tg != nil {
		says := "not connected"
		if tg.Ready {
			says = "@" + tg.Bot + ", last heard " + humanize.Ago(tg.LastPoll, now)
		}
		says += fmt.Sprintf(", %s pending", humanize.Count(tg.Pending, "delivery"))
		if tg.Failed > 0 {
			says += fmt.Sprintf(", %d given up", tg.Failed)
		}
		t.AddPainted("telegram", says, redUnless(tg.Ready))
	}
	return t
}

// redUnless is the colour of a fact: none if all is well.
func redUnless(well bool) term.Colour {
	if well {
		return ""
	}
	return term.Red
}

// shownChannels shows all busy channels, and the idle channels that were used last.
func shownChannels(all []api.Channel, colours term.Palette, now time.Time, width int) []string {
	if len(all) == 0 {
		return []string{"No channel yet."}
	}
	slices.SortStableFunc(all, func(a, b api.Channel) int { return b.LastAt.Compare(a.LastAt) })
	var shown, resting []api.Channel
	for _, ch := range all {
		if ch.State == "idle" && ch.Waiting == 0 && ch.Approvals == 0 {
			resting = append(resting, ch)
		} else {
			shown = append(shown, ch)
		}
	}
	more := max(0, len(resting)-idleShown)
	shown = append(shown, resting[:len(resting)-more]...)
	lines := channelTable(shown, now).Lines(colours, width)
	if more > 0 {
		lines = append(lines, colours.Paint(term.Faint, fmt.Sprintf("… and %d more at rest: bareclaw channels", more)))
	}
	return lines
}

// gatewayAddress returns the address of the running gateway, empty if unknown: a session
// does not know the state directory of its gateway.
func gatewayAddress(c *command.Context) string {
	if command.InSession() {
		return ""
	}
	cfg, err := c.Config()
	if err != nil {
		return ""
	}
	h, _, _ := statemark.Gateway(cfg.StateDir) // unknown: empty
	return term.SafeLine(h.Address)
}

// A stopped describes the last gateway while none answers.
type stopped struct {
	PID       int        `json:"pid,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`   // orderly end
	Crashed   bool       `json:"crashed"`              // unexpected end
	Hung      bool       `json:"hung"`                 // the process is alive
	StoppedAt *time.Time `json:"stopped_at,omitempty"` // stop by a person; only a person, or a boot, starts the gateway again
}

// reportNotRunning says when the gateway ended and how, and returns the error of the command.
func reportNotRunning(c *command.Context, asJSON bool, why error) error {
	cfg, err := c.Config()
	if err != nil {
		return err
	}
	last, said, err := lastGateway(cfg.StateDir, time.Now())
	if err != nil {
		return errors.Join(why, err)
	}
	if at, byUser := statemark.StoppedAt(cfg.StateDir); byUser && last != nil && !last.Hung {
		last.StoppedAt, last.Crashed = &at, false
		said = fmt.Sprintf("The gateway was stopped by you at %s, and stays down until you start it.", humanize.Clock(at, time.Now()))
	}
	if asJSON {
		if err := c.PrintJSON(overview{Last: last}); err != nil {
			return err
		}
	} else {
		c.Tellf("%s", said)
		c.Tellf("Its state is in %s.", term.SafeLine(cfg.StateDir))
		if last != nil && last.StoppedAt != nil {
			managed, err := lifecycle.ManagedBy(c.Context, service.Local(), cfg.StateDir)
			if err != nil { // the service manager does not answer
				c.Tellf("%s", command.ErrorText(err))
			}
			c.Tellf("Start it with `%s`.", managed.StartCommand())
		}
	}
	if last == nil {
		return command.NeverRan(why)
	}
	return why
}

// lastGateway describes the last gateway by its lock file.
func lastGateway(stateDir string, now time.Time) (last *stopped, said string, err error) {
	h, alive, err := statemark.Gateway(stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "No gateway has run here yet.", nil
	}
	if err != nil {
		return nil, "", err
	}
	last = &stopped{PID: h.PID, StartedAt: &h.StartedAt}
	switch {
	case alive:
		last.Hung = true
		return last, fmt.Sprintf("The gateway's process %d has been running since %s, but cannot be reached.", h.PID, humanize.Clock(h.StartedAt, now)), nil
	case !h.Ended:
		last.Crashed = true
		return last, fmt.Sprintf("The gateway that was started %s (pid %d) has crashed or was killed.",
			humanize.Clock(h.StartedAt, now), h.PID), nil
	}
	st, err := os.Stat(filepath.Join(stateDir, lockfile.StateLockName))
	if err != nil {
		return nil, "", fmt.Errorf("look at the state directory's lock: %w", err)
	}
	at := st.ModTime() // the last write was at the gateway's end
	last.EndedAt = &at
	return last, fmt.Sprintf("The gateway has ended as it was told to, %s (it was started %s).", humanize.Clock(at, now), humanize.Clock(h.StartedAt, now)), nil
}
