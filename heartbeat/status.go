package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/core/config"
	"bareclaw/heartbeat/service"
	"bareclaw/internal/atomicfile"
	"bareclaw/internal/humanize"
)

// A Status describes the heartbeat of a state directory.
type Status struct {
	Setting   config.HeartbeatMode `json:"setting"` // BARECLAW_HEARTBEAT
	Interval  string               `json:"interval"`
	Notify    string               `json:"notify,omitempty"`
	System    service.System       `json:"system"` // the service manager
	Installed bool                 `json:"installed"`
	Current   bool                 `json:"current"` // installed files are up to date
	Active    bool                 `json:"active"`
	Next      time.Time            `json:"next,omitzero"`
	Problems  []string             `json:"problems"`
	Notes     []string             `json:"notes,omitempty"`    // remarks that are not problems
	Consent   Consent              `json:"consent,omitempty"`  // the user's decision; empty if undecided
	Declined  bool                 `json:"declined,omitempty"` // the user declined or uninstalled the heartbeat
	Asks      bool                 `json:"asks"`               // ticks prompt the agent, besides reviving the gateway
	Other     string               `json:"other,omitempty"`    // state directory served by the installed heartbeat, if different
	Gateway   *Installation        `json:"gateway,omitempty"`  // record of the gateway's last start
	Records
}

// Look collects the status. Facts that cannot be read become problems.
func Look(ctx context.Context, cfg config.Config, manager service.Inspector, request service.Request) Status {
	s := Status{
		Setting:  cfg.Heartbeat.Mode,
		Interval: humanize.Span(time.Duration(cfg.Heartbeat.Interval)),
		Notify:   string(cfg.Heartbeat.Notify),
		System:   manager.System(),
		Declined: Declined(cfg.StateDir()),
		Asks:     Asks(cfg),
		Problems: []string{},
	}
	problem := func(err error) {
		if err != nil {
			s.Problems = append(s.Problems, strings.Split(err.Error(), "\n")...) // errors.Join separates errors by newlines
		}
	}
	var err error
	s.Consent, err = ReadConsent(cfg.StateDir())
	problem(err)
	spec, err := service.NewSpec(request)
	problem(err)
	job, err := manager.Status(ctx, service.Heartbeat, spec)
	problem(err)
	s.Installed, s.Current, s.Active, s.Next, s.Notes = job.Installed, job.Current, job.Active, job.Next, job.Notes
	if job.Problem != "" {
		s.Problems = append(s.Problems, job.Problem)
	}
	if s.Other = Elsewhere(job, cfg.StateDir()); s.Other != "" {
		s.Problems = append(s.Problems, fmt.Sprintf("The heartbeat that is installed looks after the gateway whose state is in %s. "+
			"`bareclaw heartbeat install` has it look after this one instead.", s.Other))
	}
	in, err := Installed(cfg.StateDir())
	problem(err)
	if !in.At.IsZero() {
		s.Gateway = &in
	}
	s.Records, err = Read(cfg.StateDir())
	problem(err)
	if s.Ticks == nil {
		s.Ticks = []Tick{}
	}
	return s
}

const (
	recordsName = "heartbeat.json"
	// keptTicks is the number of recorded ticks.
	keptTicks = 50
)

// An Outcome is the result of a tick.
type Outcome string

// The outcomes. Asked, Parked, and any outcome with Tick.Owed set may still change.
const (
	Asked    Outcome = "asked"          // the answer is pending; the gateway pushes the answer later
	OK       Outcome = "ok"             // nothing needs attention
	Told     Outcome = "told"           // the agent had findings, and the gateway pushed the findings to the user
	Said     Outcome = "said"           // the agent answered, but the answer was not pushed: see Problem
	Nothing  Outcome = "nothing to do"  // the precheck skipped the run
	Busy     Outcome = "busy"           // the message of an earlier tick is still pending
	Parked   Outcome = "parked"         // the message waits for a login, or for the end of a usage limit
	Failed   Outcome = "failed"         // the message failed or could not be sent
	Serves   Outcome = "gateway serves" // the gateway serves, and ticks must not prompt the agent: see [Asks]
	Stopped  Outcome = "stopped"        // the user stopped the gateway, and the tick started none
	NotThere Outcome = "unreachable"    // the gateway could not be started or does not answer
)

// A Tick is the report on one tick.
type Tick struct {
	Slot    time.Time `json:"slot"`
	At      time.Time `json:"at"`
	EndedAt time.Time `json:"ended_at,omitzero"`
	Outcome Outcome   `json:"outcome"`
	Detail  string    `json:"detail,omitempty"`  // the agent's answer, or why no answer exists
	Started bool      `json:"started,omitempty"` // the tick has started the gateway
	Message string    `json:"message_id,omitzero"`
	CostUSD float64   `json:"cost_usd,omitzero"`
	TookMS  int64     `json:"took_ms,omitzero"` // duration of the turn in milliseconds

	To      string `json:"to,omitempty"`      // the channel for the push
	Owed    bool   `json:"owed,omitempty"`    // a push to the user is pending
	Pushed  bool   `json:"pushed,omitempty"`  // the push to the user succeeded
	Problem string `json:"problem,omitempty"` // why the push failed
}

// Records are the reports on the most recent ticks.
type Records struct {
	Ticks []Tick `json:"ticks"` // oldest first

	path string
}

// Owed returns the ticks with a pending push to the user.
func (r *Records) Owed() (owed []Tick) {
	for i := range r.Ticks {
		if r.Ticks[i].Owed {
			owed = append(owed, r.Ticks[i])
		}
	}
	return owed
}

// Read returns the records of a state directory; empty if no tick has run.
func Read(stateDir string) (Records, error) {
	r := Records{path: filepath.Join(stateDir, recordsName)}
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return Records{path: r.path}, fmt.Errorf("read the records of the heartbeat (%s): %w", r.path, err)
	}
	return r, nil
}

func (r *Records) save() error {
	if err := atomicfile.WriteJSON(r.path, r); err != nil {
		return fmt.Errorf("write the records of the heartbeat: %w", err)
	}
	return nil
}

func (r *Records) add(t Tick) error {
	t.EndedAt = time.Now().UTC()
	r.Ticks = append(r.Ticks, t)
	r.Ticks = r.Ticks[max(0, len(r.Ticks)-keptTicks):]
	return r.save()
}

// update refreshes the reports on earlier ticks from the gateway's runs, since answers
// and pushes may complete after the tick. update returns the number of ticks whose push
// has succeeded since.
func (r *Records) update(runs []api.Occurrence) (told int) {
	bySlot := map[int64]*api.Occurrence{}
	for i := range runs {
		bySlot[runs[i].Due.Unix()] = &runs[i]
	}
	for i := range r.Ticks {
		t := &r.Ticks[i]
		o := bySlot[t.Slot.Unix()]
		if o == nil || t.Message != "" && t.Message != o.MessageID || t.Outcome != Asked && t.Outcome != Parked && !t.Owed {
			continue
		}
		owed := t.Owed
		t.fill(o)
		if owed && t.Pushed {
			told++
		}
	}
	return told
}
