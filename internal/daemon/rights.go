package daemon

import (
	"cmp"

	"bareclaw/core"
	"bareclaw/core/tools"
	"bareclaw/internal/toolset"
)

var _ tools.Sessions = sessionRights{}

// sessionRights tell what the sessions of channels may do: by the settings of their channel, else
// by those of the gateway.
type sessionRights struct{ *engine }

// Tools returns the tools that the session of a channel may use.
func (r sessionRights) Tools(key core.ChannelKey) toolset.Set {
	return cmp.Or(toolset.Set(r.manager.ChannelSettings.Settings(key).Tools), r.cfg.Tools)
}

// Mode returns the permission mode of a channel.
func (r sessionRights) Mode(key core.ChannelKey) string {
	return cmp.Or(r.manager.ChannelSettings.Settings(key).PermissionMode, r.cfg.PermissionMode)
}

// OwnModes returns the permission modes of the channels that have one of their own.
func (r sessionRights) OwnModes() map[core.ChannelKey]string {
	modes := map[core.ChannelKey]string{}
	for _, key := range r.manager.ChannelSettings.Keys() {
		if own := r.manager.ChannelSettings.Settings(key).PermissionMode; own != "" {
			modes[key] = own
		}
	}
	return modes
}
