package daemon

import (
	"bareclaw/adapters/httpapi"
	"bareclaw/adapters/telegram"
	"bareclaw/core/lanes"
)

// telegramCore returns what the Telegram adapter uses of the core.
func telegramCore(m *lanes.Manager) telegram.Core {
	return telegram.Core{
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
