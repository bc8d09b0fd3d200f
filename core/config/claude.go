package config

// Claude holds the settings of the agent: what is run, and what it may do.
type Claude struct {
	// Agent is the program that answers messages: `claude` is the CLI, `echo` repeats each
	// message, `auto` is claude where it is installed and echo elsewhere.
	Agent Agent `envconfig:"BARECLAW_AGENT" default:"auto"`
	// Command is the path or the name of the CLI.
	//
	// A name is looked up in PATH.
	Command Command `envconfig:"BARECLAW_CLAUDE" default:"claude"`
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
	Tools        Tools
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
}

// Agent is the program that answers messages.
type Agent string

// The agents. AgentAuto is claude where it is installed, else echo.
const (
	AgentAuto   Agent = "auto"
	AgentClaude Agent = "claude"
	AgentEcho   Agent = "echo"
)

var agents = []Agent{AgentAuto, AgentClaude, AgentEcho}

// Decode reads the name of an agent.
func (a *Agent) Decode(text string) error { return choose(a, text, agents) }

// Accepted lists the agents.
func (*Agent) Accepted() string { return alternatives(agents) }

// PermissionMode is a permission mode of claude; empty means the choice of claude.
type PermissionMode string

var permissionModes = []PermissionMode{"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"}

// Decode reads the name of a permission mode.
func (p *PermissionMode) Decode(text string) error { return choose(p, text, permissionModes) }

// Accepted lists the permission modes.
func (*PermissionMode) Accepted() string { return alternatives(permissionModes) }

// SettingSources is whose settings claude follows.
type SettingSources string

// SettingSourcesAll leaves no source out; SettingSourcesUser leaves out those of the directory that
// claude runs in.
const (
	SettingSourcesAll  SettingSources = "all"
	SettingSourcesUser SettingSources = "user"
)

var settingSources = []SettingSources{SettingSourcesAll, SettingSourcesUser}

// Decode reads whose settings count.
func (s *SettingSources) Decode(text string) error { return choose(s, text, settingSources) }

// Accepted lists the choices.
func (*SettingSources) Accepted() string { return alternatives(settingSources) }

// FileMentions is what claude does with @path in a message.
type FileMentions string

// FileMentionsOn has claude attach the files that a message mentions.
const (
	FileMentionsOff FileMentions = "off"
	FileMentionsOn  FileMentions = "on"
)

var fileMentions = []FileMentions{FileMentionsOff, FileMentionsOn}

// Decode reads on or off.
func (f *FileMentions) Decode(text string) error { return choose(f, text, fileMentions) }

// Accepted lists the choices.
func (*FileMentions) Accepted() string { return alternatives(fileMentions) }
