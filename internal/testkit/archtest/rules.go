package archtest

import "slices"

// A room is one part of the project: a package and the packages below it, as far as no
// other room begins there. Packages of one room may import each other, and all rooms may
// import the leaves.
type room struct {
	path string   // below the module; "" is the root package
	uses []string // other rooms whose packages it may import
	rule string   // the same in words
}

// rooms are the arrows of the project: main, then internal/daemon and internal/cli, then
// adapters, heartbeat and sessionhost, then the packages of core.
func rooms() []room {
	const (
		adapter = "an adapter knows core and leaves; never another adapter, the sessions' processes or the ledger"
		leaf    = "a leaf imports only other leaves"
	)
	return []room{
		{"", []string{"heartbeat/supervisor", "internal/daemon", "internal/cli", "sessionhost/host", "sessionhost/protocol", "heartbeat", "toolhost/api", "toolhost/runner"}, "main selects the role of the process; internal/daemon wires the rooms"},
		{"internal/daemon", []string{"mcp", "core/tools", "core/tools/gateway", "toolhost", "adapters/httpapi", "adapters/httpapi/api", "adapters/httpapi/client", "adapters/httpapi/metrics", "adapters", "adapters/kinds", "heartbeat", "heartbeat/program", "heartbeat/service", "heartbeat/supervisor", "sessionhost", "sessionhost/claude", "sessionhost/protocol", "core", "core/adapterstore", "core/commands", "core/config", "core/feed", "core/lanes", "core/ledger/sqlite", "core/schedule", "core/sessionfile"}, "daemon wires the rooms; tools for tests are none of them"},
		{"internal/cli", []string{"adapters", "adapters/kinds", "adapters/httpapi/api", "adapters/httpapi/client", "heartbeat", "heartbeat/program", "heartbeat/service", "sessionhost", "sessionhost/claude", "sessionhost/protocol", "core", "core/config", "core/ledger/sqlite", "core/progress", "core/schedule", "toolhost/api"}, "the command line knows the gateway as a client, and the files it looks after; of the adapters what they say of themselves; not the wiring"},
		{"adapters", []string{"adapters/httpapi/metrics", "core", "core/commands", "core/config", "core/lanes"}, "what adapters say of themselves knows core, no adapter"},
		{"adapters/kinds", []string{"adapters", "adapters/telegram", "core"}, "the list of adapters knows each of them, nothing else"},
		{"adapters/httpapi/metrics", []string{"core", "core/lanes", "core/schedule"}, "metrics know what they count, no adapter"},
		{"adapters/httpapi", []string{"adapters/httpapi/metrics", "adapters/httpapi/api", "adapters/httpapi/client", "core", "core/commands", "core/feed", "core/lanes", "core/progress", "core/schedule", "core/settings", "docs"}, adapter},
		{"adapters/httpapi/api", nil, "the API's shapes know neither the server nor its clients"},
		{"adapters/httpapi/client", []string{"adapters/httpapi/api", "core", "core/config"}, "the client knows core's updates and the configuration, not the server"},
		{"adapters/telegram", []string{"adapters", "adapters/httpapi/metrics", "adapters/telegram/botapi", "core", "core/commands", "core/config", "core/feed", "core/lanes", "core/progress"}, adapter},
		{"adapters/telegram/botapi", nil, "the Bot API client knows Telegram alone"},
		{"heartbeat", []string{"heartbeat/service", "adapters/httpapi/api", "adapters/httpapi/client", "core", "core/config", "core/schedule"}, "heartbeat knows the gateway by its configuration, as a client, and as a service, and defines one schedule"},
		{"heartbeat/service", []string{"contrib"}, "service renders the unit files of contrib from what it is given"},
		{"heartbeat/program", nil, "program replaces files, whatever they are"},
		{"heartbeat/supervisor", []string{"heartbeat/program"}, "the supervisor knows processes, files and programs, nothing of the gateway"},
		{"sessionhost", []string{"sessionhost/pipe", "sessionhost/protocol", "sessionhost/claude", "core"}, "the daemon's end knows core, the protocol and the CLI; neither the host's end nor adapters, ledger or configuration"},
		{"sessionhost/host", []string{"sessionhost/pipe", "sessionhost/protocol", "sessionhost/claude", "core"}, "the host's end knows the protocol, the CLI and core's words, nothing of the daemon"},
		{"sessionhost/protocol", []string{"sessionhost/claude"}, "the protocol knows neither of its ends"},
		{"sessionhost/pipe", nil, "pipe moves bytes, whatever they mean"},
		{"sessionhost/claude", []string{"core"}, "claude knows the CLI and core's words for it"},
		{"core", nil, "core declares the interfaces it needs and imports nothing of ours"},
		{"core/adapterstore", []string{"core"}, "the adapters' store knows core; the ledger comes as an interface"},
		{"core/commands", []string{"core", "core/settings"}, "commands know core and settings; what they use comes as interfaces"},
		{"core/config", nil, "the configuration knows nothing of what it configures"},
		{"core/feed", []string{"core"}, "feeds know core's updates, neither lanes nor adapters"},
		{"core/lanes", []string{"core", "core/adapterstore", "core/feed", "core/settings"}, "lanes know core, the adapters' store, feeds and settings; ledger, agent and adapters come as interfaces"},
		{"core/ledger/sqlite", []string{"core", "core/schedule"}, "the ledger knows core, nothing that uses it"},
		{"core/progress", []string{"core"}, "progress folds core's updates, whoever shows them"},
		{"core/schedule", []string{"core"}, "schedules know core, nothing that uses them"},
		{"core/sessionfile", []string{"core"}, "the session file knows core, nothing that uses it"},
		{"core/tools", []string{"core"}, "tools know core; what they do comes as interfaces"},
		{"core/tools/gateway", []string{"core", "core/schedule", "core/tools"}, "the gateway's tools know core and schedules; what they use comes as interfaces"},
		{"mcp", []string{"core", "core/tools"}, "mcp knows the registry of tools, not what they do"},
		{"toolhost/builtin", []string{"core", "core/tools"}, "built-in tools compute, and know nothing of their host"},
		{"toolhost/script", []string{"core", "core/tools", "toolhost/api"}, "script knows tools, not who calls them; functions with authority come as an interface"},
		{"toolhost", []string{"toolhost/api", "core", "core/tools"}, "the daemon's end knows the registry and what the two ends say, not how tools run"},
		{"toolhost/api", []string{"core/tools"}, "the shapes know neither end"},
		{"toolhost/runner", []string{"toolhost/api", "toolhost/builtin", "toolhost/script", "core/tools"}, "the tool host knows tools, nothing of the gateway"},
		{"core/settings", []string{"core"}, "settings of channels know core; the ledger comes as an interface"},
		{"contrib", nil, "contrib imports nothing of ours"},
		{"docs", nil, "docs imports nothing of ours"},
		{"internal/atomicfile", nil, leaf},
		{"internal/buildinfo", nil, leaf},
		{"internal/detached", nil, leaf},
		{"internal/dialect", nil, leaf},
		{"internal/echoagent", nil, leaf},
		{"internal/exitcode", nil, leaf},
		{"internal/getclaude", nil, leaf},
		{"internal/guard", nil, leaf},
		{"internal/humanize", nil, leaf},
		{"internal/lockfile", nil, leaf},
		{"internal/logfile", nil, leaf},
		{"internal/mdtext", nil, leaf},
		{"internal/memory", nil, leaf},
		{"internal/peercred", nil, leaf},
		{"internal/plainjson", nil, leaf},
		{"internal/precheck", nil, leaf},
		{"internal/privatedir", nil, leaf},
		{"internal/proc", nil, leaf},
		{"internal/samefile", nil, leaf},
		{"internal/schema", nil, leaf},
		{"internal/shellquote", nil, leaf},
		{"internal/shortid", nil, leaf},
		{"internal/socketpair", nil, leaf},
		{"internal/statemark", nil, leaf},
		{"internal/term", nil, leaf},
		{"internal/steps", nil, leaf},
		{"internal/toolinput", nil, leaf},
		{"internal/toolset", nil, leaf},
		{"internal/typo", nil, leaf},
		{"internal/visible", nil, leaf},
		{"internal/wait", nil, leaf},
		{"internal/withheld", nil, leaf},
		{"internal/zone", nil, leaf},
	}
}

