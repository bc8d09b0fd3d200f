package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/core/schedule"
	"bareclaw/heartbeat"
	"bareclaw/internal/cli/command"
	"bareclaw/internal/humanize"
	"bareclaw/internal/shortid"
	"bareclaw/internal/term"
	zones "bareclaw/internal/zone"
)

type schedules struct {
	Add    scheduleAdd    `cmd:"" help:"Send a text to a channel's agent at set times; the answer goes to the channel."`
	List   scheduleList   `cmd:"" default:"withargs" help:"List the schedules."`
	Show   scheduleShow   `cmd:"" help:"Show a schedule and what became of its last due times."`
	Pause  schedulePause  `cmd:"" help:"Send nothing until it is resumed."`
	Resume scheduleResume `cmd:"" help:"Send again, from the next due time on."`
	Run    scheduleRun    `cmd:"" help:"Send the text now, besides its times."`
	Remove scheduleRemove `cmd:"" help:"Remove a schedule."`
}

type scheduleAdd struct {
	Channel string `arg:"" optional:"" help:"The channel that the text is for, such as tg-12345."`
	Text    string `arg:"" optional:"" help:"What Claude gets; - reads it from standard input."`

	Cron  string `xor:"when" placeholder:"EXPR" help:"At the times of a cron expression: '0 9 * * 1-5', @daily."`
	At    string `xor:"when" placeholder:"TIME" help:"Once: '2030-01-31 09:00', 18:30, 2030-01-31T09:00:00+01:00."`
	In    string `xor:"when" placeholder:"DURATION" help:"Once, after a while: 20m, 1d12h."`
	Every string `xor:"when" placeholder:"DURATION" help:"Again and again: 2h, 1d."`

	TZ       string  `name:"tz" placeholder:"ZONE" help:"The zone of these times, such as Europe/Berlin; that of the gateway (BARECLAW_TZ) unless it is given."`
	Missed   string  `placeholder:"RULE" help:"What to do about times that passed while the gateway did not run: skip, once, 'within 30m'."`
	Precheck string  `placeholder:"COMMAND" help:"A command line to run first: Claude is asked only if it ends with status 0."`
	Budget   float64 `placeholder:"USD" help:"Limit of the cost of the answers per day; no limit by default."`
	JSON     bool    `name:"json" help:"Print the schedule as JSON."`
}

// Help is shown below the summary.
func (*scheduleAdd) Help() string {
	return "One of --at, --in, --every and --cron sets the time.\n\n" +
		"Examples:\n\n  bareclaw schedule add tg-12345 'remind me to call the dentist' --at 18:30\n\n" +
		"  bareclaw schedule add ops 'look through the logs of the night' --cron '0 7 * * 1-5'"
}

// Validate checks the time and the budget.
func (a *scheduleAdd) Validate() error {
	switch {
	case a.Channel == "" || a.Text == "":
		return command.Usagef("which channel, which text, and when? bareclaw schedule add CHANNEL TEXT --at TIME (or --in, --every, --cron)")
	case a.At == "" && a.In == "" && a.Every == "" && a.Cron == "":
		return command.Usagef("when? Give one of --at TIME, --in DURATION, --every DURATION, --cron EXPR")
	case !(a.Budget >= 0) || math.IsInf(a.Budget, 0): // NaN is neither
		return command.Usagef("a budget is an amount of USD, not %v", a.Budget)
	}
	return nil
}

// Run runs the command.
func (a *scheduleAdd) Run(c *command.Context, gateway *client.Client) error {
	text, err := command.MessageText(c, a.Text)
	if err != nil {
		return err
	}
	if a.Precheck != "" { // the Unix socket refuses prechecks
		direct, err := c.Decider()
		if errors.Is(err, command.ErrInSession) {
			return errors.New("a schedule with a precheck can only be made by people, because a precheck runs without permission. Leave out --precheck, and do the check when the text arrives")
		}
		if err != nil {
			return err
		}
		gateway = direct.Client
	}
	if err := command.ConfirmNew(c, gateway, a.Channel); err != nil {
		return err
	}
	kind, when, _ := a.when()
	body := api.ScheduleRequest{Channel: a.Channel, Text: text, When: kind + " " + when, TZ: a.TZ, Missed: a.Missed, Precheck: a.Precheck, BudgetUSD: a.Budget}
	return a.inFlags(request(c, gateway, http.MethodPost, api.PathSchedules, body, a.JSON, func(s *api.Schedule) error {
		return c.PrintLines(addedLines(s, time.Now())...)
	}))
}

