package daemon

import (
	"bareclaw/adapters"
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

// adapterCore returns what the core does for adapters.
func adapterCore(m *lanes.Manager) adapters.Core {
	return adapters.Core{
		Lanes:      m,
		Messages:   m.Lookup,
		Channels:   m.Directory,
		Decider:    m.Decider,
		Feeds:      m.Feeds,
		Inbox:      m.Adapters,
		Deliveries: m.Adapters,
		Records:    m.Adapters,
	}
}
