package config

// Turns holds the settings of turns and of the sessions they run in.
type Turns struct {
	// Timeout is the number of milliseconds after which a turn is interrupted and its
	// sender told; 0 means never.
	//
	// A turn may well take many minutes.
	Timeout Milliseconds `envconfig:"BARECLAW_TIMEOUT_MS" default:"0" harmless:"true"`
	// StartTimeout is how long claude may take to start.
	//
	// After that the message fails with the reason.
	StartTimeout Duration `envconfig:"BARECLAW_START_TIMEOUT" default:"1m" harmless:"true"`
	// StallAfter is how long a turn may be silent before its channel is told that the turn
	// seems stuck; 0 means for ever.
	//
	// A Bash call with a timeout of its own may be silent for that long besides, and
	// waiting for a permission does not count.
	StallAfter OptionalDuration `envconfig:"BARECLAW_STALL_AFTER" default:"10m" harmless:"true"`
	// StallAction is what else happens to a stuck turn: `notify` is nothing, `interrupt`
	// asks claude to end the turn, `kill` ends claude.
	//
	// A claude that does not end the turn within 5 seconds is ended. The conversation is
	// kept in each case.
	StallAction StallAction `envconfig:"BARECLAW_STALL_ACTION" default:"notify" harmless:"true"`
	// IdleTimeout is how long an unused claude is kept; 0 means for ever. The next message
	// resumes the conversation.
	//
	// Unused means without a turn, a permission request or a background task. Resuming
	// takes a second. The time also runs while no gateway runs.
	IdleTimeout OptionalDuration `envconfig:"BARECLAW_IDLE_TIMEOUT" default:"30m" harmless:"true"`
	// MaxSessions is the number of claudes that may be alive at once; 0 means one for each
	// 400 MiB of memory. The least recently used claude makes room for another one.
	//
	// Each takes some 200 MB. While all are busy, further channels wait. The memory is the
	// machine's, or the container's if that is less.
	MaxSessions OptionalLimit `envconfig:"BARECLAW_MAX_SESSIONS" default:"0" harmless:"true"`
	// WarmSpares is the number of claudes that are kept ready, so that the first message of
	// a new channel need not wait for a start.
	//
	// Each takes some 160 MB. None is started while less than 800 MiB of memory are free.
	WarmSpares SpareCount `envconfig:"BARECLAW_WARM_SPARES" default:"0" harmless:"true"`
	// QueueLimit is the number of messages without an outcome that one channel may hold.
	//
	// Further messages are refused with status 429.
	QueueLimit Limit `envconfig:"BARECLAW_QUEUE_LIMIT" default:"1000" harmless:"true"`
	// Approvals is what happens to a permission request: `ask` waits for an answer, `deny`
	// refuses at once and says how to allow the tool.
	Approvals Approvals `envconfig:"BARECLAW_APPROVALS" unset:"ask on a channel that can ask, deny on any other, such as HTTP"`
	// ApprovalTimeout is how long a permission request waits before it is denied.
	ApprovalTimeout Duration `envconfig:"BARECLAW_APPROVAL_TIMEOUT" default:"10m" harmless:"true"`
}

// StallAction is what happens to a stuck turn, besides the notice.
type StallAction string

var stallActions = []StallAction{"notify", "interrupt", "kill"}

// Decode reads the name of an action.
func (s *StallAction) Decode(text string) error { return choose(s, text, stallActions) }

// Accepted lists the actions.
func (*StallAction) Accepted() string { return alternatives(stallActions) }

// Approvals is what happens to a permission request; empty means that the channel decides.
type Approvals string

var approvals = []Approvals{"ask", "deny"}

// Decode reads what happens to a permission request.
func (a *Approvals) Decode(text string) error { return choose(a, text, approvals) }

// Accepted lists the choices.
func (*Approvals) Accepted() string { return alternatives(approvals) }