// isLeaf reports whether the room is a small package that every room but core may import.
func (r room) isLeaf() bool {
	return within(r.path, "internal") && !slices.Contains([]string{"internal/daemon", "internal/cli"}, r.path)
}

// testTools are the rooms that only test or measure. They may import any room, and the
// program never contains them.
func testTools() []string {
	return []string{"internal/testkit", "internal/bench", "internal/e2e", "core/ledger/ledgertest"}
}

// testOnly lists packages from outside, and the packages below them, that only tests
// import.
func testOnly() []string {
	return []string{
		"testing",
		"net/http/httptest",
		"github.com/chromedp",
		"github.com/creack/pty",
		"github.com/getkin/kin-openapi",
		"github.com/rogpeppe/go-internal",
		"github.com/hinshun/vt10x",
		"go.uber.org/goleak",
		// Each makes tables of a megabyte when a program starts, which each session host would
		// pay for.
		"github.com/brianvoe/gofakeit",
		"github.com/santhosh-tekuri/jsonschema",
	}
}

// A ban names imports from outside that some rooms must not have.
type ban struct {
	rooms, imports []string
	rule           string
}

func bans() []ban {
	return []ban{
		{
			rooms:   []string{"core", "core/adapterstore", "core/feed", "core/lanes", "core/settings"},
			imports: []string{"net", "net/http", "os/exec", "database/sql", "modernc.org/sqlite"},
			rule:    "core knows no socket, no HTTP, no process and no SQL",
		},
		{
			rooms:   []string{"sessionhost", "sessionhost/host", "sessionhost/pipe", "sessionhost/protocol", "sessionhost/claude"},
			imports: []string{"net/http", "database/sql", "modernc.org/sqlite"},
			rule:    "sessionhost knows no HTTP and no SQL",
		},
		{
			rooms:   []string{"core", "core/adapterstore", "core/feed", "core/lanes", "core/settings", "core/ledger/sqlite", "core/schedule", "sessionhost", "sessionhost/host", "sessionhost/pipe", "sessionhost/protocol", "sessionhost/claude"},
			imports: []string{"github.com/joho/godotenv"},
			rule:    "only core/config reads settings from the environment",
		},
	}
}
