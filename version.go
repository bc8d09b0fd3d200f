package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"bareclaw/core/ledger"
	"bareclaw/upgrade"
)

// release is set by release builds: -ldflags "-X main.release=v1.2.3".
var release string

// version names this build: the release, or the commit it was built from.
func version() string {
	if release != "" {
		return release
	}
	if _, ok := debug.ReadBuildInfo(); !ok {
		return "unknown"
	}
	if c := commit(); c != "" {
		return "dev-" + c[:min(len(c), 12)]
	}
	return "dev"
}

// commit is that of the source, empty where it is not known.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

type versionCmd struct {
	JSON bool `name:"json" help:"Tell more, as a JSON document: commit, system, and which ledgers this program reads."`
}

// Run prints the version.
func (v *versionCmd) Run(stdout io.Writer) error {
	if !v.JSON {
		_, err := fmt.Fprintln(stdout, "bareclaw", version())
		return err
	}
	reads := ledger.Program()
	return json.NewEncoder(stdout).Encode(upgrade.Info{
		Version: version(), Commit: commit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Schema: reads.Schema, MinReader: reads.MinReader,
	})
}
