package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"bareclaw/internal/privatedir"
)

const (
	// minBodyBytes leaves room for a JSON object around a short text.
	minBodyBytes = 1 << 10
	// maxBodyBytes is what goes through to claude and back: a line of it is read up to 128 MiB.
	maxBodyBytes = 64 << 20
	// maxTurns, maxQueue, maxSessions and maxDollars catch a slipped digit; nothing depends on them.
	maxTurns    = 1_000_000
	maxQueue    = 1_000_000
	maxSessions = 1_000_000
	maxDollars  = 1_000_000
	// maxSpares is more than a machine starts at once without being slow.
	maxSpares = 64
	// maxFileOver is far more than anybody reads.
	maxFileOver = 1000
)

// resolve parses every variable, each whatever became of the others, and
// records what is wrong in p.
func (e environment) resolve(m machine, p *problems) Config {
	var c Config
	e = e.withDefaults()
	e.resolveHTTP(&c, p)
	e.resolvePaths(&c, m, p)
	e.resolveClaude(&c, m, p)
	e.resolveTurns(&c, p)
	e.resolveTelegram(&c, m, p)
	e.resolveHeartbeat(&c, m, p)
	c.LogFile = read(p, "BARECLAW_LOG_FILE", e.LogFile, "auto, off or a path, absolute or starting with ~/", m.logFile)
	c.LogLevel = read(p, "BARECLAW_LOG_LEVEL", e.LogLevel, "debug, info, warn or error", parseLevel)
	c.LogFormat = read(p, "BARECLAW_LOG_FORMAT", e.LogFormat, "text or json", oneOf(LogText, LogJSON))
	return c
}

// read parses one variable or records its problem. An empty value, which no
// default filled, is the zero T.
func read[T any](p *problems, name, value, accepted string, parse func(string) (T, error)) T {
	var zero T
	if value == "" {
		return zero
	}
	v, err := parse(value)
	if err != nil {
		p.check(name, accepted, err)
		return zero
	}
	return v
}

func (e environment) resolveHTTP(c *Config, p *problems) {
	const hostAccepted = "an IP address or a host name, without a port"
	c.Port = read(p, "BARECLAW_PORT", e.Port, "0 to 65535, where 0 picks a free port", between(0, math.MaxUint16))
	c.Host = read(p, "BARECLAW_HOST", e.Host, hostAccepted, parseHost)
	c.AllowedHosts = read(p, "BARECLAW_ALLOWED_HOSTS", e.AllowedHosts, "a comma-separated list, each "+hostAccepted, parseHosts)
	c.HTTPToken = read(p, "BARECLAW_HTTP_TOKEN", e.HTTPToken, "letters, digits and punctuation of ASCII, without spaces", parseHTTPToken)
	c.BodyLimit = read(p, "BARECLAW_BODY_LIMIT", e.BodyLimit, "1KiB to 64MiB, as 32MiB, 10MB or 1048576", parseBodySize)

	if c.Host != "" && !isLoopback(c.Host) && e.HTTPToken == "" {
		p.add("BARECLAW_HOST", "a loopback address such as 127.0.0.1, or any address together with BARECLAW_HTTP_TOKEN",
			"%s can be reached by others, and whoever reaches the daemon can run commands as this user", quoted(c.Host))
	}
}