// inFlags translates a refusal of the gateway from members of the request to flags.
func (a *scheduleAdd) inFlags(err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	var flag string
	says := refused.Text
	switch refused.Code {
	case api.BadWhen:
		name, _, form := a.when()
		flag = "--" + name
		if text, advised := strings.CutSuffix(says, schedule.Accepted); advised {
			says = text + form
		}
	case api.BadTZ, api.BadMissed, api.BadPrecheck, api.BadBudget:
		flag = "--" + strings.TrimPrefix(refused.Code, "bad_")
	case api.MissingText:
		flag, says = "TEXT", "it is blank."
	case api.BadText:
		flag = "TEXT"
	case api.BadChannel:
		flag = "CHANNEL"
	default:
		return err
	}
	says = strings.NewReplacer("Send ", "Give ", `"text" must`, "it must", "the zone is a member of its own", "the zone is given with --tz", `"every"`, "--every").Replace(says)
	return command.Usagef("%s: %s", flag, says)
}

// when returns the flag with the time, the flag's value, and the syntax of the value.
func (a *scheduleAdd) when() (flag, value, form string) {
	switch {
	case a.Cron != "":
		return "cron", a.Cron, "Give five fields, such as '0 9 * * 1-5', or one of @hourly, @daily, @weekly, @monthly, @yearly."
	case a.At != "":
		return "at", a.At, "Give a time, such as '2030-01-31 09:00', 2030-01-31T09:00:00+01:00 or 18:30."
	case a.In != "":
		return "in", a.In, "Give a duration, such as 20m or 1d12h."
	}
	return "every", a.Every, "Give a duration of at least a minute, such as 2h or 1d."
}

type scheduleList listed

// Run runs the command.
func (l *scheduleList) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, api.PathSchedules, l.JSON, func(got *api.Schedules) error {
		if len(got.Schedules) == 0 {
			return c.PrintLines("There are no schedules. Make one with `bareclaw schedule add`.")
		}
		return c.PrintLines(listLines(got, time.Now())...)
	})
}

type scheduleShow ofSchedule

// Run runs the command.
func (s *scheduleShow) Run(c *command.Context, gateway *client.Client) error {
	return fetch(c, gateway, api.SchedulePath(s.ID), s.JSON, func(got *api.Schedule) error {
		return c.PrintLines(scheduleLines(got, time.Now())...)
	})
}

type scheduleRemove ofSchedule

// Run runs the command.
func (r *scheduleRemove) Run(c *command.Context, gateway *client.Client) error {
	return request(c, gateway, http.MethodDelete, api.SchedulePath(r.ID), nil, r.JSON, func(removed *api.Removed) error {
		return c.PrintLines("Removed schedule " + term.SafeLine(removed.ID) + ".")
	})
}

type schedulePause ofSchedule

// Run runs the command.
func (p *schedulePause) Run(c *command.Context, gateway *client.Client) error {
	return request(c, gateway, http.MethodPost, api.SchedulePath(p.ID)+"/pause", nil, p.JSON, func(s *api.Schedule) error {
		return c.PrintLines("Paused schedule " + term.SafeLine(s.ID) + ". It sends nothing until `bareclaw schedule resume " + term.SafeLine(s.ID) + "`.")
	})
}

type scheduleResume ofSchedule

// Run runs the command.
func (r *scheduleResume) Run(c *command.Context, gateway *client.Client) error {
	return request(c, gateway, http.MethodPost, api.SchedulePath(r.ID)+"/resume", nil, r.JSON, func(s *api.Schedule) error {
		return c.PrintLines(addedLines(s, time.Now())...)
	})
}

type scheduleRun ofSchedule

// Help is shown below the summary.
func (*scheduleRun) Help() string {
	return "The times of the schedule stay as they are: one that is still to come comes. A precheck is left out; the budget counts. " +
		"The heartbeat is run by `bareclaw heartbeat run`."
}

// Run runs the command.
func (r *scheduleRun) Run(c *command.Context, gateway *client.Client) error {
	if r.ID == heartbeat.ID {
		return command.Usagef("the heartbeat is run by `bareclaw heartbeat run`")
	}
	due := api.RunRequest{Due: time.Now().UTC().Format(time.RFC3339)}
	return request(c, gateway, http.MethodPost, api.SchedulePath(r.ID)+"/run", due, r.JSON, func(o *api.Occurrence) error {
		if o.Outcome != api.OutcomeSent {
			return fmt.Errorf("not sent: %s", cmp.Or(o.Why, o.Outcome))
		}
		return c.PrintLines("Sent as message " + term.SafeLine(o.MessageID) + ". See what becomes of it: `bareclaw trace " + shortid.Of(term.SafeLine(o.MessageID)) + "`")
	})
}

