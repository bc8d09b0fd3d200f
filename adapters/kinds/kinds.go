// Package kinds lists the adapters for people, a row for each.
package kinds

import (
	"strings"

	"bareclaw/adapters"
	"bareclaw/adapters/telegram"
	"bareclaw/core"
	"bareclaw/core/config"
)

// All returns the kinds of channels that people can have.
func All() []adapters.Kind {
	return []adapters.Kind{
		telegram.Kind(),
	}
}

// Of returns the kind of a channel; the zero value for one of no adapter in All.
func Of(channel core.ChannelKey) adapters.Kind {
	for _, k := range All() {
		if strings.HasPrefix(string(channel), k.Prefix) {
			return k
		}
	}
	return adapters.Kind{}
}

// Places says which channels people have on a gateway: "A channel tg-… is a chat of the service."
func Places(c config.Config) string {
	var places []string
	for _, k := range All() {
		if k.Place != "" && k.IsConfigured(c) {
			places = append(places, "A channel "+k.Prefix+"… is "+k.Place+".")
		}
	}
	return strings.Join(places, " ")
}
