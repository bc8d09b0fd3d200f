package api

import (
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Health is the reply to GET /health.
type Health struct {
	Status     string         `json:"status"`
	Ready      bool           `json:"ready"`
	PID        int            `json:"pid"`
	Version    string         `json:"version"`
	Generation uint64         `json:"generation"`
	Agent      Agent          `json:"agent"`
	Problems   []string       `json:"problems"`
	StartedAt  time.Time      `json:"started_at"`
	UptimeMS   int64          `json:"uptime_ms"`
	Channels   ChannelsHealth `json:"channels"`
	Hosts      Hosts          `json:"hosts"`
	Spares     Spares         `json:"spares"`
	Ledger     *Ledger        `json:"ledger,omitzero"`
	Spending   Spending       `json:"spending"`
	Tools      *Tools         `json:"tools,omitzero"`
	// Observers are those that run; nil: none does.
	Observers *ObserversHealth `json:"observers,omitzero"`
	Parts     []Part           `json:"parts"`

	FailedRestart *FailedRestart `json:"failed_restart,omitzero"` // since StartedAt
}

// A FailedRestart is a restart or an upgrade after which the gateway went on as it was.
type FailedRestart struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

// Values of Health.Status.
const (
	StatusOK       = "ok"
	StatusStarting = "starting"
	StatusDegraded = "degraded"
	StatusDraining = "draining"
)

// An Agent is the program that answers.
type Agent struct {
	Kind    string `json:"kind"` // claude or echo
	Path    string `json:"path,omitzero"`
	Problem string `json:"problem,omitzero"`
}

// ChannelsHealth counts the channels by state and lists those that are not idle.
type ChannelsHealth struct {
	States map[string]int  `json:"states"`
	Active []ActiveChannel `json:"active"`
}

// An ActiveChannel is a channel that is not idle.
type ActiveChannel struct {
	Channel  string    `json:"channel"`
	State    string    `json:"state"`
	Since    time.Time `json:"since,omitzero"`
	Why      string    `json:"why,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Activity string    `json:"activity,omitzero"`
	Waiting  int       `json:"waiting"`
	Running  int       `json:"running"`
	HostPID  int       `json:"host_pid,omitzero"`
	AgentPID int       `json:"agent_pid,omitzero"`
	// AgentVersion is the version of the session's agent program.
	AgentVersion string `json:"agent_version,omitzero"`
}

// Hosts counts the session hosts.
type Hosts struct {
	Alive int `json:"alive"`
	Limit int `json:"limit,omitzero"`
}

// Spares counts the sessions that wait for a new channel.
type Spares struct {
	Ready  int `json:"ready"`
	Wanted int `json:"wanted"`
}

// Ledger is the account of all messages.
type Ledger struct {
	Accepted  int64  `json:"accepted"`
	Answered  int64  `json:"answered"`
	Failed    int64  `json:"failed"`
	Cancelled int64  `json:"cancelled"`
	Waiting   int64  `json:"waiting"`
	Balanced  bool   `json:"balanced"`
	Problem   string `json:"problem,omitzero"` // why nothing can be written
}

// Spending is the cost of all turns of a day.
type Spending struct {
	Day      string  `json:"day"`
	SpentUSD float64 `json:"spent_usd"`
	LimitUSD float64 `json:"limit_usd,omitzero"`
}

// Tools counts the gateway's tools by source, and describes the process that runs most of them.
type Tools struct {
	Sources map[string]int `json:"sources"`
	// Gateway, Builtin and Dynamic are those of Sources, for clients of earlier versions.
	Gateway int        `json:"gateway"`
	Builtin int        `json:"builtin"`
	Dynamic int        `json:"dynamic"` // files in the tools directory
	Host    ToolRunner `json:"host"`
}

// NewTools returns the numbers of tools by the name of their source.
func NewTools(sources map[string]int) *Tools {
	return &Tools{
		Sources: sources,
		Gateway: sources["gateway"],
		Builtin: sources["builtin"],
		Dynamic: sources["dynamic"],
	}
}

// BySource returns the numbers of tools by source, also of a gateway of an earlier version.
func (t *Tools) BySource() map[string]int {
	if t.Sources != nil {
		return t.Sources
	}
	return map[string]int{
		"gateway": t.Gateway,
		"builtin": t.Builtin,
		"dynamic": t.Dynamic,
	}
}

// Count returns the number of tools of all sources.
func (t *Tools) Count() (n int) {
	for _, of := range t.BySource() {
		n += of
	}
	return n
}

// A ToolRunner is the tool host, the process that runs built-in and dynamic tools. Status is
// running, starting or failed.
type ToolRunner struct {
	Status    string    `json:"status"`
	PID       int       `json:"pid,omitzero"`
	StartedAt time.Time `json:"started_at,omitzero"`
	Restarts  int       `json:"restarts"` // crashes since the last rollback
	Healthy   bool      `json:"healthy"`
	Problem   string    `json:"problem,omitzero"`    // why none runs
	LastError string    `json:"last_error,omitzero"` // why a file cannot be loaded
	HeapUsed  uint64    `json:"heap_used,omitzero"`  // bytes
}

// A Part is the state of a part of the gateway, such as an adapter.
type Part struct {
	Name    string         `json:"name"`
	Ready   bool           `json:"ready"`
	Problem string         `json:"problem,omitzero"`
	Facts   map[string]any `json:"facts,omitzero"` // numbers, texts and moments, by names in lower_case

	// Member has Health show the part once more, as a member under its name: for clients of
	// earlier versions, which knew no parts.
	Member bool `json:"-"`
}

// MarshalJSONTo adds a member for each part whose Member is set.
func (h Health) MarshalJSONTo(enc *jsontext.Encoder) error {
	type plain Health
	members := map[string]map[string]any{}
	for _, p := range h.Parts {
		if !p.Member {
			continue
		}
		state := map[string]any{"ready": p.Ready}
		maps.Copy(state, p.Facts)
		if p.Problem != "" {
			state["problem"] = p.Problem
		}
		members[p.Name] = state
	}
	if len(members) == 0 {
		return jsonv2.MarshalEncode(enc, plain(h))
	}
	own, err := jsonv2.Marshal(plain(h), enc.Options())
	if err != nil {
		return err
	}
	more, err := jsonv2.Marshal(members, enc.Options())
	if err != nil {
		return err
	}
	return enc.WriteValue(slices.Concat(own[:len(own)-1], []byte(","), more[1:]))
}

// AddPart adds the state of a part, and its problem to the problems of the gateway.
func (h *Health) AddPart(p Part) {
	h.Parts = append(h.Parts, p)
	if p.Problem != "" {
		h.Problems = append(h.Problems, p.Problem)
	}
}

// Settings is the reply to GET /settings.
type Settings struct {
	Settings []Setting `json:"settings"`
}

// A Setting is a setting of the gateway that is in force. Source is "default", "the environment" or
// the path of a file. The Value of a secret is a placeholder.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Restarting is the reply to POST /restart and POST /upgrade.
type Restarting struct {
	Status string `json:"status"`
}

// An UpgradeRequest is the body of POST /upgrade: either a path or a rollback.
type UpgradeRequest struct {
	Path     string `json:"path,omitzero"`
	Rollback bool   `json:"rollback,omitzero"`
	Channel  string `json:"channel,omitzero"` // gets the result
}

// An Upgrade is the last upgrade. State is none, trial, confirmed or went_back.
type Upgrade struct {
	State   string    `json:"state"`
	From    string    `json:"from,omitzero"`
	To      string    `json:"to,omitzero"`
	Program string    `json:"program,omitzero"`
	Channel string    `json:"channel,omitzero"`
	Reason  string    `json:"reason,omitzero"`
	BeganAt time.Time `json:"began_at,omitzero"`
	EndedAt time.Time `json:"ended_at,omitzero"`
}