func addedLines(s *api.Schedule, now time.Time) []string {
	lines := []string{term.SafeLine(fmt.Sprintf("Schedule %s on %s: %s", s.ID, s.Channel, whenDue(s)))}
	for i, t := range s.Next {
		lines = append(lines, []string{"  next ", "  then "}[min(i, 1)]+moment(t, now, zone(s)))
	}
	if s.Adapter == "" {
		lines = append(lines, term.SafeLine(fmt.Sprintf("Nobody is behind %s: the answers stand in `bareclaw messages %s`.", s.Channel, s.Channel)))
	}
	return lines
}

// whenDue returns the times of a schedule, with the zone that they are in.
func whenDue(s *api.Schedule) string {
	if s.Zone == "" { // an older gateway
		return s.When
	}
	return s.When + " (" + s.Zone + ")"
}

func scheduleLines(s *api.Schedule, now time.Time) []string {
	var facts command.Facts
	facts.Add("schedule", s.ID+" ("+s.State+")")
	facts.Add("channel", s.Channel)
	facts.Add("when", whenDue(s))
	for i, t := range s.Next {
		facts.Add([]string{"next", "then"}[min(i, 1)], moment(t, now, zone(s)))
	}
	facts.Add("missed", s.Missed)
	facts.Add("precheck", s.Precheck)
	if s.BudgetUSD > 0 {
		facts.Add("budget", humanize.USD(s.BudgetUSD)+" a day")
	}
	facts.Add("text", s.Text)
	for i, o := range s.Occurrences {
		facts.Add([]string{"last due", ""}[min(i, 1)], moment(o.Due, now, zone(s))+": "+became(&o, now, zone(s)))
	}
	return facts.Lines(term.Palette{}, command.Unlimited)
}

func became(o *api.Occurrence, now time.Time, zone *time.Location) string {
	text := o.Outcome
	if o.ByHand {
		text += " by hand"
	}
	if o.Late {
		text += " late, " + moment(o.DecidedAt, now, zone)
	}
	if o.MessageID != "" {
		text += ", message " + shortid.Of(o.MessageID)
	}
	if o.Why != "" {
		text += ": " + o.Why
	}
	return text
}

// listLines shows each schedule on a line, and then the zone of those without a zone of their own.
func listLines(got *api.Schedules, now time.Time) []string {
	const textCells = 40
	var t command.Table
	t.Head("", "ID", "CHANNEL", "WHEN", "NEXT", "TEXT")
	for i := range got.Schedules {
		s := &got.Schedules[i]
		next := cmp.Or(s.State, "-")
		if len(s.Next) > 0 {
			next = moment(s.Next[0], now, zone(s))
		}
		when := s.When
		if s.TZ != "" {
			when = whenDue(s)
		}
		t.Add(command.Text(s.ID), command.Text(s.Channel), command.Text(when), command.Text(next), command.Text(command.Fit(term.SafeLine(s.Text), textCells)))
	}
	lines := t.Lines(term.Palette{}, command.Unlimited)
	if got.Zone != "" { // else an older gateway
		lines = append(lines, "Times are those of "+term.SafeLine(got.Zone)+" where no zone is named.")
	}
	return lines
}

// nextSchedules describes the schedules that the status shows, those due next, each on a
// line.
func nextSchedules(all []api.Schedule, now time.Time) []string {
	const shown = 3
	due := slices.DeleteFunc(slices.Clone(all), func(v api.Schedule) bool { return len(v.Next) == 0 })
	slices.SortStableFunc(due, func(a, b api.Schedule) int { return a.Next[0].Compare(b.Next[0]) })
	var lines []string
	for _, s := range due[:min(len(due), shown)] {
		lines = append(lines, humanize.Clock(s.Next[0], now)+" on "+command.Fit(term.SafeLine(s.Channel), channelWidth)+": "+s.Text)
	}
	return lines
}

// zone returns the zone of a schedule: the machine's for an unknown zone.
func zone(s *api.Schedule) *time.Location {
	if z, err := zones.Load(s.Zone); err == nil {
		return z
	}
	return time.Local
}

// moment shows a time in a zone, and the distance from now.
func moment(t, now time.Time, zone *time.Location) string {
	t, now = t.In(zone), now.In(zone)
	layout := "Mon 2 Jan 15:04"
	if t.Year() != now.Year() {
		layout = "Mon 2 Jan 2006 15:04"
	}
	away := t.Sub(now)
	if away < 0 {
		return t.Format(layout) + " (" + roughly(-away) + " ago)"
	}
	return t.Format(layout) + " (in " + roughly(away) + ")"
}

func roughly(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", d.Round(time.Second)/time.Second)
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", d.Round(time.Minute)/time.Minute)
	case d < 36*time.Hour:
		return fmt.Sprintf("%d h", d.Round(time.Hour)/time.Hour)
	}
	return fmt.Sprintf("%d days", d.Round(24*time.Hour)/(24*time.Hour))
}
