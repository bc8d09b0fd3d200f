package config

import (
	"path/filepath"
	"slices"

	"bareclaw/internal/withheld"
)

// OwnDirs returns the gateway's own directories: no tool reaches them, and no file is sent from
// them, whatever is granted.
func (c Config) OwnDirs() []string {
	return []string{c.StateDir(), c.RuntimeDir(), c.UserDir, c.ConfigDir}
}

// NeverSent returns the directories that no file is sent from: the gateway's own, and the one with
// the settings of all the user's programs, unless claude works there.
func (c Config) NeverSent() []string {
	dirs := c.OwnDirs()
	all := filepath.Dir(c.ConfigDir)
	if _, works := withheld.Below(all, string(c.Files.CWD)); c.ConfigDir != c.StateDir() && !works {
		dirs = append(dirs, all)
	}
	return dirs
}

// shortToken is the length below which a token guarding an open address deserves a warning.
const shortToken = 16

// Warnings returns a sentence for each setting that is accepted but probably unintended.
func (c Config) Warnings() []string {
	out := slices.Clone(c.Unknown)
	if token := c.HTTP.Token.Reveal(); token != "" && len(token) < shortToken && !IsLoopback(string(c.HTTP.Host)) {
		out = append(out, "BARECLAW_HTTP_TOKEN is short for an address that others can reach; try `openssl rand -hex 32`")
	}
	return out
}
