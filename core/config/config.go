// Package config turns the environment into a validated [Config].
//
// [Load] is called once, before anything else runs; no other part of the program reads
// BARECLAW_ variables. A Config without an error is usable as returned: paths are absolute,
// numbers in range, names checked. An error lists every problem at once, each with the
// variable, the problem of the value and the accepted values. The value of a secret appears
// in no error.
//
// The fields of Config's sections are the only definition of each variable: .env.example and the
// table in docs/settings.md are generated from the fields' comments, types and tags.
package config

//go:generate go test . -run TestDocumentsAreGenerated -update

// Config holds the settings of the gateway in sections, in the order of docs/settings.md. A section
// within another has no heading of its own there.
//
// A field of a section with an envconfig tag is a setting. Its type reads the text of the variable
// (Decode) and describes good values (Accepted). The tag "default" is the value of a variable unset
// or empty, and "unset" describes a default that depends on the machine. "secret" marks a setting
// whose value nobody sees. "harmless" marks a setting that runs no programs, and says neither who
// may reach the gateway nor where files are read and written. "admits" names the setting that says whom
// this one lets in, and must not be empty then. The first paragraph of a field's comment is the field's row in
// docs/settings.md; .env.example has the whole comment.
type Config struct {
	HTTP      HTTP
	Files     Files
	Claude    Claude
	Turns     Turns
	Telegram  Telegram
	Heartbeat Heartbeat
	Observe   Observe
	Time      Time
	Logs      Logs

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

// StateDir returns the directory of everything that must outlive a restart: [Files.StateDir].
func (c Config) StateDir() string { return string(c.Files.StateDir) }

// RuntimeDir returns the directory of the sockets: [Files.RuntimeDir].
func (c Config) RuntimeDir() string { return string(c.Files.RuntimeDir) }

// ToolsDir returns the directory of the tools that are TypeScript files: [Tools.Dir].
func (c Config) ToolsDir() string { return string(c.Claude.Tools.Dir) }