func (e environment) resolvePaths(c *Config, m machine, p *problems) {
	const pathAccepted = "a path, absolute or starting with ~/"
	c.CWD = read(p, "BARECLAW_CWD", e.CWD, "an existing directory, absolute or starting with ~/", m.directory)
	if c.CWD != "" { // else its own problem says enough
		c.SessionFile = read(p, "BARECLAW_SESSION_FILE", e.SessionFile, "a path, absolute, starting with ~/ or relative to BARECLAW_CWD",
			func(s string) (string, error) { return m.absolute(s, c.CWD) })
	}
	inDaemonCWD := func(s string) (string, error) { return m.absolute(s, m.cwd) }
	c.StateDir = read(p, "BARECLAW_STATE_DIR", e.StateDir, pathAccepted, inDaemonCWD)
	if e.StateDir == "" {
		var err error
		c.StateDir, err = m.stateDir()
		p.check("BARECLAW_STATE_DIR", pathAccepted, err)
	}
	c.ConfigDir = cmp.Or(m.configDir, c.StateDir)
	c.UserDir = c.StateDir
	if shared, err := m.stateDir(); err == nil {
		c.UserDir = shared
	}
	c.RuntimeDir = read(p, "BARECLAW_RUNTIME_DIR", e.RuntimeDir, pathAccepted, inDaemonCWD)
	if e.RuntimeDir == "" {
		c.RuntimeDir = m.runtimeDir(c.StateDir)
	}
	if err := privatedir.CheckSocketDir(c.RuntimeDir); err != nil {
		c.RuntimeDir = ""
		p.check("BARECLAW_RUNTIME_DIR", fmt.Sprintf("a directory whose path has at most %d bytes", privatedir.MaxSocketDir), err)
	}
	c.Source = read(p, "BARECLAW_SOURCE", e.Source, "an existing directory, absolute or starting with ~/, or off", m.source)
}

// source accepts an existing directory, or the word for none.
func (m machine) source(s string) (string, error) {
	if s == SourceOff {
		return s, nil
	}
	return m.directory(s)
}

func (e environment) resolveClaude(c *Config, m machine, p *problems) {
	c.Agent = read(p, "BARECLAW_AGENT", e.Agent, "auto, claude or echo", oneOf(AgentAuto, AgentClaude, AgentEcho))
	c.Claude = read(p, "BARECLAW_CLAUDE", e.Claude, "the path or the name of a program", m.command)
	c.Model = read(p, "BARECLAW_MODEL", e.Model, "a model's name, as for claude --model", parseWord)
	// The choices of claude --permission-mode; "default" is its older word for
	// "manual".
	c.PermissionMode = read(p, "BARECLAW_PERMISSION_MODE", e.PermissionMode,
		"acceptEdits, auto, bypassPermissions, default, dontAsk, manual or plan",
		oneOf("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"))
	c.AllowedTools = read(p, "BARECLAW_ALLOWED_TOOLS", e.AllowedTools, "a comma-separated list, as Read,Bash(git log *)", parseTools)
	c.MaxTurns = read(p, "BARECLAW_MAX_TURNS", e.MaxTurns, "1 to 1000000", between(1, maxTurns))
	const budgetAccepted = "US dollars from 0 to 1000000, as 5 or 0.50, where 0 means any amount"
	c.MaxBudgetUSD = read(p, "BARECLAW_MAX_BUDGET_USD", e.MaxBudgetUSD, budgetAccepted, parseDollars)
	c.DailyBudgetUSD = read(p, "BARECLAW_DAILY_BUDGET_USD", e.DailyBudgetUSD, budgetAccepted, parseDollars)
	c.PassEnv = read(p, "BARECLAW_PASS_ENV", e.PassEnv, "a comma-separated list of variable names, none of them BARECLAW_…", parseNames)
}

func (e environment) resolveTurns(c *Config, p *problems) {
	const durationAccepted = "a duration of more than 0, as 90s, 10m or 1h30m"
	const patienceAccepted = "a duration, as 90s, 10m or 1h30m, where 0 means for ever"
	c.Timeout = read(p, "BARECLAW_TIMEOUT_MS", e.Timeout, "milliseconds, where 0 means no limit", parseMillis)
	c.StartTimeout = read(p, "BARECLAW_START_TIMEOUT", e.StartTimeout, durationAccepted, parseDuration)
	c.StallAfter = read(p, "BARECLAW_STALL_AFTER", e.StallAfter, patienceAccepted, parsePatience)
	c.StallAction = read(p, "BARECLAW_STALL_ACTION", e.StallAction, "notify, interrupt or kill", oneOf(StallNotify, StallInterrupt, StallKill))
	c.IdleTimeout = read(p, "BARECLAW_IDLE_TIMEOUT", e.IdleTimeout, patienceAccepted, parsePatience)
	c.MaxSessions = read(p, "BARECLAW_MAX_SESSIONS", e.MaxSessions, "0 to 1000000, where 0 goes by the memory", between(0, maxSessions))
	c.WarmSpares = read(p, "BARECLAW_WARM_SPARES", e.WarmSpares, "0 to 64", between(0, maxSpares))
	c.QueueLimit = read(p, "BARECLAW_QUEUE_LIMIT", e.QueueLimit, "1 to 1000000", between(1, maxQueue))
	c.Approvals = read(p, "BARECLAW_APPROVALS", e.Approvals, "ask or deny", oneOf(ApprovalsAsk, ApprovalsDeny))
	c.ApprovalTimeout = read(p, "BARECLAW_APPROVAL_TIMEOUT", e.ApprovalTimeout, durationAccepted, parseDuration)
}

