package daemon

import (
	"bareclaw/core"
	"bareclaw/internal/wait"
	"bareclaw/mcp/mounts"
	"bareclaw/toolhost/api"
)

// A publisher publishes the updates of a feed.
type publisher interface {
	Publish(key core.ChannelKey, u core.Update)
}

// A toolNews publishes changes of the tools on the gateway's feed. The tools that a source has at the start of
// the process are no news.
type toolNews struct {
	feeds   publisher
	loaded  <-chan struct{} // closed when the tool host's first tools are offered
	mounted chan struct{}   // closed when the mounted servers' first tools are offered
}

// publish publishes a change of a tool.
func (n *toolNews) publish(u core.Update) {
	if n.hasStarted(u.Tool.Source) {
		n.feeds.Publish(core.GatewayFeed, u)
	}
}

// hasStarted reports whether a source has offered its first tools.
func (n *toolNews) hasStarted(source string) bool {
	switch source {
	case api.Builtin, api.Dynamic:
		return wait.IsClosed(n.loaded)
	case mounts.SourceName:
		return wait.IsClosed(n.mounted)
	}
	return true
}
