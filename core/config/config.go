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

import "bareclaw/internal/toolset"

// Config holds the settings of the gateway.
//
// A field with an envconfig tag is a setting. Its type reads the text of the variable (Decode) and
// describes good values (Accepted). The tag "default" is the value of a variable unset or empty,
// and "unset" describes a default that depends on the machine. "secret" marks a setting whose value
// nobody sees. "harmless" marks a setting that runs no programs, and says neither who may reach the
// gateway nor where files are read and written. The first paragraph of a field's comment is the
// field's row in docs/settings.md; .env.example has the whole comment.
type Config struct {
	// Host is the IP address or host name to listen on. An address that others can reach
	// needs `BARECLAW_HTTP_TOKEN`.
	//
	// Whoever reaches the gateway can run commands as you.
	Host Host `envconfig:"BARECLAW_HOST" default:"127.0.0.1" section:"HTTP"`
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
	// HTTPToken is the token that every request over TCP must carry, as `Authorization:
	// Bearer TOKEN`. Without a token only processes of your own user are answered.
	//
	// Make one with: openssl rand -hex 32
	HTTPToken HTTPToken `envconfig:"BARECLAW_HTTP_TOKEN" secret:"true" unset:"none"`
	// BodyLimit is the size of the largest request body.
	//
	// A larger body is refused with status 413.
	BodyLimit Bytes `envconfig:"BARECLAW_BODY_LIMIT" default:"32MiB" harmless:"true"`

	// CWD is the existing directory that Claude runs in. It decides which `CLAUDE.md` and
	// which project Claude sees.
	CWD Directory `envconfig:"BARECLAW_CWD" default:"~" section:"Files"`
	// SessionFile is the file with the session id of each channel.
	//
	// A symbolic link in its place is refused, because a project could bring one along.
	SessionFile SessionFile `envconfig:"BARECLAW_SESSION_FILE" default:".bareclaw-sessions.json"`
	// StateDir is the directory of everything that must outlive a restart.
	//
	// It holds accepted messages, locks, logs and records of session hosts.
	StateDir Path `envconfig:"BARECLAW_STATE_DIR" unset:"$XDG_STATE_HOME/bareclaw, else ~/.local/state/bareclaw"`
	// RuntimeDir is the directory of the sockets. A second gateway needs a directory of its
	// own.
	//
	// Only you may enter it (mode 0700). Its path has at most 73 bytes.
	RuntimeDir Path `envconfig:"BARECLAW_RUNTIME_DIR" unset:"$XDG_RUNTIME_DIR/bareclaw, else run below the state directory"`
	// Source is the source tree that a restart builds the program from, so that a changed
	// source applies. `off`: a restart starts the program's file as it is.
	//
	// A program that was built is on trial for half a minute; the earlier one takes over
	// again if the new one is not well.
	Source Source `envconfig:"BARECLAW_SOURCE" unset:"the source of a gateway that go run has started, else off"`

	// Agent is the program that answers messages: `claude` is the CLI, `echo` repeats each
	// message, `auto` is claude where it is installed and echo elsewhere.
	Agent Agent `envconfig:"BARECLAW_AGENT" default:"auto" section:"Claude"`
	// Claude is the path or the name of the CLI.
	//
	// A name is looked up in PATH.
	Claude Command `envconfig:"BARECLAW_CLAUDE" default:"claude"`
	// Model is the model, as for `claude --model`.
	Model Model `envconfig:"BARECLAW_MODEL" unset:"the choice of claude" harmless:"true"`
	// PermissionMode is the permission mode, as for `claude --permission-mode`.
	PermissionMode PermissionMode `envconfig:"BARECLAW_PERMISSION_MODE" unset:"the choice of claude"`
	// SettingSources is whose settings Claude follows: `all` are yours and those of the
	// directory that Claude runs in, `user` are yours alone.
	//
	// With `all` Claude runs the hooks and the MCP servers of that directory, and follows its
	// environment variables, without asking: choose `user` for a directory whose contents
	// others write. Then its `CLAUDE.md`, skills and agents do not count either.
	SettingSources SettingSources `envconfig:"BARECLAW_SETTING_SOURCES" default:"all"`
	// AllowedTools are the tools that run without asking.
	//
	// Rules such as Bash(git log *) or mcp__server__tool are fine.
	AllowedTools ToolRules `envconfig:"BARECLAW_ALLOWED_TOOLS" default:"Read,Glob,Grep,Bash,Write,Edit,Skill,Task"`
	// FileMentions is what `@path` in a message does: with `on` claude attaches the file, without
	// asking, before the model reads the message; with `off` it does not.
	//
	// Only what an allowed person types counts, or a program sends over HTTP; in forwarded texts,
	// quotes, names and titles, and in what Claude sends, `@path` never does anything.
	FileMentions FileMentions `envconfig:"BARECLAW_FILE_MENTIONS" default:"off"`
	// Tools are the tools of the gateway that Claude sees and may call: `all`, `none`, or a
	// list of names.
	//
	// The tools tool_search and tool_call are always there; they reach the others of this list
	// only. A channel can have a list of its own: bareclaw channels set CHANNEL --tools LIST.
	// Clients at /mcp have all tools, whatever this says.
	Tools toolset.Set `envconfig:"BARECLAW_TOOLS" default:"all"`
	// ToolsDir is the directory of the tools that are TypeScript files. Snapshots of the
	// directory are kept beside it, in snapshots.
	//
	// Claude makes such tools itself; a file that you put there works at once.
	ToolsDir Path `envconfig:"BARECLAW_TOOLS_DIR" unset:"tools below the state directory"`
	// ToolGrants are what the tools of the tools directory may use: hosts that they fetch from
	// and directories whose files they read or write.
	//
	// A tool must also declare the permission. Addresses in private networks cannot be granted;
	// the gateway's own directories are out of reach whatever is granted.
	ToolGrants ToolGrants `envconfig:"BARECLAW_TOOL_GRANTS" unset:"none"`
	// SnapshotsKeep is the number of snapshots of the tools directory that are kept, beside the
	// first one.
	SnapshotsKeep SnapshotCount `envconfig:"BARECLAW_SNAPSHOTS_KEEP" default:"50" harmless:"true"`
	// ToolHostAddr is a further address on which the tool host answers, for other programs.
	//
	// Requests are checked as those for `BARECLAW_PORT`.
	ToolHostAddr LoopbackAddress `envconfig:"BARECLAW_TOOLHOST_ADDR" unset:"none"`
	// MaxTurns is the number of agentic turns that one message may take.
	//
	// The limit stops tool loops.
	MaxTurns Limit `envconfig:"BARECLAW_MAX_TURNS" default:"25" harmless:"true"`
	// MaxBudgetUSD is the amount of US dollars that one turn may cost, by Claude's own
	// estimate; 0 means any amount.
	//
	// Claude checks between its requests to the model, so the last request may exceed the
	// limit. Then the turn ends and its sender is told. A claude that has spent a tenth of
	// the limit is replaced between turns, which takes a second: a turn may be ended from
	// nine tenths on.
	MaxBudgetUSD USD `envconfig:"BARECLAW_MAX_BUDGET_USD" default:"0" harmless:"true"`
	// DailyBudgetUSD is the amount of US dollars that all turns of a day may cost together;
	// 0 means any amount. Above the limit messages wait until midnight, local time.
	//
	// Running turns go on, and the senders of waiting messages are told.
	DailyBudgetUSD USD `envconfig:"BARECLAW_DAILY_BUDGET_USD" default:"0" harmless:"true"`
	// PassEnv is the list of variables that Claude sees although they are withheld by
	// default, such as `ANTHROPIC_API_KEY`.
	//
	// An API key is passed only in this way, and then claude bills that key.
	PassEnv Names `envconfig:"BARECLAW_PASS_ENV" unset:"none"`

	// Timeout is the number of milliseconds after which a turn is interrupted and its
	// sender told; 0 means never.
	//
	// A turn may well take many minutes.
	Timeout Milliseconds `envconfig:"BARECLAW_TIMEOUT_MS" default:"0" section:"Turns" harmless:"true"`
	// StartTimeout is how long claude may take to start.
	//
	// After that the message fails with the reason.
	StartTimeout Duration `envconfig:"BARECLAW_START_TIMEOUT" default:"1m" harmless:"true"`
	// StallAfter is how long a turn may be silent before its channel is told that the turn
	// seems stuck; 0 means for ever.
	//
	// A Bash call with a timeout of its own may be silent for that long besides, and
	// waiting for a permission does not count.
	StallAfter OptionalDuration `envconfig:"BARECLAW_STALL_AFTER" default:"10m" harmless:"true"`
	// StallAction is what else happens to a stuck turn: `notify` is nothing, `interrupt`
	// asks claude to end the turn, `kill` ends claude.
	//
	// A claude that does not end the turn within 5 seconds is ended. The conversation is
	// kept in each case.
	StallAction StallAction `envconfig:"BARECLAW_STALL_ACTION" default:"notify" harmless:"true"`
	// IdleTimeout is how long an unused claude is kept; 0 means for ever. The next message
	// resumes the conversation.
	//
	// Unused means without a turn, a permission request or a background task. Resuming
	// takes a second. The time also runs while no gateway runs.
	IdleTimeout OptionalDuration `envconfig:"BARECLAW_IDLE_TIMEOUT" default:"30m" harmless:"true"`
	// MaxSessions is the number of claudes that may be alive at once; 0 means one for each
	// 400 MiB of memory. The least recently used claude makes room for another one.
	//
	// Each takes some 200 MB. While all are busy, further channels wait. The memory is the
	// machine's, or the container's if that is less.
	MaxSessions OptionalLimit `envconfig:"BARECLAW_MAX_SESSIONS" default:"0" harmless:"true"`
	// WarmSpares is the number of claudes that are kept ready, so that the first message of
	// a new channel need not wait for a start.
	//
	// Each takes some 160 MB. None is started while less than 800 MiB of memory are free.
	WarmSpares SpareCount `envconfig:"BARECLAW_WARM_SPARES" default:"0" harmless:"true"`
	// QueueLimit is the number of messages without an outcome that one channel may hold.
	//
	// Further messages are refused with status 429.
	QueueLimit Limit `envconfig:"BARECLAW_QUEUE_LIMIT" default:"1000" harmless:"true"`
	// Approvals is what happens to a permission request: `ask` waits for an answer, `deny`
	// refuses at once and says how to allow the tool.
	Approvals Approvals `envconfig:"BARECLAW_APPROVALS" unset:"ask on a channel that can ask, deny on any other, such as HTTP"`
	// ApprovalTimeout is how long a permission request waits before it is denied.
	ApprovalTimeout Duration `envconfig:"BARECLAW_APPROVAL_TIMEOUT" default:"10m" harmless:"true"`

	// TelegramToken is the token of your Telegram bot, which switches Telegram on.
	TelegramToken BotToken `envconfig:"BARECLAW_TELEGRAM_TOKEN" secret:"true" unset:"none" section:"Telegram"`
	// AllowedUsers are the numeric ids of the users that the bot listens to. A bot token
	// requires at least one.
	//
	// @userinfobot tells you yours.
	AllowedUsers UserIDs `envconfig:"BARECLAW_ALLOWED_USERS" unset:"none"`
	// TelegramAPI is the base URL of the Bot API, for a Bot API server of your own.
	TelegramAPI BaseURL `envconfig:"BARECLAW_TELEGRAM_API" default:"https://api.telegram.org"`
	// FileOver is the number of messages above which the rest of an answer, or of a request for
	// permission, comes as a file.
	FileOver MessageCount `envconfig:"BARECLAW_TELEGRAM_FILE_OVER" default:"5" harmless:"true"`
	// MediaMaxAge is how long received files are kept; 0 means for ever.
	MediaMaxAge Age `envconfig:"BARECLAW_MEDIA_MAX_AGE" default:"30d" harmless:"true"`
	// Transcribe is a command line for sh that turns a voice message into text: it reads the
	// path of the audio file on standard input and writes the text to standard output.
	//
	// Without the command Claude gets the file alone.
	Transcribe CommandLine `envconfig:"BARECLAW_TRANSCRIBE" unset:"none"`
	// SendRoots are further directories that files may be sent from.
	//
	// `BARECLAW_CWD` and the directory of received files are always allowed; hidden paths,
	// the state directory and ~/.config never are.
	SendRoots Directories `envconfig:"BARECLAW_SEND_ROOTS" unset:"none"`

	// Heartbeat is the treatment of the heartbeat's job at start: `auto` installs what you
	// agreed to in `bareclaw init`, `on` asks Claude regularly, `revive` only starts a
	// gateway that is down, `off` installs nothing.
	//
	// The job runs under systemd or launchd. Asking Claude is billed, or counts against your
	// plan's limits; `revive` costs nothing. `bareclaw heartbeat install` counts as agreed.
	Heartbeat HeartbeatMode `envconfig:"BARECLAW_HEARTBEAT" default:"auto" section:"Heartbeat" harmless:"true"`
	// HeartbeatInterval is the time between two heartbeats.
	HeartbeatInterval Interval `envconfig:"BARECLAW_HEARTBEAT_INTERVAL" default:"1h" harmless:"true"`
	// HeartbeatMessage is what a heartbeat says to Claude: a text, or `@` and the path of a
	// file.
	HeartbeatMessage TextOrFile `envconfig:"BARECLAW_HEARTBEAT_MESSAGE" unset:"a question whether anything needs attention, to be answered HEARTBEAT_OK if not"`
	// HeartbeatPrecheck is a command line for sh that is run before each heartbeat. Claude
	// is not asked if its status is not 0.
	HeartbeatPrecheck CommandLine `envconfig:"BARECLAW_HEARTBEAT_PRECHECK" unset:"none"`
	// HeartbeatNotify is the channel that gets what a heartbeat has to report.
	//
	// Reports are kept on the channel "heartbeat" as well.
	HeartbeatNotify Channel `envconfig:"BARECLAW_HEARTBEAT_NOTIFY" unset:"none"`

	// TZ is the time zone of schedules, of the day that a budget is for, and of all times that
	// people see, such as Europe/Berlin. Claude's commands get it as `TZ`.
	//
	// A schedule can have a zone of its own: bareclaw schedule add --tz ZONE.
	TZ Zone `envconfig:"BARECLAW_TZ" unset:"TZ, else the machine's" section:"Time" harmless:"true"`

	// LogFile is the file of the log besides stderr: `auto` is `bareclaw.log` in the state
	// directory unless the journal of systemd has the log, `off` is none.
	//
	// The file is rotated at 10 MiB, and three old ones are kept.
	LogFile LogFile `envconfig:"BARECLAW_LOG_FILE" default:"auto" section:"Logs"`
	// LogLevel is the least severe level that is written. Only `debug` includes the text of
	// messages.
	//
	// Of each message and answer up to 64 KiB are written.
	LogLevel Level `envconfig:"BARECLAW_LOG_LEVEL" default:"info" harmless:"true"`
	// LogFormat is the format of log lines.
	LogFormat LogFormat `envconfig:"BARECLAW_LOG_FORMAT" default:"text" harmless:"true"`

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
