package config

// Files holds the settings of files and directories.
type Files struct {
	// CWD is the existing directory that Claude runs in. It decides which `CLAUDE.md` and
	// which project Claude sees.
	CWD Directory `envconfig:"BARECLAW_CWD" default:"~"`
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
}
