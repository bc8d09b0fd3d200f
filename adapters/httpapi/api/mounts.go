package api

import (
	"fmt"
	"net/url"
	"time"

	"bareclaw/internal/mdtext"
)

// MountTestPath returns the path at which a mounted server is tested.
func MountTestPath(name string) string { return PathMounts + "/" + url.PathEscape(name) + "/test" }

// Mounts is the reply to GET /mounts.
type Mounts struct {
	Mounts  []Mount `json:"mounts"`  // by name
	Problem string  `json:"problem"` // of the file, in a sentence; empty: it could be read
	// FileTime is when the file was last changed that was read; zero: there was none.
	FileTime time.Time `json:"file_time,omitzero"`
	LeftOut  []string  `json:"left_out,omitzero"` // what else of the file is not used, and why
}

// Problems returns what is wrong with the servers and their file, in sentences, as GET /health tells it.
func (m *Mounts) Problems() (problems []string) {
	if m.Problem != "" {
		problems = append(problems, m.Problem)
	}
	for i := range m.Mounts {
		problems = append(problems, m.Mounts[i].problems()...)
	}
	return problems
}

func (m *Mount) problems() (problems []string) {
	switch m.State {
	case MountUnusable:
		problems = append(problems, mdtext.Ended("A server in the file of mounted servers cannot be used: "+m.Problem))
	case MountFailing:
		problems = append(problems, mdtext.Ended("The mounted server "+m.Name+" does not start, and is tried again: "+m.Problem))
	}
	if n := len(m.LeftOut); n > 0 {
		problems = append(problems, mdtext.Ended(fmt.Sprintf("The mounted server %s has %d tools that are left out; the first one: %s", m.Name, n, m.LeftOut[0])))
	}
	return problems
}

// Values of Mount.State.
const (
	MountUnusable = "unusable" // its description is wrong
	MountDisabled = "disabled"
	MountStarting = "starting" // its tools are not known yet: it is being started, or about to be
	MountFailing  = "failing"  // its last start has failed
	MountIdle     = "idle"     // its next call starts it
	MountRunning  = "running"
)

// A Mount is a mounted server. The numbers count since the gateway has started.
type Mount struct {
	Name        string          `json:"name"`
	State       string          `json:"state"`
	Problem     string          `json:"problem,omitzero"`  // why it is unusable or failing
	Target      string          `json:"target,omitzero"`   // the program and what tells it apart, or the scheme and host of the address
	Scope       string          `json:"scope,omitzero"`    // shared or caller
	Category    string          `json:"category,omitzero"` // of its tools
	Since       time.Time       `json:"since,omitzero"`    // of its first list of tools
	Tools       int             `json:"tools"`             // that are offered
	Asks        int             `json:"asks"`              // how many of them ask a person
	Changed     []string        `json:"changed,omitzero"`  // which have changed since people know them
	LeftOut     []string        `json:"left_out,omitzero"` // why others are not offered
	Calls       int             `json:"calls"`
	Failures    int             `json:"failures"` // of calls and starts
	Starts      int             `json:"starts"`
	MemoryBytes uint64          `json:"memory_bytes,omitzero"` // of all instances
	Instances   []MountInstance `json:"instances"`
	// ToolList is only part of the reply to POST /mounts/{name}/test.
	ToolList []MountTool `json:"tool_list,omitzero"`
}

// A MountInstance is a mounted server that runs.
type MountInstance struct {
	Channel     string    `json:"channel,omitzero"` // whose it is; empty: everybody's
	PID         int       `json:"pid,omitzero"`     // 0: others run the server
	Since       time.Time `json:"since"`
	Calls       int       `json:"calls"`                 // under way
	MemoryBytes uint64    `json:"memory_bytes,omitzero"` // of all its processes; 0: unknown
}

// A MountTool is a tool of a mounted server.
type MountTool struct {
	Name        string `json:"name"`        // the gateway's
	Description string `json:"description"` // the server's words
	Asks        bool   `json:"asks"`        // a person must allow its calls
	Changed     bool   `json:"changed"`     // since people know it
}
