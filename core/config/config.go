// Package config turns the environment into a validated [Config].
//
// [Load] is called once, before anything else runs; no other part of the program reads
// BARECLAW_ variables. A Config without an error is usable as returned: paths are absolute,
// numbers in range, names checked. An error lists every problem at once, each with the
// variable, the problem of the value and the accepted values. The value of a secret appears
// in no error.
//
// The fields of Config are the only definition of each variable: .env.example and the table
// in docs/settings.md are generated from the fields' comments and tags.
package config

//go:generate go test . -run TestDocumentsAreGenerated -update

import (
	"log/slog"
	"time"

	"bareclaw/internal/toolset"
)

// Config holds the settings of the gateway.
//
// A field with an env tag is a setting. The tag "kind" names the parser and its
// arguments, "accepted" describes good values where the kind alone does not, "default" is
// the value of a variable unset or empty, and "unset" describes a default that depends on
// the machine. "harmless" marks a setting that runs no programs, and says neither who may reach
// the gateway nor where files are read and written. The first paragraph of a field's comment is the field's row in
// docs/settings.md; .env.example has the whole comment.
type Config struct {
	// Host is the IP address or host name to listen on. An address that others can reach
	// needs `BARECLAW_HTTP_TOKEN`.
	//
	// Whoever reaches the gateway can run commands as you.
	Host string `env:"BARECLAW_HOST" default:"127.0.0.1" kind:"host" section:"HTTP"`
	// Port is the TCP port of the HTTP server; 0 picks a free one.
	//
	// The log names the port that was picked.
	Port int `env:"BARECLAW_PORT" default:"3000" kind:"int 0 65535" accepted:"0 to 65535, where 0 picks a free port" harmless:"true"`
	// AllowedHosts are further host names that requests may carry in `Host`. They need
	// `BARECLAW_HTTP_TOKEN`.
	//
	// The loopback names and `BARECLAW_HOST` are always allowed. A reverse proxy, for
	// example, passes its own name on.
	AllowedHosts []string `env:"BARECLAW_ALLOWED_HOSTS" kind:"hosts" unset:"none"`
	// HTTPToken is the token that every request over TCP must carry, as `Authorization:
	// Bearer TOKEN`. Without a token only processes of your own user are answered.
	//
	// Make one with: openssl rand -hex 32
	HTTPToken Secret `env:"BARECLAW_HTTP_TOKEN" kind:"http-token" secret:"true" unset:"none"`
	// BodyLimit is the size of the largest request body.
	//
	// A larger body is refused with status 413.
	BodyLimit int64 `env:"BARECLAW_BODY_LIMIT" default:"32MiB" kind:"bytes" harmless:"true"`

	// CWD is the existing directory that Claude runs in. It decides which `CLAUDE.md` and
	// which project Claude sees.
	CWD string `env:"BARECLAW_CWD" default:"~" kind:"directory" section:"Files"`
	// SessionFile is the file with the session id of each channel.
	//
	// A symbolic link in its place is refused, because a project could bring one along.
	SessionFile string `env:"BARECLAW_SESSION_FILE" default:".bareclaw-sessions.json" kind:"text" accepted:"a path, absolute, starting with ~/ or relative to BARECLAW_CWD"`
	// StateDir is the directory of everything that must outlive a restart.
	//
	// It holds accepted messages, locks, logs and records of session hosts.
	StateDir string `env:"BARECLAW_STATE_DIR" kind:"path" unset:"$XDG_STATE_HOME/bareclaw, else ~/.local/state/bareclaw"`
	// RuntimeDir is the directory of the sockets. A second gateway needs a directory of its
	// own.
	//
	// Only you may enter it (mode 0700). Its path has at most 73 bytes.
	RuntimeDir string `env:"BARECLAW_RUNTIME_DIR" kind:"path" unset:"$XDG_RUNTIME_DIR/bareclaw, else run below the state directory"`
	// Source is the source tree that a restart builds the program from, so that a changed
	// source applies. `off`: a restart starts the program's file as it is.
	//
	// A program that was built is on trial for half a minute; the earlier one takes over
	// again if the new one is not well.
	Source string `env:"BARECLAW_SOURCE" kind:"source" unset:"the source of a gateway that go run has started, else off"`

	// Agent is the program that answers messages: `claude` is the CLI, `echo` repeats each
	// message, `auto` is claude where it is installed and echo elsewhere.
	Agent Agent `env:"BARECLAW_AGENT" default:"auto" kind:"choice auto claude echo" section:"Claude"`
	// Claude is the path or the name of the CLI.
	//
	// A name is looked up in PATH.
	Claude string `env:"BARECLAW_CLAUDE" default:"claude" kind:"command"`
	// Model is the model, as for `claude --model`.
	Model string `env:"BARECLAW_MODEL" kind:"word" accepted:"a model's name, as for claude --model" unset:"the choice of claude" harmless:"true"`
	// PermissionMode is the permission mode, as for `claude --permission-mode`.
	PermissionMode string `env:"BARECLAW_PERMISSION_MODE" kind:"choice acceptEdits auto bypassPermissions default dontAsk manual plan" unset:"the choice of claude"`
	// SettingSources is whose settings Claude follows: `all` are yours and those of the
	// directory that Claude runs in, `user` are yours alone.
	//
	// With `all` Claude runs the hooks and the MCP servers of that directory, and follows its
	// environment variables, without asking: choose `user` for a directory whose contents
	// others write. Then its `CLAUDE.md`, skills and agents do not count either.
	SettingSources string `env:"BARECLAW_SETTING_SOURCES" default:"all" kind:"choice all user"`
	// AllowedTools are the tools that run without asking.
	//
	// Rules such as Bash(git log *) or mcp__server__tool are fine.
	AllowedTools []string `env:"BARECLAW_ALLOWED_TOOLS" default:"Read,Glob,Grep,Bash,Write,Edit,Skill,Task" kind:"tools"`
	// FileMentions is what `@path` in a message does: with `on` claude attaches the file, without
	// asking, before the model reads the message; with `off` it does not.
	//
	// Only what an allowed person types counts, or a program sends over HTTP; in forwarded texts,
	// quotes, names and titles, and in what Claude sends, `@path` never does anything.
	FileMentions string `env:"BARECLAW_FILE_MENTIONS" default:"off" kind:"choice off on"`
	// Tools are the tools of the gateway that Claude sees and may call: `all`, `none`, or a
	// list of names.
	//
	// The tools tool_search and tool_call are always there; they reach the others of this list
	// only. A channel can have a list of its own: bareclaw channels set CHANNEL --tools LIST.
	// Clients at /mcp have all tools, whatever this says.
	Tools toolset.Set `env:"BARECLAW_TOOLS" default:"all" kind:"gateway-tools"`
	// ToolsDir is the directory of the tools that are TypeScript files. Snapshots of the
	// directory are kept beside it, in snapshots.
	//
	// Claude makes such tools itself; a file that you put there works at once.
	ToolsDir string `env:"BARECLAW_TOOLS_DIR" kind:"path" unset:"tools below the state directory"`
	// ToolGrants are what the tools of the tools directory may use: hosts that they fetch from
	// and directories whose files they read or write.
	//
	// A tool must also declare the permission. Addresses in private networks cannot be granted;
	// the gateway's own directories are out of reach whatever is granted.
	ToolGrants []ToolGrant `env:"BARECLAW_TOOL_GRANTS" kind:"grants" unset:"none"`
	// SnapshotsKeep is the number of snapshots of the tools directory that are kept, beside the
	// first one.
	SnapshotsKeep int `env:"BARECLAW_SNAPSHOTS_KEEP" default:"50" kind:"int 1 10000" harmless:"true"`
	// ToolHostAddr is a further address on which the tool host answers, for other programs.
	//
	// Requests are checked as those for `BARECLAW_PORT`.
	ToolHostAddr string `env:"BARECLAW_TOOLHOST_ADDR" kind:"loopback-address" unset:"none"`
	// MaxTurns is the number of agentic turns that one message may take.
	//
	// The limit stops tool loops.
	MaxTurns int `env:"BARECLAW_MAX_TURNS" default:"25" kind:"int 1 1000000" harmless:"true"`
	// MaxBudgetUSD is the amount of US dollars that one turn may cost, by Claude's own
	// estimate; 0 means any amount.
	//
	// Claude checks between its requests to the model, so the last request may exceed the
	// limit. Then the turn ends and its sender is told. A claude that has spent a tenth of
	// the limit is replaced between turns, which takes a second: a turn may be ended from
	// nine tenths on.
	MaxBudgetUSD float64 `env:"BARECLAW_MAX_BUDGET_USD" default:"0" kind:"usd" harmless:"true"`
	// DailyBudgetUSD is the amount of US dollars that all turns of a day may cost together;
	// 0 means any amount. Above the limit messages wait until midnight, local time.
	//
	// Running turns go on, and the senders of waiting messages are told.
	DailyBudgetUSD float64 `env:"BARECLAW_DAILY_BUDGET_USD" default:"0" kind:"usd" harmless:"true"`
	// PassEnv is the list of variables that Claude sees although they are withheld by
	// default, such as `ANTHROPIC_API_KEY`.
	//
	// An API key is passed only in this way, and then claude bills that key.
	PassEnv []string `env:"BARECLAW_PASS_ENV" kind:"names" unset:"none"`

	// Timeout is the number of milliseconds after which a turn is interrupted and its
	// sender told; 0 means never.
	//
	// A turn may well take many minutes.
	Timeout time.Duration `env:"BARECLAW_TIMEOUT_MS" default:"0" kind:"milliseconds" section:"Turns" harmless:"true"`
	// StartTimeout is how long claude may take to start.
	//
	// After that the message fails with the reason.
	StartTimeout time.Duration `env:"BARECLAW_START_TIMEOUT" default:"1m" kind:"duration" harmless:"true"`
	// StallAfter is how long a turn may be silent before its channel is told that the turn
	// seems stuck; 0 means for ever.
	//
	// A Bash call with a timeout of its own may be silent for that long besides, and
	// waiting for a permission does not count.
	StallAfter time.Duration `env:"BARECLAW_STALL_AFTER" default:"10m" kind:"optional-duration" harmless:"true"`
	// StallAction is what else happens to a stuck turn: `notify` is nothing, `interrupt`
	// asks claude to end the turn, `kill` ends claude.
	//
	// A claude that does not end the turn within 5 seconds is ended. The conversation is
	// kept in each case.
	StallAction string `env:"BARECLAW_STALL_ACTION" default:"notify" kind:"choice notify interrupt kill" harmless:"true"`
	// IdleTimeout is how long an unused claude is kept; 0 means for ever. The next message
	// resumes the conversation.
	//
	// Unused means without a turn, a permission request or a background task. Resuming
	// takes a second. The time also runs while no gateway runs.
	IdleTimeout time.Duration `env:"BARECLAW_IDLE_TIMEOUT" default:"30m" kind:"optional-duration" harmless:"true"`
	// MaxSessions is the number of claudes that may be alive at once; 0 means one for each
	// 400 MiB of memory. The least recently used claude makes room for another one.
	//
	// Each takes some 200 MB. While all are busy, further channels wait. The memory is the
	// machine's, or the container's if that is less.
	MaxSessions int `env:"BARECLAW_MAX_SESSIONS" default:"0" kind:"int 0 1000000" harmless:"true"`
	// WarmSpares is the number of claudes that are kept ready, so that the first message of
	// a new channel need not wait for a start.
	//
	// Each takes some 160 MB. None is started while less than 800 MiB of memory are free.
	WarmSpares int `env:"BARECLAW_WARM_SPARES" default:"0" kind:"int 0 64" harmless:"true"`
	// QueueLimit is the number of messages without an outcome that one channel may hold.
	//
	// Further messages are refused with status 429.
	QueueLimit int `env:"BARECLAW_QUEUE_LIMIT" default:"1000" kind:"int 1 1000000" harmless:"true"`
	// Approvals is what happens to a permission request: `ask` waits for an answer, `deny`
	// refuses at once and says how to allow the tool.
	Approvals string `env:"BARECLAW_APPROVALS" kind:"choice ask deny" unset:"ask on a channel that can ask, deny on any other, such as HTTP"`
	// ApprovalTimeout is how long a permission request waits before it is denied.
	ApprovalTimeout time.Duration `env:"BARECLAW_APPROVAL_TIMEOUT" default:"10m" kind:"duration" harmless:"true"`

	// TelegramToken is the token of your Telegram bot, which switches Telegram on.
	TelegramToken Secret `env:"BARECLAW_TELEGRAM_TOKEN" kind:"bot-token" secret:"true" unset:"none" section:"Telegram"`
	// AllowedUsers are the numeric ids of the users that the bot listens to. A bot token
	// requires at least one.
	//
	// @userinfobot tells you yours.
	AllowedUsers []int64 `env:"BARECLAW_ALLOWED_USERS" kind:"user-ids" unset:"none"`
	// TelegramAPI is the base URL of the Bot API, for a Bot API server of your own.
	TelegramAPI string `env:"BARECLAW_TELEGRAM_API" default:"https://api.telegram.org" kind:"url"`
	// FileOver is the number of messages above which the rest of an answer, or of a request for
	// permission, comes as a file.
	FileOver int `env:"BARECLAW_TELEGRAM_FILE_OVER" default:"5" kind:"int 1 1000" harmless:"true"`
	// MediaMaxAge is how long received files are kept; 0 means for ever.
	MediaMaxAge time.Duration `env:"BARECLAW_MEDIA_MAX_AGE" default:"30d" kind:"age" harmless:"true"`
	// Transcribe is a command line for sh that turns a voice message into text: it reads the
	// path of the audio file on standard input and writes the text to standard output.
	//
	// Without the command Claude gets the file alone.
	Transcribe string `env:"BARECLAW_TRANSCRIBE" kind:"line" unset:"none"`
	// SendRoots are further directories that files may be sent from.
	//
	// `BARECLAW_CWD` and the directory of received files are always allowed; hidden paths,
	// the state directory and ~/.config never are.
	SendRoots []string `env:"BARECLAW_SEND_ROOTS" kind:"directories" unset:"none"`

	// Heartbeat is the treatment of the heartbeat's job at start: `auto` installs what you
	// agreed to in `bareclaw init`, `on` asks Claude regularly, `revive` only starts a
	// gateway that is down, `off` installs nothing.
	//
	// The job runs under systemd or launchd. Asking Claude is billed, or counts against your
	// plan's limits; `revive` costs nothing. `bareclaw heartbeat install` counts as agreed.
	Heartbeat Heartbeat `env:"BARECLAW_HEARTBEAT" default:"auto" kind:"choice auto on revive off" section:"Heartbeat" harmless:"true"`
	// HeartbeatInterval is the time between two heartbeats.
	HeartbeatInterval time.Duration `env:"BARECLAW_HEARTBEAT_INTERVAL" default:"1h" kind:"interval" harmless:"true"`
	// HeartbeatMessage is what a heartbeat says to Claude: a text, or `@` and the path of a
	// file.
	HeartbeatMessage string `env:"BARECLAW_HEARTBEAT_MESSAGE" kind:"text-or-file" unset:"a question whether anything needs attention, to be answered HEARTBEAT_OK if not"`
	// HeartbeatPrecheck is a command line for sh that is run before each heartbeat. Claude
	// is not asked if its status is not 0.
	HeartbeatPrecheck string `env:"BARECLAW_HEARTBEAT_PRECHECK" kind:"line" unset:"none"`
	// HeartbeatNotify is the channel that gets what a heartbeat has to report.
	//
	// Reports are kept on the channel "heartbeat" as well.
	HeartbeatNotify string `env:"BARECLAW_HEARTBEAT_NOTIFY" kind:"channel" unset:"none"`

	// TZ is the time zone of schedules, of the day that a budget is for, and of all times that
	// people see, such as Europe/Berlin. Claude's commands get it as `TZ`.
	//
	// A schedule can have a zone of its own: bareclaw schedule add --tz ZONE.
	TZ string `env:"BARECLAW_TZ" kind:"zone" unset:"TZ, else the machine's" section:"Time" harmless:"true"`

	// LogFile is the file of the log besides stderr: `auto` is `bareclaw.log` in the state
	// directory unless the journal of systemd has the log, `off` is none.
	//
	// The file is rotated at 10 MiB, and three old ones are kept.
	LogFile string `env:"BARECLAW_LOG_FILE" default:"auto" kind:"log-file" section:"Logs"`
	// LogLevel is the least severe level that is written. Only `debug` includes the text of
	// messages.
	//
	// Of each message and answer up to 64 KiB are written.
	LogLevel slog.Level `env:"BARECLAW_LOG_LEVEL" default:"info" kind:"level" harmless:"true"`
	// LogFormat is the format of log lines.
	LogFormat string `env:"BARECLAW_LOG_FORMAT" default:"text" kind:"choice text json" harmless:"true"`

	// UserDir is the directory that all daemons of this user share, whatever their
	// StateDir is. It need not exist yet.
	UserDir string
	// ConfigDir is the directory of the user's own settings, such as .env. It need not
	// exist.
	ConfigDir string
	// Unknown describes the variables that nothing reads, in a sentence each: unknown ones named
	// BARECLAW_, and others in the .env of the working directory.
	Unknown []string

	sources map[string]string // of the variables that are set, by name
	given   map[string]string // texts of the settings, by name; empty: the default is in force
}
