package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/config"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/term"
)

const idleShown = 8

type status listed

// An overview is the status as the gateway reports it.
type overview struct {
	Running   bool           `json:"running"`
	PID       int            `json:"pid,omitempty"` // of the gateway, as a service manager knows it; health has that of the worker
	Health    *api.Health    `json:"health,omitempty"`
	Channels  []api.Channel  `json:"channels,omitzero"`
	Approvals []api.Approval `json:"approvals,omitzero"`
	Schedules []api.Schedule `json:"schedules,omitzero"`
	Last      *stopped       `json:"last,omitempty"`
	Settings  []string       `json:"wrong_settings,omitempty"`
}

// Run runs the command. It also works with wrong settings: the gateway may run with earlier ones.
func (s *status) Run(c *command.Context) error {
	gateway, wrong := gatewayInAnyCase(c)
	if gateway == nil {
		return wrong[0]
	}
	o, err := look(c, gateway)
	for _, p := range wrong {
		o.Settings = append(o.Settings, p.Error())
	}
	unreachable := errors.Is(err, client.ErrUnreachable) && !command.InSession()
	switch {
	case unreachable && s.JSON:
		if cfg, _ := c.LenientConfig(); cfg.StateDir() != "" {
			down, lookErr := command.LookDown(cfg.StateDir())
			err = errors.Join(err, lookErr)
			o.Last = describe(down)
		}
		err = errors.Join(err, c.PrintJSON(o))
	case err != nil:
	case s.JSON:
		return c.PrintJSON(o)
	default:
		err = c.PrintLines(overviewLines(c, &o)...)
	}
	tellWrong(c, wrong)
	return err
}

// look asks the gateway. With an error the overview is empty.
func look(c *command.Context, gateway *client.Client) (overview, error) {
	var health api.Health
	var channels api.Channels
	var approvals api.Approvals
	var schedules api.Schedules
	for _, part := range []struct {
		path string
		into any
	}{{api.PathHealth, &health}, {api.PathChannels, &channels}, {api.PathApprovals, &approvals}, {api.PathSchedules, &schedules}} {
		if err := c.Get(gateway, part.path, part.into); err != nil {
			return overview{}, err
		}
	}
	return overview{
		Running:   true,
		PID:       command.GatewayPID(c, health.PID),
		Health:    &health,
		Channels:  channels.Channels,
		Approvals: approvals.Approvals,
		Schedules: schedules.Schedules,
	}, nil
}

// gatewayInAnyCase returns a client also where settings are wrong, and what is wrong. Such a client
// sends no token. The client is nil if the settings do not say where the gateway is.
func gatewayInAnyCase(c *command.Context) (*client.Client, []*config.Problem) {
	if inherited := client.Inherited(); inherited != nil {
		return inherited, nil
	}
	cfg, wrong := c.LenientConfig()
	if len(wrong) > 0 && (cfg.StateDir() == "" || cfg.RuntimeDir() == "") {
		return nil, wrong
	}
	if len(wrong) > 0 {
		return client.OverSocket(client.Socket(cfg)), wrong
	}
	return client.Local(cfg), nil
}

// tellWrong says which settings cannot be used by a command that works without them.
func tellWrong(c *command.Context, wrong []*config.Problem) {
	for _, p := range wrong {
		c.Tellf("%s", term.WrapIndented(c.Err, "", "wrong setting: "+term.SafeLine(p.Error())))
	}
	if len(wrong) > 0 {
		c.Tellf("%s", term.WrapIndented(c.Err, "", "A gateway that is started now ends with that; one that runs goes on with its earlier settings."))
	}
}

