package daemon

import (
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
