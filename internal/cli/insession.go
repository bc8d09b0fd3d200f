package cli

import (
	"errors"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/sessionhost/protocol"
)

// inside reports whether claude runs this command, in a session of the gateway.
func inside() bool { return client.Inherited() != nil }

// errInside refuses what is decided by people.
var errInside = errors.New("this is for people: from within a session nobody decides about permissions or settings. " +
	"Run it in a terminal of your own")

// overTCP returns a client that may decide what the agent may do, which the Unix
// socket refuses.
func (c *Context) overTCP() (*client.Client, error) {
	if inside() {
		return nil, errInside
	}
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	return client.Direct(cfg), nil
}

// own reports whether this command runs in the session of that channel, whose turn
// would wait for itself.
func isOwnChannel(c *Context, gateway *client.Client, channel string) bool {
	host, ok := protocol.EnclosingHost()
	if !ok {
		return false
	}
	var found api.Channel
	err := gateway.Do(c.Context, "GET", api.ChannelPath(channel), nil, &found)
	return err == nil && found.HostPID == host // a channel that is not there yet is another one
}

// ownChannel returns the channel in whose session this command runs, empty if it runs in
// none.
func ownChannel(c *Context, gateway *client.Client) (string, error) {
	host, ok := protocol.EnclosingHost()
	if !ok {
		return "", nil
	}
	all, err := listChannels(c, gateway)
	for _, ch := range all {
		if ch.HostPID == host {
			return ch.Channel, nil
		}
	}
	return "", err
}

func listChannels(c *Context, gateway *client.Client) ([]api.Channel, error) {
	var got api.Channels
	err := c.get(gateway, api.PathChannels, &got)
	return got.Channels, err
}
