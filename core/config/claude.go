package config

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
