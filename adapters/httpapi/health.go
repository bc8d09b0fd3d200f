package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"bareclaw/core"
	"bareclaw/internal/humanize"
)

// healthTimeout bounds what a look at the gateway's health waits for its parts.
const healthTimeout = 2 * time.Second

type healthShape struct {
	Status     string         `json:"status"`
	Ready      bool           `json:"ready"`
	PID        int            `json:"pid"`
	Version    string         `json:"version"`
	Generation uint64         `json:"generation"`
	Agent      agentShape     `json:"agent"`
	Problems   []string       `json:"problems"`
	StartedAt  string         `json:"started_at"`
	UptimeMS   int64          `json:"uptime_ms"`
	Channels   channelsHealth `json:"channels"`
	Hosts      hostsHealth    `json:"hosts"`
	Spares     Spares         `json:"spares"`
	Ledger     *ledgerHealth  `json:"ledger,omitempty"`
	Spending   spendingHealth `json:"spending"`
	Telegram   *telegramShape `json:"telegram,omitempty"`
}

type spendingHealth struct {
	Day      string  `json:"day"`
	SpentUSD float64 `json:"spent_usd"`
	LimitUSD float64 `json:"limit_usd,omitzero"`
}

type agentShape struct {
	Kind    string `json:"kind"`
	Path    string `json:"path,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// channelsHealth counts the channels by state and lists those that are not idle.
type channelsHealth struct {
	States map[string]int  `json:"states"`
	Active []channelHealth `json:"active"`
}

type channelHealth struct {
	Channel  string `json:"channel"`
	State    string `json:"state"`
	Since    string `json:"since,omitempty"`
	Why      string `json:"why,omitempty"`
	Until    string `json:"until,omitempty"`
	Activity string `json:"activity,omitempty"`
	Waiting  int    `json:"waiting"`
	Running  int    `json:"running"`
	HostPID  int    `json:"host_pid,omitzero"`
	AgentPID int    `json:"agent_pid,omitzero"`
}

type hostsHealth struct {
	Alive int `json:"alive"`
	Limit int `json:"limit,omitzero"`
}

type ledgerHealth struct {
	Accepted  int64 `json:"accepted"`
	Answered  int64 `json:"answered"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	Waiting   int64 `json:"waiting"`
	Balanced  bool  `json:"balanced"`

	Problem string `json:"problem,omitempty"`
}

func (s *Server) getHealth(w *response, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	own, today := s.o.Health(), s.core.Stats().Spending
	h := showHealth(own)
	h.Spending = spendingHealth{Day: today.Day, SpentUSD: humanize.RoundUSD(today.Spent), LimitUSD: today.Limit}
	if o, err := s.core.Overview(ctx); err == nil {
		h.Channels, h.Hosts = showOverview(&o), hostsHealth{Alive: o.Hosts, Limit: o.Limit}
		h.Problems = append(append(h.Problems, unkept(&o)...), o.Standstill()...)
	} else if !s.Draining() {
		h.Problems = append(h.Problems, "The channels do not answer: "+err.Error())
	}
	switch b, err := s.core.Balance(ctx); {
	case err == nil:
		h.Ledger = showBalance(b)
		h.Ledger.Problem = own.LedgerProblem
		if !b.Even() {
			h.Problems = append(h.Problems, "The ledger does not balance: some message has no outcome, or two.")
		}
	case !s.Draining():
		h.Problems = append(h.Problems, "The ledger cannot be read: "+err.Error())
	}
	h.judge(s.Draining())
	return show(w, h)
}

func showHealth(h Health) healthShape {
	return healthShape{
		Ready: h.Ready, PID: h.PID, Version: h.Version, Generation: h.Generation,
		Agent: agentShape(h.Agent), Problems: h.Problems,
		StartedAt: stamp(h.StartedAt), UptimeMS: max(0, time.Since(h.StartedAt).Milliseconds()),
		Channels: showOverview(&core.Overview{}), Spares: h.Spares, Telegram: showTelegram(h.Telegram),
	}
}

// judge sums up what is known.
func (h *healthShape) judge(draining bool) {
	switch {
	case draining:
		h.Status = "draining"
	case !h.Ready:
		h.Status = "starting"
	case h.Agent.Problem != "" || len(h.Problems) > 0:
		h.Status = "degraded"
	default:
		h.Status = "ok"
	}
	h.Ready = h.Ready && !draining
}

func showOverview(o *core.Overview) channelsHealth {
	shown := channelsHealth{States: o.States(), Active: make([]channelHealth, len(o.Active))}
	for i := range o.Active {
		c := &o.Active[i]
		shown.Active[i] = channelHealth{
			Channel: string(c.Key), State: c.State, Since: stamp(c.Since), Why: c.Why, Until: stamp(c.Until), Activity: c.Activity,
			Waiting: c.Waiting, Running: c.Running, HostPID: c.HostPID, AgentPID: c.AgentPID,
		}
	}
	return shown
}

// unkept says which channels stand still since what Claude says cannot be written.
func unkept(o *core.Overview) (problems []string) {
	for i := range o.Active {
		if c := &o.Active[i]; c.Unkept != "" {
			problems = append(problems, fmt.Sprintf("Channel %q: %s", c.Key, c.Unkept))
		}
	}
	return problems
}

func showBalance(b core.Balance) *ledgerHealth {
	return &ledgerHealth{
		Accepted: b.Accepted, Answered: b.Answered, Failed: b.Failed, Cancelled: b.Cancelled, Waiting: b.Waiting,
		Balanced: b.Even(),
	}
}
