package daemon

import (
	"bareclaw/adapters/httpapi"
	"bareclaw/core/lanes"
)

// httpCore returns what the API uses of the core.
func httpCore(m *lanes.Manager) httpapi.Core {
	return httpapi.Core{
		Lanes:      m,
		Messages:   m.Lookup,
		History:    m.Lookup,
		Channels:   m.Directory,
		Decider:    m.Decider,
		Settings:   m.ChannelSettings,
		Feeds:      m.Feeds,
		Deliverers: m.Adapters,
	}
}
