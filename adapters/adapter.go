// Package adapters says what the gateway and its command line need to know of an adapter for people,
// such as that of a messenger. Package kinds lists the adapters there are.
package adapters

import (
	"context"
	"encoding/json"
	"log/slog"

	"bareclaw/adapters/httpapi/metrics"
	"bareclaw/core"
	"bareclaw/core/commands"
	"bareclaw/core/config"
)

// A Kind is a kind of channels, and the adapter that serves them. Place, Kept, NewConversation, Check
// and Setup may be left out.
type Kind struct {
	// Name is the name of the adapter: a word in lower case.
	Name string
	// Title is the name of the service, as people write it.
	Title string
	// Prefix begins the keys of the channels.
	Prefix string
	// Place says what a channel is: "a chat of the service". The agent is told, so that it can push
	// there.
	Place string
	// Kept says what is left of a channel that was removed: a sentence.
	Kept string
	// NewConversation is the command by which a person on a channel begins a new conversation.
	NewConversation string
	// HealthMember says that GET /health has the adapter's facts also as a member of its name, for
	// clients of an earlier version.
	HealthMember bool

	// IsConfigured reports whether the adapter is to run.
	IsConfigured func(config.Config) bool
	// New makes the adapter. Pushes to its channels are taken from then on.
	New func(Gateway) (Adapter, error)
	// Check adds the findings of `bareclaw doctor` about an adapter that is configured. It changes
	// nothing, and ends with ctx.
	Check func(ctx context.Context, e Examination)
	// Setup returns the adapter's part in a run of `bareclaw init`.
	Setup func() *Setup
}

// A Gateway is what the daemon gives an adapter.
type Gateway struct {
	Config   config.Config
	Core     Core
	Commands *commands.Table // what people can ask of the gateway itself
	Push     *core.PushRegistry
	Log      *slog.Logger
	PID      int    // of the process that a person would stop
	Version  string // of the gateway, for people
	Agent    string // name of the agent, for people
	// Show decodes a line of the agent into events for display.
	Show func(line json.RawMessage) []core.DisplayEvent
	// Inert returns a text of others so that it means nothing to the agent's program.
	Inert func(text string) string
	// Restart restarts the gateway.
	Restart func(context.Context) error
}

// An Adapter serves the channels of a kind. The daemon calls Prepare, then Run, then Close. The other
// methods are safe for concurrent use at any time.
type Adapter interface {
	// Prepare does what must be done before the core recovers.
	Prepare(ctx context.Context) error
	// Run serves until ctx ends. An error means that the channels are not served.
	Run(ctx context.Context) error
	// Close releases what the adapter holds, after Run.
	Close()
	// CheckRecipient reports why nothing may be sent to a channel; nil if something may. Schedules
	// ask before they send.
	CheckRecipient(ctx context.Context, channel core.ChannelKey) error
	// Health returns the adapter's present state.
	Health() Health
	// WriteMetrics writes the adapter's metrics.
	WriteMetrics(w *metrics.Writer)
}

// Health is the state of an adapter.
type Health struct {
	Ready   bool
	Problem string         // for people; empty: none
	Facts   map[string]any // for /health and `bareclaw status`: numbers, texts and moments, by names in lower_case
}