func overviewLines(c *command.Context, o *overview) []string {
	width, _ := term.Columns(c.Out) // also in a pipe, since the status is a single screen
	colours, now := term.PaletteFor(c.Out), time.Now()
	facts := gatewayFacts(o.Health, o.PID, term.SafeLine(command.GatewayHere(c).Address), now)
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

func gatewayFacts(h *api.Health, pid int, address string, now time.Time) *command.Facts {
	t := &command.Facts{}
	state := cmp.Or(redUnless(h.Status == api.StatusOK), term.Green)
	t.AddPainted("gateway", fmt.Sprintf("%s, version %s, up %s, pid %d", h.Status, h.Version, humanize.Duration(humanize.Milliseconds(h.UptimeMS)), pid), state)
	if address != "" {
		t.Add("address", "http://"+address)
	}
	t.AddPainted("agent", strings.TrimSpace(h.Agent.Kind+" "+h.Agent.Path), redUnless(h.Agent.Problem == ""))
	sessions := fmt.Sprintf("%d of at most %d", h.Hosts.Alive, h.Hosts.Limit)
	if h.Spares.Wanted > 0 {
		sessions += fmt.Sprintf(", %d of %d spare", h.Spares.Ready, h.Spares.Wanted)
	}
	t.Add("sessions", sessions)
	t.Add("claude", versions(h.Channels.Active))
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
		says := toolCounts(tools.BySource())
		if !tools.Host.Healthy {
			says += ", tool host " + tools.Host.Status
		}
		t.AddPainted("tools", says, redUnless(tools.Host.Healthy && tools.Host.LastError == ""))
	}
	if o := h.Observers; o != nil {
		t.AddPainted("observed", humanize.Count(o.Running, "app")+openFindings(o.Open), redUnless(o.Open["critical"] == 0))
	}
	for _, p := range h.Parts {
		if len(p.Facts) == 0 { // its problem is shown with the others
			continue
		}
		t.AddPainted(term.SafeLine(p.Name), stateOf(&p, now), redUnless(p.Ready))
	}
	return t
}

// stateOf says how a part does: whether it is ready, and its facts, except for numbers that are zero.
func stateOf(p *api.Part, now time.Time) string {
	state := "ready"
	if !p.Ready {
		state = "not ready"
	}
	for _, name := range slices.Sorted(maps.Keys(p.Facts)) {
		var value string
		switch fact := p.Facts[name].(type) {
		case string:
			value = fact
			if at, err := time.Parse(time.RFC3339, fact); err == nil {
				value = humanize.Ago(at, now)
			}
		case float64:
			if fact == 0 {
				continue
			}
			value = strconv.FormatFloat(fact, 'f', -1, 64)
		default:
			continue // a script reads it as JSON
		}
		state += ", " + strings.ReplaceAll(name, "_", " ") + " " + value
	}
	return term.SafeLine(state)
}

// openFindings returns the numbers of open findings by severity, as the end of a line.
func openFindings(open map[string]int) string {
	var text string
	for _, severity := range []string{"critical", "warning", "info"} {
		if n := open[severity]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, severity)
		}
	}
	return text
}

// toolCounts returns the numbers of tools by source.
func toolCounts(sources map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		all = append(all, fmt.Sprintf("%d %s", sources[name], name))
	}
	return strings.Join(all, ", ")
}

// versions names the versions of claude that live sessions run, empty if none is known.
func versions(active []api.ActiveChannel) string {
	count := map[string]int{}
	for _, ch := range active {
		if ch.AgentVersion != "" {
			count[ch.AgentVersion]++
		}
	}
	var all []string
	for _, v := range slices.Sorted(maps.Keys(count)) {
		all = append(all, fmt.Sprintf("%s (%s)", v, humanize.Count(count[v], "session")))
	}
	return strings.Join(all, ", ")
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

// A stopped describes the last gateway while none answers.
type stopped struct {
	PID       int        `json:"pid,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`   // orderly end
	Crashed   bool       `json:"crashed"`              // unexpected end
	Hung      bool       `json:"hung"`                 // the process is alive
	Crashing  bool       `json:"crashing"`             // the process is alive, and starts its worker again and again
	StoppedAt *time.Time `json:"stopped_at,omitempty"` // stop by a person; only a person, or a boot, starts the gateway again
}

// describe returns the last gateway for programs, nil if there was none.
func describe(d command.Down) *stopped {
	if d.Why == command.NeverRan {
		return nil
	}
	last := &stopped{PID: d.PID, Crashed: d.Why == command.Crashed, Crashing: d.Why == command.Crashing}
	last.Hung = slices.Contains([]command.Downtime{command.Starting, command.Crashing, command.Unresponsive}, d.Why)
	if !d.StartedAt.IsZero() {
		last.StartedAt = &d.StartedAt
	}
	switch d.Why {
	case command.StoppedByYou:
		last.StoppedAt = &d.At
	case command.Ended:
		last.EndedAt = &d.At
	}
	return last
}
