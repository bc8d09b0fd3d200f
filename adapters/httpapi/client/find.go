package client

import (
	"net"
	"os"
	"path/filepath"
	"strconv"

	"bareclaw/core/config"
	"bareclaw/internal/lockfile"
	"bareclaw/internal/proc"
)

// SocketVariable is the environment variable with the gateway's Unix socket for claude and
// its commands, which do not know the gateway's configuration.
const SocketVariable = "BARECLAW_SOCKET"

// Inherited returns a client of the gateway in whose session this process runs, or nil.
func Inherited() *Client {
	if path := os.Getenv(SocketVariable); filepath.IsAbs(path) {
		return OverSocket(path)
	}
	return nil
}

// Socket returns the path of the Unix socket of a gateway with the configuration.
func Socket(cfg config.Config) string { return filepath.Join(cfg.RuntimeDir, "api.sock") }

// Local returns a client of the gateway with the configuration, over its socket.
func Local(cfg config.Config) *Client { return OverSocket(Socket(cfg)) }

// Direct returns a client of the gateway with the configuration over TCP, where approvals
// can be decided. The address is that of the running daemon, or else the configured one.
func Direct(cfg config.Config) *Client {
	address := net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port))
	h, err := lockfile.ReadHolder(filepath.Join(cfg.StateDir, lockfile.StateLockName))
	if err == nil && h.Address != "" && proc.Alive(h.PID, h.Start) {
		address = h.Address
	}
	return OverTCP(address, cfg.HTTPToken.Reveal())
}
