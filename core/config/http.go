package config

import (
	"net"
	"strconv"
)

// HTTP holds the settings of the HTTP server.
type HTTP struct {
	// Host is the IP address or host name to listen on. An address that others can reach
	// needs `BARECLAW_HTTP_TOKEN`.
	//
	// Whoever reaches the gateway can run commands as you.
	Host Host `envconfig:"BARECLAW_HOST" default:"127.0.0.1"`
	// Port is the TCP port of the HTTP server; 0 picks a free one.
	//
	// The log names the port that was picked.
	Port Port `envconfig:"BARECLAW_PORT" default:"3000" harmless:"true"`
	// AllowedHosts are further host names that requests may carry in `Host`. They need
	// `BARECLAW_HTTP_TOKEN`.
	//
	// The loopback names and `BARECLAW_HOST` are always allowed. A reverse proxy, for
	// example, passes its own name on.
	AllowedHosts Hosts `envconfig:"BARECLAW_ALLOWED_HOSTS" unset:"none"`
	// Token is the token that every request over TCP must carry, as `Authorization:
	// Bearer TOKEN`. Without a token only processes of your own user are answered.
	//
	// Make one with: openssl rand -hex 32
	Token HTTPToken `envconfig:"BARECLAW_HTTP_TOKEN" secret:"true" unset:"none"`
	// BodyLimit is the size of the largest request body.
	//
	// A larger body is refused with status 413.
	BodyLimit Bytes `envconfig:"BARECLAW_BODY_LIMIT" default:"32MiB" harmless:"true"`
}

// Address returns the address that the server listens on.
func (h HTTP) Address() string { return net.JoinHostPort(string(h.Host), strconv.Itoa(int(h.Port))) }
