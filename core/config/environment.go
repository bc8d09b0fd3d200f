package config

import (
	"reflect"
	"strings"
)

// environment is what the variables say, unparsed: envconfig stops at the
// first value it cannot convert, and all problems are to be reported together.
// An empty field means the default of its tag.
type environment struct {
	Host         string `envconfig:"BARECLAW_HOST" default:"127.0.0.1" help:"address or name the HTTP server listens on"`
	Port         string `envconfig:"BARECLAW_PORT" default:"3000" help:"TCP port of the HTTP server; 0 picks a free one"`
	AllowedHosts string `envconfig:"BARECLAW_ALLOWED_HOSTS" help:"further Host header names that requests may carry, comma-separated"`
	HTTPToken    string `envconfig:"BARECLAW_HTTP_TOKEN" secret:"true" help:"bearer token that every TCP request must carry"`
	BodyLimit    string `envconfig:"BARECLAW_BODY_LIMIT" default:"32MiB" help:"largest request body, in bytes or with KiB, MiB, kB, MB"`

	CWD         string `envconfig:"BARECLAW_CWD" default:"~" help:"existing directory that claude runs in"`
	SessionFile string `envconfig:"BARECLAW_SESSION_FILE" default:".bareclaw-sessions.json" help:"file of session ids, relative to BARECLAW_CWD"`
	StateDir    string `envconfig:"BARECLAW_STATE_DIR" help:"directory of what outlives a restart; $XDG_STATE_HOME/bareclaw"`
	RuntimeDir  string `envconfig:"BARECLAW_RUNTIME_DIR" help:"directory of the sockets; $XDG_RUNTIME_DIR/bareclaw, else run under the state directory"`

	Source string `envconfig:"BARECLAW_SOURCE" help:"source tree that a restart builds from; off for none"`

	Agent          string `envconfig:"BARECLAW_AGENT" default:"auto" help:"what answers: auto, claude or echo"`
	Claude         string `envconfig:"BARECLAW_CLAUDE" default:"claude" help:"path or name of the claude CLI"`
	Model          string `envconfig:"BARECLAW_MODEL" help:"model for claude; its own choice when empty"`
	PermissionMode string `envconfig:"BARECLAW_PERMISSION_MODE" help:"permission mode for claude; its own choice when empty"`
	AllowedTools   string `envconfig:"BARECLAW_ALLOWED_TOOLS" default:"Read,Glob,Grep,Bash,Write,Edit,Skill,Task" help:"tools that run without asking, comma-separated"`
	MaxTurns       string `envconfig:"BARECLAW_MAX_TURNS" default:"25" help:"agentic turns one message may take"`
	MaxBudgetUSD   string `envconfig:"BARECLAW_MAX_BUDGET_USD" default:"0" help:"US dollars one turn may cost; 0 any amount"`
	DailyBudgetUSD string `envconfig:"BARECLAW_DAILY_BUDGET_USD" default:"0" help:"US dollars a day after which nothing is begun; 0 any amount"`
	PassEnv        string `envconfig:"BARECLAW_PASS_ENV" help:"names of withheld variables that claude sees after all, comma-separated"`

	Timeout         string `envconfig:"BARECLAW_TIMEOUT_MS" default:"0" help:"milliseconds after which a turn is interrupted; 0 never"`
	StartTimeout    string `envconfig:"BARECLAW_START_TIMEOUT" default:"1m" help:"how long claude may take to start"`
	StallAfter      string `envconfig:"BARECLAW_STALL_AFTER" default:"10m" help:"how long a turn may be silent before it counts as stuck; 0 for ever"`
	StallAction     string `envconfig:"BARECLAW_STALL_ACTION" default:"notify" help:"what is done with a stuck turn: notify, interrupt or kill"`
	IdleTimeout     string `envconfig:"BARECLAW_IDLE_TIMEOUT" default:"30m" help:"how long a session without use is kept; 0 for ever"`
	MaxSessions     string `envconfig:"BARECLAW_MAX_SESSIONS" default:"0" help:"sessions alive at once; 0 one for each 400 MiB of memory"`
	WarmSpares      string `envconfig:"BARECLAW_WARM_SPARES" default:"0" help:"sessions kept ready for new channels"`
	QueueLimit      string `envconfig:"BARECLAW_QUEUE_LIMIT" default:"1000" help:"messages that may wait on one channel"`
	Approvals       string `envconfig:"BARECLAW_APPROVALS" help:"permission requests: ask or deny; by channel when empty"`
	ApprovalTimeout string `envconfig:"BARECLAW_APPROVAL_TIMEOUT" default:"10m" help:"how long a permission request waits"`

	TelegramToken string `envconfig:"BARECLAW_TELEGRAM_TOKEN" secret:"true" help:"token of the Telegram bot; no Telegram when empty"`
	AllowedUsers  string `envconfig:"BARECLAW_ALLOWED_USERS" help:"Telegram user ids that are listened to, comma-separated"`
	TelegramAPI   string `envconfig:"BARECLAW_TELEGRAM_API" default:"https://api.telegram.org" help:"base URL of the Bot API"`
	FileOver      string `envconfig:"BARECLAW_TELEGRAM_FILE_OVER" default:"5" help:"an answer of more messages comes as a file"`
	MediaMaxAge   string `envconfig:"BARECLAW_MEDIA_MAX_AGE" default:"30d" help:"how long received files are kept; 0 for ever"`
	Transcribe    string `envconfig:"BARECLAW_TRANSCRIBE" help:"command that makes a text of a voice message"`
	SendRoots     string `envconfig:"BARECLAW_SEND_ROOTS" help:"further directories that files may be sent from, comma-separated"`

	Heartbeat         string `envconfig:"BARECLAW_HEARTBEAT" default:"auto" help:"install the heartbeat's job at start: auto, on, revive or off"`
	HeartbeatInterval string `envconfig:"BARECLAW_HEARTBEAT_INTERVAL" default:"1h" help:"time between two heartbeats"`
	HeartbeatMessage  string `envconfig:"BARECLAW_HEARTBEAT_MESSAGE" help:"what a heartbeat says: a text, or @ and a file's path"`
	HeartbeatPrecheck string `envconfig:"BARECLAW_HEARTBEAT_PRECHECK" help:"command that says by its status whether a heartbeat has anything to do"`
	HeartbeatNotify   string `envconfig:"BARECLAW_HEARTBEAT_NOTIFY" help:"channel that hears what a heartbeat has to tell"`

	LogFile   string `envconfig:"BARECLAW_LOG_FILE" default:"auto" help:"file of the log besides stderr: auto, off or a path"`
	LogLevel  string `envconfig:"BARECLAW_LOG_LEVEL" default:"info" help:"debug, info, warn or error"`
	LogFormat string `envconfig:"BARECLAW_LOG_FORMAT" default:"text" help:"text or json"`
}

// withDefaults returns e with spaces around values gone and each empty field at
// its default: a variable that is set to nothing counts as unset, which
// envconfig alone does not do. Secrets keep their spaces, so that a wrong one
// is refused and not silently changed.
func (e environment) withDefaults() environment {
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		field, tag := v.Field(i), v.Type().Field(i).Tag
		if tag.Get("secret") == "" {
			field.SetString(strings.TrimSpace(field.String()))
		}
		if field.String() == "" {
			field.SetString(tag.Get("default"))
		}
	}
	return e
}

// A Variable describes one environment variable.
type Variable struct {
	Name    string
	Default string // as it would be written; empty where Help tells the default
	Help    string // one line: effect and unit
}

// Variables describes every variable that [Load] reads, in the order of
// .env.example.
func Variables() []Variable {
	t := reflect.TypeFor[environment]()
	out := make([]Variable, t.NumField())
	for i := range out {
		tag := t.Field(i).Tag
		out[i] = Variable{Name: tag.Get("envconfig"), Default: tag.Get("default"), Help: tag.Get("help")}
	}
	return out
}
