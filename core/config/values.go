package config

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"bareclaw/internal/withheld"
)

// SourceOff is the Source of a program that is never built from source.
const SourceOff = "off"

// Agent is the program that answers messages.
type Agent string

// The agents. AgentAuto is claude where it is installed, else echo.
const (
	AgentAuto   Agent = "auto"
	AgentClaude Agent = "claude"
	AgentEcho   Agent = "echo"
)

// Heartbeat selects the heartbeat's job that the daemon installs at start.
type Heartbeat string

// The heartbeat jobs: the job agreed to by the user, a job that asks the agent, a job that
// only restarts the gateway, or none.
const (
	HeartbeatAuto   Heartbeat = "auto"
	HeartbeatOn     Heartbeat = "on"
	HeartbeatRevive Heartbeat = "revive"
	HeartbeatOff    Heartbeat = "off"
)

// The values of LogFile besides a path: bareclaw.log in the state directory unless the
// systemd journal keeps the log, or no file.
const (
	LogFileAuto = "auto"
	LogFileOff  = "off"
)

// FileMentionsOn is the FileMentions that has claude attach the files a message mentions.
const FileMentionsOn = "on"

// SettingSourcesAll is the value of SettingSources that leaves no source out.
const SettingSourcesAll = "all"

// LogJSON is the LogFormat for slog's JSON handler; any other value selects the text handler.
const LogJSON = "json"

// A ToolGrant is one thing that tools of the tools directory may use: a host, or a directory.
type ToolGrant struct {
	Host     string // "*.example.com" is each name below example.com
	Dir      string // absolute
	ReadOnly bool   // of the directory
}

// TelegramLock returns the path of the lock file of the process that receives the bot's
// messages, empty without a bot. All daemons of this user share the file.
func (c Config) TelegramLock() string {
	id, _, ok := strings.Cut(c.TelegramToken.Reveal(), ":")
	if !ok {
		return ""
	}
	return filepath.Join(c.UserDir, "telegram-"+id+".lock")
}

// OwnDirs returns the gateway's own directories: no tool reaches them, and no file is sent from
// them, whatever is granted.
func (c Config) OwnDirs() []string { return []string{c.StateDir, c.RuntimeDir, c.UserDir, c.ConfigDir} }

// NeverSent returns the directories that no file is sent from: the gateway's own, and the one with
// the settings of all the user's programs, unless claude works there.
func (c Config) NeverSent() []string {
	dirs := c.OwnDirs()
	all := filepath.Dir(c.ConfigDir)
	if _, works := withheld.Below(all, c.CWD); c.ConfigDir != c.StateDir && !works {
		dirs = append(dirs, all)
	}
	return dirs
}

// shortToken is the length below which a token guarding an open address deserves a warning.
const shortToken = 16

// Warnings returns a sentence for each setting that is accepted but probably unintended.
func (c Config) Warnings() []string {
	out := slices.Clone(c.Unknown)
	if token := c.HTTPToken.Reveal(); token != "" && len(token) < shortToken && !IsLoopback(c.Host) {
		out = append(out, "BARECLAW_HTTP_TOKEN is short for an address that others can reach; try `openssl rand -hex 32`")
	}
	return out
}

const redacted = "[redacted]"

// Secret is a string that fmt, slog and JSON encoders print as "[redacted]", or as nothing
// if unset. The zero value is unset.
type Secret struct {
	// A pointer, because fmt prints an unexported field of an unexported field without
	// calling String: fmt then prints only an address.
	value *string
}

// NewSecret returns a Secret with the value; an empty value is unset.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: &value}
}

// IsSet reports whether the secret has a value.
func (s Secret) IsSet() bool { return s.value != nil }

// Reveal returns the secret value, empty when unset. Never log the result.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String returns a placeholder, or nothing when s is unset.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return redacted
}

// Format writes the placeholder for every verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, s.String()) }

// MarshalText returns the placeholder, for slog, JSON and other encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
