package config

import "bareclaw/internal/toolset"

// Tools holds the settings of the gateway's tools.
type Tools struct {
	// Set are the tools of the gateway that Claude sees and may call: `all`, `none`, or a
	// list of names.
	//
	// The tools tool_search and tool_call are always there; they reach the others of this list
	// only. A channel can have a list of its own: bareclaw channels set CHANNEL --tools LIST.
	// Clients at /mcp have all tools, whatever this says.
	Set toolset.Set `envconfig:"BARECLAW_TOOLS" default:"all"`
	// Dir is the directory of the tools that are TypeScript files. Snapshots of the
	// directory are kept beside it, in snapshots.
	//
	// Claude makes such tools itself; a file that you put there works at once.
	Dir Path `envconfig:"BARECLAW_TOOLS_DIR" unset:"tools below the state directory"`
	// Grants are what the tools of the tools directory may use: hosts that they fetch from
	// and directories whose files they read or write.
	//
	// A tool must also declare the permission. Addresses in private networks cannot be granted;
	// the gateway's own directories are out of reach whatever is granted.
	Grants ToolGrants `envconfig:"BARECLAW_TOOL_GRANTS" unset:"none"`
	// SnapshotsKeep is the number of snapshots of the tools directory that are kept, beside the
	// first one.
	SnapshotsKeep SnapshotCount `envconfig:"BARECLAW_SNAPSHOTS_KEEP" default:"50" harmless:"true"`
	// HostAddr is a further address on which the tool host answers, for other programs.
	//
	// Requests are checked as those for `BARECLAW_PORT`.
	HostAddr LoopbackAddress `envconfig:"BARECLAW_TOOLHOST_ADDR" unset:"none"`
	// MountIdle is the time, in milliseconds, after which a mounted server ends that nobody uses.
	//
	// The member idle of a server in mcp.json counts more; see docs/mounts.md.
	MountIdle IdleTime `envconfig:"DOCTOR_IGOR_IDLE_TIMEOUT" default:"300000" harmless:"true"`
}
