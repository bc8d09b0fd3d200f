package archtest

import (
	"slices"
	"strings"
)

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
	const adapter = "an adapter knows core and leaves; never another adapter, the sessions' processes or the ledger"
	rooms := []room{
		{
			path: "",
			uses: []string{
				"heartbeat/supervisor",
				"internal/daemon",
				"internal/cli",
				"sessionhost/host",
				"sessionhost/protocol",
				"heartbeat",
				"toolhost/api",
				"toolhost/runner",
			},
			rule: "main selects the role of the process; internal/daemon wires the rooms",
		},
		{
			path: "internal/daemon",
			uses: []string{
				"adapters",
				"adapters/httpapi",
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"adapters/httpapi/metrics",
				"adapters/kinds",
				"core",
				"core/commands",
				"core/config",
				"core/feed",
				"core/lanes",
				"core/ledger/sqlite",
				"core/schedule",
				"core/sessionfile",
				"core/sessionpool",
				"core/tools",
				"core/tools/gateway",
				"heartbeat",
				"heartbeat/program",
				"heartbeat/service",
				"heartbeat/supervisor",
				"mcp",
				"sessionhost",
				"sessionhost/claude",
				"sessionhost/protocol",
				"toolhost",
			},
			rule: "daemon wires the rooms; tools for tests are none of them",
		},
		{
			path: "internal/cli",
			uses: []string{
				"adapters",
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"adapters/kinds",
				"core",
				"core/config",
				"core/ledger/sqlite",
				"core/progress",
				"core/schedule",
				"heartbeat",
				"heartbeat/program",
				"heartbeat/service",
				"internal/cli/bridge",
				"internal/cli/chat",
				"internal/cli/command",
				"internal/cli/doctor",
				"internal/cli/lifecycle",
				"internal/cli/setup",
				"sessionhost/claude",
				"toolhost/api",
			},
			rule: "the command line knows the gateway as a client, and the files it looks after; of the adapters what they say of themselves; not the wiring",
		},
		{
			path: "internal/cli/backup",
			rule: "backup copies files, whatever they hold",
		},
		{
			path: "internal/cli/bridge",
			uses: []string{
				"adapters/httpapi/api",
				"adapters/httpapi/client",
			},
			rule: "the bridge knows the gateway as a client",
		},
		{
			path: "internal/cli/chat",
			uses: []string{
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"core",
				"core/progress",
				"internal/cli/command",
				"sessionhost/claude",
			},
			rule: "the chat in the terminal knows the gateway as a client",
		},
		{
			path: "internal/cli/command",
			uses: []string{
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"core/config",
				"sessionhost/protocol",
			},
			rule: "what all commands use knows the gateway as a client, and the configuration",
		},
		{
			path: "internal/cli/doctor",
			uses: []string{
				"adapters",
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"adapters/kinds",
				"core",
				"core/config",
				"core/ledger/sqlite",
				"heartbeat",
				"heartbeat/program",
				"heartbeat/service",
				"internal/cli/command",
				"sessionhost",
				"sessionhost/claude",
				"toolhost/api",
			},
			rule: "the doctor knows all that it looks at, and changes nothing but what --fix names",
		},
		{
			path: "internal/cli/lifecycle",
			uses: []string{
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"core/config",
				"core/ledger/sqlite",
				"heartbeat",
				"heartbeat/program",
				"heartbeat/service",
				"internal/cli/backup",
				"internal/cli/command",
				"internal/cli/doctor",
				"sessionhost",
				"toolhost/api",
			},
			rule: "what starts, ends and replaces the gateway knows files, services and the doctor",
		},
		{
			path: "internal/cli/setup",
			uses: []string{
				"adapters",
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"adapters/kinds",
				"core/config",
				"heartbeat",
				"heartbeat/service",
				"internal/cli/command",
				"internal/cli/doctor",
				"sessionhost/claude",
			},
			rule: "init knows the doctor, the services and what adapters say of themselves",
		},
		{
			path: "adapters",
			uses: []string{
				"adapters/httpapi/metrics",
				"core",
				"core/commands",
				"core/config",
				"core/feed",
			},
			rule: "what adapters say of themselves knows core, no adapter",
		},
		{
			path: "adapters/httpapi",
			uses: []string{
				"adapters/httpapi/metrics",
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"core",
				"core/commands",
				"core/feed",
				"core/lanes",
				"core/progress",
				"core/schedule",
				"core/settings",
				"docs",
			},
			rule: adapter,
		},
		{
			path: "adapters/httpapi/api",
			rule: "the API's shapes know neither the server nor its clients",
		},
		{
			path: "adapters/httpapi/client",
			uses: []string{
				"adapters/httpapi/api",
				"core",
				"core/config",
			},
			rule: "the client knows core's updates and the configuration, not the server",
		},
		{
			path: "adapters/httpapi/metrics",
			uses: []string{
				"core",
				"core/lanes",
				"core/schedule",
			},
			rule: "metrics know what they count, no adapter",
		},
		{
			path: "adapters/kinds",
			uses: []string{
				"adapters",
				"adapters/telegram",
				"core",
			},
			rule: "the list of adapters knows each of them, nothing else",
		},
		{
			path: "adapters/telegram",
			uses: []string{
				"adapters",
				"adapters/httpapi/metrics",
				"adapters/telegram/approvals",
				"adapters/telegram/base",
				"adapters/telegram/botapi",
				"adapters/telegram/chats",
				"adapters/telegram/commands",
				"adapters/telegram/inbound",
				"adapters/telegram/live",
				"adapters/telegram/markdown",
				"adapters/telegram/media",
				"adapters/telegram/media/sendfile",
				"adapters/telegram/outbox",
				"adapters/telegram/records",
				"adapters/telegram/setup",
				"adapters/telegram/throttle",
				"adapters/telegram/view",
				"core",
				"core/commands",
				"core/config",
				"core/progress",
			},
			rule: adapter,
		},
		{
			path: "adapters/telegram/approvals",
			uses: []string{
				"adapters/telegram/base",
				"adapters/telegram/chats",
				"adapters/telegram/markdown",
				"adapters/telegram/outbox",
				"adapters/telegram/records",
				"adapters/telegram/view",
				"core",
				"core/commands",
			},
			rule: "approvals show requests and take decisions, by what the outbox sends",
		},
		{
			path: "adapters/telegram/base",
			uses: []string{
				"adapters/telegram/chats",
				"adapters/telegram/records",
			},
			rule: "base is what components share: the bot, records, goroutines and chats",
		},
		{
			path: "adapters/telegram/botapi",
			rule: "the Bot API client knows Telegram alone",
		},
		{
			path: "adapters/telegram/chats",
			uses: []string{
				"core",
			},
			rule: "chats are addresses and keys, whatever is sent there",
		},
		{
			path: "adapters/telegram/commands",
			uses: []string{
				"adapters/telegram/approvals",
				"adapters/telegram/base",
				"adapters/telegram/botapi",
				"adapters/telegram/chats",
				"adapters/telegram/live",
				"adapters/telegram/outbox",
				"adapters/telegram/records",
				"adapters/telegram/throttle",
				"adapters/telegram/view",
				"core",
				"core/commands",
			},
			rule: "commands answer people, by the table of core and the components that show things",
		},
		{
			path: "adapters/telegram/inbound",
			uses: []string{
				"adapters/telegram/chats",
				"adapters/telegram/markdown",
				"adapters/telegram/media",
				"adapters/telegram/outbox",
				"core",
			},
			rule: "inbound makes of a message what claude reads, and sends nothing but what media loads",
		},
		{
			path: "adapters/telegram/live",
			uses: []string{
				"adapters/telegram/base",
				"adapters/telegram/botapi",
				"adapters/telegram/chats",
				"adapters/telegram/markdown",
				"adapters/telegram/outbox",
				"adapters/telegram/records",
				"adapters/telegram/throttle",
				"adapters/telegram/view",
				"core",
				"core/feed",
				"core/progress",
			},
			rule: "live shows a turn while it runs, by what the outbox sends",
		},
		{
			path: "adapters/telegram/markdown",
			rule: "markdown renders texts, and knows nothing of chats",
		},
		{
			path: "adapters/telegram/media",
			uses: []string{
				"adapters/telegram/botapi",
				"adapters/telegram/chats",
				"adapters/telegram/markdown",
				"adapters/telegram/media/sendfile",
				"adapters/telegram/outbox",
				"adapters/telegram/throttle",
				"core",
			},
			rule: "media loads and sends files, in the order of the outbox",
		},
		{
			path: "adapters/telegram/media/sendfile",
			rule: "sendfile judges paths, and knows nothing of Telegram",
		},
		{
			path: "adapters/telegram/outbox",
			uses: []string{
				"adapters/telegram/base",
				"adapters/telegram/botapi",
				"adapters/telegram/chats",
				"adapters/telegram/markdown",
				"adapters/telegram/records",
				"adapters/telegram/throttle",
				"adapters/telegram/view",
				"core",
			},
			rule: "the outbox sends what is on record, whoever has put it there",
		},
		{
			path: "adapters/telegram/records",
			uses: []string{
				"adapters/telegram/chats",
				"core",
			},
			rule: "records are what the adapter keeps, by chat",
		},
		{
			path: "adapters/telegram/setup",
			uses: []string{
				"adapters",
				"adapters/telegram/botapi",
				"adapters/telegram/chats",
				"core/config",
			},
			rule: "the steps of init know the bot, its settings and what a step may ask, not the running adapter",
		},
		{
			path: "adapters/telegram/throttle",
			rule: "throttle counts calls, whatever they are",
		},
		{
			path: "adapters/telegram/view",
			uses: []string{
				"adapters/telegram/markdown",
				"core",
				"core/commands",
				"core/progress",
			},
			rule: "view makes texts and buttons of what core says, and sends nothing",
		},
		{
			path: "heartbeat",
			uses: []string{
				"heartbeat/service",
				"adapters/httpapi/api",
				"adapters/httpapi/client",
				"core",
				"core/config",
				"core/schedule",
			},
			rule: "heartbeat knows the gateway by its configuration, as a client, and as a service, and defines one schedule",
		},
		{
			path: "heartbeat/program",
			rule: "program replaces files, whatever they are",
		},
		{
			path: "heartbeat/service",
			uses: []string{
				"contrib",
			},
			rule: "service renders the unit files of contrib from what it is given",
		},
		{
			path: "heartbeat/supervisor",
			uses: []string{
				"heartbeat/program",
			},
			rule: "the supervisor knows processes, files and programs, nothing of the gateway",
		},
		{
			path: "sessionhost",
			uses: []string{
				"sessionhost/pipe",
				"sessionhost/protocol",
				"sessionhost/claude",
				"core",
			},
			rule: "the daemon's end knows core, the protocol and the CLI; neither the host's end nor adapters, ledger or configuration",
		},
		{
			path: "sessionhost/claude",
			uses: []string{
				"core",
			},
			rule: "claude knows the CLI and core's words for it",
		},
		{
			path: "sessionhost/host",
			uses: []string{
				"sessionhost/pipe",
				"sessionhost/protocol",
				"sessionhost/claude",
				"core",
			},
			rule: "the host's end knows the protocol, the CLI and core's words, nothing of the daemon",
		},
		{
			path: "sessionhost/pipe",
			rule: "pipe moves bytes, whatever they mean",
		},
		{
			path: "sessionhost/protocol",
			uses: []string{
				"sessionhost/claude",
			},
			rule: "the protocol knows neither of its ends",
		},
		{
			path: "core",
			rule: "core declares the interfaces it needs and imports nothing of ours",
		},
		{
			path: "core/adapterstore",
			uses: []string{
				"core",
			},
			rule: "the adapters' store knows core; the ledger comes as an interface",
		},
		{
			path: "core/commands",
			uses: []string{
				"core",
				"core/settings",
			},
			rule: "commands know core and settings; what they use comes as interfaces",
		},
		{
			path: "core/config",
			rule: "the configuration knows nothing of what it configures",
		},
		{
			path: "core/feed",
			uses: []string{
				"core",
			},
			rule: "feeds know core's updates, neither lanes nor adapters",
		},
		{
			path: "core/lanes",
			uses: []string{
				"core",
				"core/adapterstore",
				"core/feed",
				"core/sessionpool",
				"core/settings",
				"core/spending",
			},
			rule: "lanes know core, the adapters' store, feeds, settings, the pool of sessions and spending; ledger, agent and adapters come as interfaces",
		},
		{
			path: "core/ledger/sqlite",
			uses: []string{
				"core",
				"core/schedule",
			},
			rule: "the ledger knows core, nothing that uses it",
		},
		{
			path: "core/progress",
			uses: []string{
				"core",
			},
			rule: "progress folds core's updates, whoever shows them",
		},
		{
			path: "core/schedule",
			uses: []string{
				"core",
			},
			rule: "schedules know core, nothing that uses them",
		},
		{
			path: "core/sessionfile",
			uses: []string{
				"core",
			},
			rule: "the session file knows core, nothing that uses it",
		},
		{
			path: "core/sessionpool",
			rule: "the pool of sessions counts slots, whatever has them",
		},
		{
			path: "core/settings",
			uses: []string{
				"core",
			},
			rule: "settings of channels know core; the ledger comes as an interface",
		},
		{
			path: "core/spending",
			uses: []string{
				"core",
			},
			rule: "spending knows core; the ledger comes as an interface",
		},
		{
			path: "core/tools",
			uses: []string{
				"core",
			},
			rule: "tools know core; what they do comes as interfaces",
		},
		{
			path: "core/tools/gateway",
			uses: []string{
				"core",
				"core/schedule",
				"core/tools",
			},
			rule: "the gateway's tools know core and schedules; what they use comes as interfaces",
		},
		{
			path: "contrib",
			rule: "contrib imports nothing of ours",
		},
		{
			path: "docs",
			rule: "docs imports nothing of ours",
		},
		{
			path: "mcp",
			uses: []string{
				"core",
				"core/tools",
			},
			rule: "mcp knows the registry of tools, not what they do",
		},
		{
			path: "toolhost",
			uses: []string{
				"toolhost/api",
				"core",
				"core/tools",
			},
			rule: "the daemon's end knows the registry and what the two ends say, not how tools run",
		},
		{
			path: "toolhost/api",
			uses: []string{
				"core/tools",
			},
			rule: "the shapes know neither end",
		},
		{
			path: "toolhost/builtin",
			uses: []string{
				"core",
				"core/tools",
			},
			rule: "built-in tools compute, and know nothing of their host",
		},
		{
			path: "toolhost/runner",
			uses: []string{
				"toolhost/api",
				"toolhost/builtin",
				"toolhost/script",
				"core/tools",
			},
			rule: "the tool host knows tools, nothing of the gateway",
		},
		{
			path: "toolhost/script",
			uses: []string{
				"core",
				"core/tools",
				"toolhost/api",
			},
			rule: "script knows tools, not who calls them; functions with authority come as an interface",
		},
	}
	for _, name := range leaves() {
		rooms = append(rooms, room{path: "internal/" + name, rule: "a leaf imports only other leaves"})
	}
	return rooms
}

// leaves are the small packages below internal that every room but core may import.
func leaves() []string {
	return []string{
		"atomicfile",
		"buildinfo",
		"detached",
		"dialect",
		"echoagent",
		"exitcode",
		"getclaude",
		"guard",
		"humanize",
		"lockfile",
		"logfile",
		"mdtext",
		"memory",
		"peercred",
		"plainjson",
		"precheck",
		"privatedir",
		"proc",
		"samefile",
		"schema",
		"shellquote",
		"shortid",
		"socketpair",
		"statemark",
		"steps",
		"term",
		"toolinput",
		"toolset",
		"typo",
		"visible",
		"wait",
		"withheld",
		"zone",
	}
}

// isLeaf reports whether the room is a small package that every room but core may import.
func (r room) isLeaf() bool {
	return slices.Contains(leaves(), strings.TrimPrefix(r.path, "internal/"))
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
