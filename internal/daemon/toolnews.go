package daemon

import (
	"bareclaw/core"
	"bareclaw/internal/wait"
)

// A publisher publishes the updates of feeds.
type publisher interface {
	Publish(key core.ChannelKey, u core.Update)
}

// A toolNews publishes changes of the tools on the gateway's feed. The tools that a source has at the start of
// the process are no news.
type toolNews struct {
	feeds publisher
	// loaded has, by the name of a source, what is closed when the source's first tools are offered. The first
	// tools of other sources are there from the beginning.
	loaded map[string]<-chan struct{}
}

// publish publishes a change of a tool.
func (n *toolNews) publish(u core.Update) {
	loaded, isLate := n.loaded[u.Tool.Source]
	if !isLate || wait.IsClosed(loaded) {
		n.feeds.Publish(core.GatewayFeed, u)
	}
}