func (e environment) resolveTelegram(c *Config, m machine, p *problems) {
	const usersAccepted = "a comma-separated list of Telegram user ids, as 123456789,987654321"
	c.TelegramToken = read(p, "BARECLAW_TELEGRAM_TOKEN", e.TelegramToken, "a token from @BotFather, as 123456:ABC-DEF", parseTelegramToken)
	c.AllowedUsers = read(p, "BARECLAW_ALLOWED_USERS", e.AllowedUsers, usersAccepted, parseUsers)
	if e.TelegramToken != "" && e.AllowedUsers == "" {
		p.check("BARECLAW_ALLOWED_USERS", usersAccepted,
			errors.New("it is empty, but BARECLAW_TELEGRAM_TOKEN is set, and a bot that listens to everyone lets everyone run commands"))
	}
	c.TelegramAPI = read(p, "BARECLAW_TELEGRAM_API", e.TelegramAPI, "an http or https URL, as http://localhost:8081", parseBaseURL)
	c.FileOver = read(p, "BARECLAW_TELEGRAM_FILE_OVER", e.FileOver, "1 to 1000", between(1, maxFileOver))
	c.MediaMaxAge = read(p, "BARECLAW_MEDIA_MAX_AGE", e.MediaMaxAge, "days or a duration, as 30d or 12h, where 0 means for ever", parseAge)
	c.Transcribe = read(p, "BARECLAW_TRANSCRIBE", e.Transcribe, "a command line for sh", parsePrintable)
	c.SendRoots = read(p, "BARECLAW_SEND_ROOTS", e.SendRoots, "a comma-separated list of existing directories, each absolute or starting with ~/", m.directories)
}

func (e environment) resolveHeartbeat(c *Config, m machine, p *problems) {
	c.Heartbeat = read(p, "BARECLAW_HEARTBEAT", e.Heartbeat, "auto, on, revive or off",
		oneOf(HeartbeatAuto, HeartbeatOn, HeartbeatRevive, HeartbeatOff))
	c.HeartbeatInterval = read(p, "BARECLAW_HEARTBEAT_INTERVAL", e.HeartbeatInterval, "a duration of a minute or more, as 30m or 1h", parseInterval)
	c.HeartbeatMessage = read(p, "BARECLAW_HEARTBEAT_MESSAGE", e.HeartbeatMessage, "a text, or @ and the path of a file", m.textOrFile)
	c.HeartbeatPrecheck = read(p, "BARECLAW_HEARTBEAT_PRECHECK", e.HeartbeatPrecheck, "a command line for sh", parsePrintable)
	c.HeartbeatNotify = read(p, "BARECLAW_HEARTBEAT_NOTIFY", e.HeartbeatNotify, "a channel, as tg-123456789", parseChannel)
}

// logFile accepts a path, or one of the words.
func (m machine) logFile(s string) (string, error) {
	if s == LogFileAuto || s == LogFileOff {
		return s, nil
	}
	return m.absolute(s, m.cwd)
}

// textOrFile makes the path of a file, which an @ marks, absolute.
func (m machine) textOrFile(s string) (string, error) {
	path, isFile := strings.CutPrefix(s, "@")
	if !isFile {
		return s, nil
	}
	path, err := m.absolute(path, m.cwd)
	return "@" + path, err
}
