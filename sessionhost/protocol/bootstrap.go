package protocol

import (
	"time"
)

// Subcommand is the argument that makes the binary a session host.
const Subcommand = "session-host"

// The file descriptors that a host inherits from the daemon.
const (
	FDBootstrap = 3 // a pipe: one bootstrap, then end of file
	FDListener  = 4 // the listening Unix socket
	FDLock      = 5 // the locked session lock
)

// A Bootstrap holds the parameters of a new host. The environment of the host is claude's,
// and contains nothing secret.
type Bootstrap struct {
	Version int `json:"version"`
	// Launch and Settings are given back in the welcome.
	Launch   string `json:"launch,omitempty"`
	Settings string `json:"settings,omitempty"`
	Place
	SessionID    string        `json:"session_id"`
	Argv         []string      `json:"argv"` // claude's command line, program first
	Dir          string        `json:"dir"`
	StartTimeout time.Duration `json:"start_timeout"`          // for claude to answer initialize
	IdleTimeout  time.Duration `json:"idle_timeout,omitempty"` // how long an idle claude is kept without a daemon; 0: for ever
	MemLimit     int64         `json:"mem_limit"`              // bytes of events kept in memory
	SpoolLimit   int64         `json:"spool_limit"`            // bytes of events kept in all
}
