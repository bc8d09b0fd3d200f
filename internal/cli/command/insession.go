package command

import (
	"errors"

	"bareclaw/adapters/httpapi/api"
	"bareclaw/adapters/httpapi/client"
	"bareclaw/sessionhost/protocol"
)

// InSession reports whether claude runs this command in a session of the gateway.
func InSession() bool { return client.Inherited() != nil }

// ErrInSession refuses decisions that only people may make.
var ErrInSession = errors.New("a session cannot decide about permissions or settings; run this command in a terminal of your own")

// A Decider is a client that may change permissions.
type Decider struct{ *client.Client }

// Decider returns a client over TCP: the Unix socket refuses changes of permissions.
func (c *Context) Decider() (Decider, error) {
	if InSession() {
		return Decider{}, ErrInSession
	}
	cfg, err := c.Config()
	if err != nil {
		return Decider{}, err
	}
	return Decider{client.Direct(cfg)}, nil
}

// IsOwnChannel reports whether this command runs in the session of a channel. A turn that
// waits for a message on its own channel would wait for itself.
func IsOwnChannel(c *Context, gateway *client.Client, channel string) bool {
	host, ok := protocol.EnclosingHost()
	if !ok {
		return false
	}
	var found api.Channel
	err := gateway.Do(c.Context, "GET", api.ChannelPath(channel), nil, &found)
	return err == nil && found.HostPID == host // a missing channel is another channel
}

// OwnChannel returns the channel in whose session this command runs, empty outside of
// sessions.
func OwnChannel(c *Context, gateway *client.Client) (string, error) {
	host, ok := protocol.EnclosingHost()
	if !ok {
		return "", nil
	}
	all, err := ListChannels(c, gateway)
	for _, ch := range all {
		if ch.HostPID == host {
			return ch.Channel, nil
		}
	}
	return "", err
}

// ListChannels returns all channels of the gateway.
func ListChannels(c *Context, gateway *client.Client) ([]api.Channel, error) {
	var got api.Channels
	err := c.Get(gateway, api.PathChannels, &got)
	return got.Channels, err
}
