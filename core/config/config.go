// Package config turns the environment into one validated [Config].
//
// [Load] is called once, by main, before anything else runs; nothing else in
// the program reads BARECLAW_ variables. It guarantees two things: a Config
// without an error is usable as it stands (paths absolute, numbers in range,
// names checked), and an error lists every problem at once, each with the
// variable, what is wrong with its value and what is accepted. The value of a
// secret appears in no error.
//
// .env.example describes every variable; a test holds it to this package.
package config

import (
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// SourceOff is the Source of a program that is never built anew.
const SourceOff = "off"

// Config is everything the daemon can be told. Every path in it is absolute
// and every field holds a value in its documented range.
type Config struct {
	// Host is the address the HTTP server listens on: an IP address (IPv6
	// without brackets) or a host name. Not loopback only if HTTPToken is set.
	Host string
	// Port is the TCP port of the HTTP server; 0 means any free one.
	Port int
	// AllowedHosts are further host names and addresses that requests may
	// carry in their Host header, in lower case, without port or brackets.
	AllowedHosts []string
	// HTTPToken is the bearer token of every TCP route; unset: no token.
	HTTPToken Secret
	// BodyLimit is the size of the largest accepted request body, in bytes.
	BodyLimit int64

	// CWD is the existing directory that claude processes run in.
	CWD string
	// SessionFile is where session ids are kept by channel.
	SessionFile string
	// StateDir holds what must outlive a restart. It need not exist yet.
	StateDir string
	// RuntimeDir holds the sockets. It need not exist yet.
	RuntimeDir string

	// Source is the source tree that a restart builds from: an existing
	// directory, SourceOff for none, or empty for the one this program was built
	// from.
	Source string

	// Agent says what answers messages.
	Agent Agent
	// Claude is the CLI: an absolute path, or a bare name for PATH.
	Claude string
	// Model is passed to the CLI; empty leaves the choice to it.
	Model string
	// PermissionMode is passed to the CLI; empty leaves the choice to it.
	PermissionMode string
	// AllowedTools are the tools that run without asking, as the CLI writes
	// them: Read, Bash(git log *), mcp__server__tool. Never empty.
	AllowedTools []string
	// MaxTurns bounds the agentic turns of one message; at least 1.
	MaxTurns int
	// MaxBudgetUSD is what one turn may cost, in US dollars; 0 means any amount.
	MaxBudgetUSD float64
	// DailyBudgetUSD is what all turns of a day may cost, in US dollars, before no
	// further one is begun; 0 means any amount.
	DailyBudgetUSD float64
	// PassEnv names variables that claude sees although they are withheld
	// by default.
	PassEnv []string

	// Timeout interrupts a turn that runs longer; 0 means never.
	Timeout time.Duration
	// StartTimeout bounds how long the CLI may take to start and to answer
	// its first request; more than 0.
	StartTimeout time.Duration
	// StallAfter is how long a turn may be silent before it counts as stuck;
	// 0 means for ever.
	StallAfter time.Duration
	// StallAction says what is done with a stuck turn besides telling.
	StallAction StallAction
	// IdleTimeout is how long a session without use is kept; 0 means for ever.
	IdleTimeout time.Duration
	// MaxSessions is how many sessions may be alive at once; 0 goes by the memory.
	MaxSessions int
	// WarmSpares is how many sessions are kept ready for new channels.
	WarmSpares int
	// QueueLimit is how many messages may wait on one channel; at least 1.
	QueueLimit int
	// Approvals says what happens to permission requests; empty lets each
	// channel's adapter decide by whether it can ask anyone.
	Approvals Approvals
	// ApprovalTimeout is how long a permission request waits for an answer;
	// more than 0.
	ApprovalTimeout time.Duration

	// TelegramToken is the bot's token; unset: no Telegram.
	TelegramToken Secret
	// AllowedUsers are the Telegram user ids that are listened to; not empty
	// if TelegramToken is set.
	AllowedUsers []int64
	// TelegramAPI is the base URL of the Bot API, without a slash at its end.
	TelegramAPI string
	// FileOver is how many messages an answer may take before it comes as a file;
	// at least 1.
	FileOver int
	// MediaMaxAge is how long received files are kept; 0 means for ever.
	MediaMaxAge time.Duration
	// Transcribe is the command that makes a text of a voice message: a line for the
	// shell, which gets the file's path on its standard input. Empty: none.
	Transcribe string
	// SendRoots are existing directories that files may be sent from, besides CWD and
	// where received files are kept.
	SendRoots []string
	// UserDir is the directory that all daemons of this user share, whatever their
	// StateDir is. It need not exist yet.
	UserDir string

	// ConfigDir is where the user's own settings of this program are, such as .env. It
	// need not exist.
	ConfigDir string

	// Heartbeat says whether the heartbeat's job is installed when the daemon starts,
	// and what its ticks do.
	Heartbeat Heartbeat
	// HeartbeatInterval is the time between two heartbeats; at least a minute.
	HeartbeatInterval time.Duration
	// HeartbeatMessage is what a heartbeat says: a text, or a file's absolute path
	// after an @. Empty: the text that is built in.
	HeartbeatMessage string
	// HeartbeatPrecheck is a command line for sh that is run before each heartbeat;
	// another status than 0 means that there is nothing to do. Empty: none.
	HeartbeatPrecheck string
	// HeartbeatNotify is the channel that hears what a heartbeat has to tell. Empty:
	// none.
	HeartbeatNotify string

	// LogFile is where the log is kept besides stderr: an absolute path, or LogFileAuto
	// or LogFileOff.
	LogFile string
	// LogLevel is the least severe level that is written.
	LogLevel slog.Level
	// LogFormat is the shape of log lines.
	LogFormat LogFormat

	// Unknown lists BARECLAW_ variables that nothing reads, by name.
	Unknown []Unknown
}

// Agent says what answers messages.
type Agent string

// The agents. AgentAuto is claude where it is installed, else echo.
const (
	AgentAuto   Agent = "auto"
	AgentClaude Agent = "claude"
	AgentEcho   Agent = "echo"
)

// Approvals says what happens when claude asks for permission. The zero value
// means that nobody chose.
type Approvals string

// The ways to treat a permission request: wait for somebody's answer, or
// refuse at once.
const (
	ApprovalsAsk  Approvals = "ask"
	ApprovalsDeny Approvals = "deny"
)

// StallAction says what is done with a stuck turn.
type StallAction string

// The ways to treat a stuck turn, each of which begins with telling the channel:
// nothing else, ask claude to end it and end claude if it does not, or end claude.
const (
	StallNotify    StallAction = "notify"
	StallInterrupt StallAction = "interrupt"
	StallKill      StallAction = "kill"
)

// Heartbeat says whether the daemon installs the heartbeat's job when it starts, and
// what its ticks do.
type Heartbeat string

// The ways to treat the heartbeat: install what the user has agreed to, install a job
// that asks the agent or say loudly why not, install one that only looks after the
// gateway and asks nothing, or leave it alone.
const (
	HeartbeatAuto   Heartbeat = "auto"
	HeartbeatOn     Heartbeat = "on"
	HeartbeatRevive Heartbeat = "revive"
	HeartbeatOff    Heartbeat = "off"
)

// What LogFile may be besides a path: bareclaw.log in the state directory unless
// the systemd journal keeps the log already, or none.
const (
	LogFileAuto = "auto"
	LogFileOff  = "off"
)

// LogFormat is the shape of log lines.
type LogFormat string

// The log formats: slog's text and JSON handlers.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// TelegramLock returns the path of the file whose lock the process has that receives
// the bot's messages, empty without a bot. All daemons of this user share it.
func (c Config) TelegramLock() string {
	id, _, ok := strings.Cut(c.TelegramToken.Reveal(), ":")
	if !ok {
		return ""
	}
	return filepath.Join(c.UserDir, "telegram-"+id+".lock")
}

// shortToken is the length in characters under which a token that guards an
// address others can reach is worth a warning.
const shortToken = 16

// Warnings says, a sentence each, what is accepted but probably not meant.
func (c Config) Warnings() []string {
	var out []string
	for _, u := range c.Unknown {
		out = append(out, u.String())
	}
	if token := c.HTTPToken.Reveal(); token != "" && len(token) < shortToken && !isLoopback(c.Host) {
		out = append(out, "BARECLAW_HTTP_TOKEN is short for an address that others can reach; try `openssl rand -hex 32`")
	}
	return out
}
