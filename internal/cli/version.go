package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"bareclaw/core/ledger"
	"bareclaw/heartbeat/program"
	"bareclaw/internal/buildinfo"
)

// Version prints the version of this program.
type Version struct {
	JSON bool `name:"json" help:"Tell more, as a JSON document: commit, system, and which ledgers this program reads."`
}

// Run prints the version.
func (v *Version) Run(stdout io.Writer) error {
	if !v.JSON {
		_, err := fmt.Fprintln(stdout, "bareclaw", buildinfo.Version())
		return err
	}
	reads := ledger.Program()
	return json.NewEncoder(stdout).Encode(program.Info{
		Version: buildinfo.Version(), Commit: buildinfo.Commit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Schema: reads.Schema, MinReader: reads.MinReader,
	})
}
