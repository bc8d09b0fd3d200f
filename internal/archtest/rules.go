package archtest

import (
	"slices"
	"strings"
)

// A room is a part of the house. Packages of one room are one import path and
// what is below it, except that each adapter is a room of its own, and that
// core is three: the heart, its ledger and the configuration.
type room string

const (
	roomMain        room = "main"
	roomAdapter     room = "adapters"
	roomHeartbeat   room = "heartbeat"
	roomService     room = "service"
	roomClient      room = "client"
	roomCommands    room = "commands"
	roomUpgrade     room = "upgrade"
	roomMCP         room = "mcp"
	roomToolhost    room = "toolhost"
	roomSessionhost room = "sessionhost"
	roomLedger      room = "core/ledger"
	roomConfig      room = "core/config"
	roomCore        room = "core"
	roomClaude      room = "claude"
	roomInternal    room = "internal"
	roomContrib     room = "contrib"
	roomDocs        room = "docs"
)

// roomOf returns the room of one of our packages.
func roomOf(path string) room {
	if path == module {
		return roomMain
	}
	rel := strings.TrimPrefix(path, module+"/")
	for _, r := range []room{roomLedger, roomConfig} {
		if within(rel, string(r)) {
			return r
		}
	}
	first, _, _ := strings.Cut(rel, "/")
	return room(first)
}

// known reports whether r is one of the rooms above.
func (r room) known() bool { return r.rule() != "" }

// siblings reports whether two packages of the room r may import each other:
// always, but for those of two adapters.
func (r room) siblings(a, b string) bool { return r != roomAdapter || adapterOf(a) == adapterOf(b) }

// adapterOf returns the adapter that a package below adapters/ belongs to.
func adapterOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, module+"/adapters/"), "/")
	return name
}

// mayImport lists the other rooms that r may import.
func (r room) mayImport() []room {
	core := []room{roomCore, roomConfig, roomInternal}
	switch r {
	case roomMain:
		return []room{roomCommands, roomClient, roomService, roomUpgrade, roomAdapter, roomHeartbeat, roomMCP, roomToolhost, roomSessionhost, roomLedger, roomConfig, roomCore, roomClaude, roomInternal, roomDocs}
	case roomAdapter:
		return append(core, roomDocs)
	case roomCommands:
		return []room{roomClient, roomService, roomHeartbeat, roomUpgrade, roomLedger, roomCore, roomConfig, roomClaude, roomSessionhost, roomInternal, roomDocs}
	case roomHeartbeat:
		return []room{roomClient, roomService, roomConfig, roomInternal}
	case roomClient, roomUpgrade:
		return []room{roomConfig, roomInternal}
	case roomService:
		return []room{roomInternal}
	case roomMCP, roomToolhost:
		return append(core, roomClaude)
	case roomSessionhost:
		return []room{roomCore, roomClaude, roomInternal}
	case roomLedger:
		return []room{roomCore, roomInternal}
	case roomCore, roomConfig, roomClaude:
		return []room{roomInternal}
	}
	return nil
}

// rule says in words what mayImport says.
func (r room) rule() string {
	switch r {
	case roomMain:
		return "main wires the rooms together; nothing else of ours is for it"
	case roomAdapter:
		return "an adapter knows core and internal leaves, never another adapter or another room"
	case roomHeartbeat:
		return "heartbeat knows the gateway by its configuration, as a client, and as a service"
	case roomCommands:
		return "commands knows the gateway as a client does, and what they look after; neither adapters nor how it is wired"
	case roomClient, roomUpgrade:
		return "client and upgrade know the configuration and internal leaves, no other room"
	case roomService:
		return "service makes texts of what it is given, and knows only internal leaves"
	case roomMCP, roomToolhost:
		return "mcp and toolhost know core, claude and internal leaves, no other room"
	case roomSessionhost:
		return "sessionhost knows core's types, claude and internal leaves; neither adapters nor ledger nor configuration"
	case roomLedger:
		return "the ledger knows core and internal leaves, nothing that uses it"
	case roomCore:
		return "core declares the interfaces it needs and imports nothing of ours but internal leaves"
	case roomConfig:
		return "the configuration knows nothing of what it configures"
	case roomClaude:
		return "claude knows the CLI, neither core nor sessionhost nor anything above"
	case roomInternal:
		return "an internal package is a leaf: it imports only other internal leaves"
	case roomContrib, roomDocs:
		return "contrib and docs import nothing of ours"
	}
	return ""
}

// testTool reports whether a package only helps to test or to measure: it may
// import any room, and the program never contains it.
func testTool(path string) bool {
	tools := []string{
		"apistandin",    // a stand-in for the model's API
		"archtest",      // this package
		"bench",         // make bench
		"claudecli",     // fetches the pinned CLI
		"fakeclaude",    // a scripted CLI
		"fakelaunchctl", // launchctl without launchd
	}
	return within(path, module+"/adapters/telegram/telegramtest") || slices.ContainsFunc(tools, func(name string) bool {
		return within(path, module+"/internal/"+name)
	})
}

// testOnly lists packages from outside, and what is below them, that only
// tests import.
func testOnly() []string {
	return []string{
		"testing",
		"net/http/httptest",
		"github.com/creack/pty",
		"github.com/getkin/kin-openapi",
		"github.com/rogpeppe/go-internal",
		"github.com/creack/pty",
		"github.com/hinshun/vt10x",
		"go.uber.org/goleak",
	}
}

// forbidden lists what some packages must not import from outside.
func forbidden() []struct {
	packages, imports []string
	rule              string
} {
	type entry = struct {
		packages, imports []string
		rule              string
	}
	return []entry{
		{
			packages: []string{module + "/core"},
			imports:  []string{"net", "net/http", "os/exec", "database/sql", "modernc.org/sqlite"},
			rule:     "core knows no socket, no HTTP, no process and no SQL",
		},
		{
			packages: []string{module + "/sessionhost", module + "/claude"},
			imports:  []string{"net/http", "database/sql", "modernc.org/sqlite"},
			rule:     "sessionhost and claude know no HTTP and no SQL",
		},
		{
			packages: []string{module + "/core", module + "/core/ledger", module + "/sessionhost", module + "/claude"},
			imports:  []string{"github.com/kelseyhightower/envconfig", "github.com/joho/godotenv"},
			rule:     "only core/config reads settings from the environment",
		},
	}
}
