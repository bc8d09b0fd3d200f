package daemon

import (
	"time"

	"bareclaw/core/commands"
	"bareclaw/internal/buildinfo"
	"bareclaw/sessionhost/claude"
)

// newCommands returns what people can ask of the gateway in every chat.
func newCommands(e *engine, startedAt time.Time) (*commands.Table, error) {
	m := e.manager
	return commands.NewTable(commands.Builtin(commands.Options{
		Channels: m.Directory,
		Messages: m.Lookup,
		Queue:    m,
		Sessions: m,
		Settings: m.ChannelSettings,
		Gateway:  commands.Gateway{Version: version(), Agent: e.agent.describe(), Began: startedAt},
		Models:   claude.Models(),
	})...)
}

// version names the gateway's version for people.
func version() string { return "bareclaw " + buildinfo.Version() }
