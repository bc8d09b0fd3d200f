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
		{"", strings.Fields(`heartbeat/supervisor internal/daemon internal/cli sessionhost/host sessionhost/protocol heartbeat toolhost/api
				toolhost/runner`),
			"main selects the role of the process; internal/daemon wires the rooms"},
		{"internal/daemon", strings.Fields(`adapters adapters/httpapi adapters/httpapi/api adapters/httpapi/client adapters/httpapi/metrics adapters/kinds
				core core/commands core/config core/feed core/lanes core/ledger/sqlite core/schedule core/sessionfile
				core/sessionpool core/settings core/tools core/tools/gateway core/tools/intent heartbeat heartbeat/program heartbeat/service
				heartbeat/supervisor mcp mcp/mounts observe observe/api observe/app observe/discovery observe/findings observe/rules observe/tools
				sessionhost sessionhost/claude sessionhost/protocol toolhost`),
			"daemon wires the rooms; tools for tests are none of them"},
		{"internal/cli", strings.Fields(`adapters adapters/httpapi/api adapters/httpapi/client adapters/kinds core core/config core/ledger/sqlite
				core/progress core/schedule core/tools heartbeat heartbeat/program heartbeat/service internal/cli/bridge
				internal/cli/chat internal/cli/command internal/cli/doctor internal/cli/lifecycle internal/cli/mount internal/cli/observe internal/cli/setup
				sessionhost/claude toolhost/api`),
			"the command line knows the gateway as a client, and the files it looks after; of the adapters what they say of themselves; not the wiring"},
		{"internal/cli/backup", nil,
			"backup copies files, whatever they hold"},
		{"internal/cli/bridge", strings.Fields(`adapters/httpapi/api adapters/httpapi/client`),
			"the bridge knows the gateway as a client"},
		{"internal/cli/chat", strings.Fields(`adapters/httpapi/api adapters/httpapi/client core core/progress internal/cli/command sessionhost/claude`),
			"the chat in the terminal knows the gateway as a client"},
		{"internal/cli/command", strings.Fields(`adapters/httpapi/api adapters/httpapi/client core/config sessionhost/protocol`),
			"what all commands use knows the gateway as a client, and the configuration"},
		{"internal/cli/doctor", strings.Fields(`adapters adapters/httpapi/api adapters/httpapi/client adapters/kinds core core/config core/ledger/sqlite
				heartbeat heartbeat/program heartbeat/service internal/cli/command mcp/mounts observe/discovery sessionhost sessionhost/claude toolhost/api`),
			"the doctor knows all that it looks at, and changes nothing but what --fix names"},
		{"internal/cli/lifecycle", strings.Fields(`adapters/httpapi/api adapters/httpapi/client core/config core/ledger/sqlite heartbeat heartbeat/program
				heartbeat/service internal/cli/backup internal/cli/command internal/cli/doctor mcp/mounts sessionhost toolhost/api`),
			"what starts, ends and replaces the gateway knows files, services and the doctor"},
		{"internal/cli/mount", strings.Fields(`adapters/httpapi/api adapters/httpapi/client core/config core/tools internal/cli/command mcp/mounts sessionhost/claude`),
			"the commands about mounted servers know their file, the gateway as a client, and what claude starts itself"},
		{"internal/cli/observe", strings.Fields(`adapters/httpapi/api adapters/httpapi/client internal/cli/command observe observe/discovery sessionhost/protocol`),
			"the commands about observers run one, and find the others by their records"},
		{"internal/cli/setup", strings.Fields(`adapters adapters/httpapi/api adapters/httpapi/client adapters/kinds core/config heartbeat heartbeat/service
				internal/cli/command internal/cli/doctor sessionhost/claude`),
			"init knows the doctor, the services and what adapters say of themselves"},
		{"adapters", strings.Fields(`adapters/httpapi/metrics core core/commands core/config core/feed`),
			"what adapters say of themselves knows core, no adapter"},
		{"adapters/httpapi", strings.Fields(`adapters/httpapi/metrics adapters/httpapi/api adapters/httpapi/client core core/commands core/feed core/lanes
				core/progress core/schedule core/settings docs`),
			adapter},
		{"adapters/httpapi/api", nil,
			"the API's shapes know neither the server nor its clients"},
		{"adapters/httpapi/client", strings.Fields(`adapters/httpapi/api core core/config`),
			"the client knows core's updates and the configuration, not the server"},
		{"adapters/httpapi/metrics", strings.Fields(`core core/lanes core/schedule`),
			"metrics know what they count, no adapter"},
		{"adapters/kinds", strings.Fields(`adapters adapters/telegram core core/config`),
			"the list of adapters knows each of them, and finds those that are configured"},
		{"adapters/telegram", strings.Fields(`adapters adapters/httpapi/metrics adapters/telegram/approvals adapters/telegram/base adapters/telegram/botapi
				adapters/telegram/chats adapters/telegram/commands adapters/telegram/inbound adapters/telegram/live
				adapters/telegram/markdown adapters/telegram/media adapters/telegram/media/sendfile adapters/telegram/outbox
				adapters/telegram/records adapters/telegram/setup adapters/telegram/throttle adapters/telegram/view core
				core/commands core/config core/progress`),
			adapter},
		{"adapters/telegram/approvals", strings.Fields(`adapters/telegram/base adapters/telegram/chats adapters/telegram/markdown adapters/telegram/outbox
				adapters/telegram/records adapters/telegram/view core core/commands`),
			"approvals show requests and take decisions, by what the outbox sends"},
		{"adapters/telegram/base", strings.Fields(`adapters/telegram/chats adapters/telegram/records`),
			"base is what components share: the bot, records, goroutines and chats"},
		{"adapters/telegram/botapi", nil,
			"the Bot API client knows Telegram alone"},
		{"adapters/telegram/chats", strings.Fields(`core`),
			"chats are addresses and keys, whatever is sent there"},
		{"adapters/telegram/commands", strings.Fields(`adapters/telegram/approvals adapters/telegram/base adapters/telegram/botapi adapters/telegram/chats
				adapters/telegram/live adapters/telegram/outbox adapters/telegram/records adapters/telegram/throttle
				adapters/telegram/view core core/commands`),
			"commands answer people, by the table of core and the components that show things"},
		{"adapters/telegram/inbound", strings.Fields(`adapters/telegram/chats adapters/telegram/markdown adapters/telegram/media adapters/telegram/outbox core`),
			"inbound makes of a message what claude reads, and sends nothing but what media loads"},
		{"adapters/telegram/live", strings.Fields(`adapters/telegram/base adapters/telegram/botapi adapters/telegram/chats adapters/telegram/markdown
				adapters/telegram/outbox adapters/telegram/records adapters/telegram/throttle adapters/telegram/view core
				core/feed core/progress`),
			"live shows a turn while it runs, by what the outbox sends"},
		{"adapters/telegram/markdown", nil,
			"markdown renders texts, and knows nothing of chats"},
		{"adapters/telegram/media", strings.Fields(`adapters/telegram/botapi adapters/telegram/chats adapters/telegram/markdown adapters/telegram/media/sendfile
				adapters/telegram/outbox adapters/telegram/throttle core`),
			"media loads and sends files, in the order of the outbox"},
		{"adapters/telegram/media/sendfile", nil,
			"sendfile judges paths, and knows nothing of Telegram"},
		{"adapters/telegram/outbox", strings.Fields(`adapters/telegram/base adapters/telegram/botapi adapters/telegram/chats adapters/telegram/markdown
				adapters/telegram/records adapters/telegram/throttle adapters/telegram/view core`),
			"the outbox sends what is on record, whoever has put it there"},
		{"adapters/telegram/records", strings.Fields(`adapters/telegram/chats core`),
			"records are what the adapter keeps, by chat"},
		{"adapters/telegram/setup", strings.Fields(`adapters adapters/telegram/botapi adapters/telegram/chats core/config`),
			"the steps of init know the bot, its settings and what a step may ask, not the running adapter"},
		{"adapters/telegram/throttle", nil,
			"throttle counts calls, whatever they are"},
		{"adapters/telegram/view", strings.Fields(`adapters/telegram/markdown core core/commands core/progress`),
			"view makes texts and buttons of what core says, and sends nothing"},
		{"heartbeat", strings.Fields(`heartbeat/service adapters/httpapi/api adapters/httpapi/client core core/config core/schedule`),
			"heartbeat knows the gateway by its configuration, as a client, and as a service, and defines one schedule"},
		{"heartbeat/program", nil,
			"program replaces files, whatever they are"},
		{"heartbeat/service", strings.Fields(`contrib core/config`),
			"service renders the unit files of contrib from what it is given, and records what configuration calls a setting"},
		{"heartbeat/supervisor", strings.Fields(`heartbeat/program`),
			"the supervisor knows processes, files and programs, nothing of the gateway"},
		{"sessionhost", strings.Fields(`sessionhost/pipe sessionhost/protocol sessionhost/claude core`),
			"the daemon's end knows core, the protocol and the CLI; neither the host's end nor adapters, ledger or configuration"},
		{"sessionhost/claude", strings.Fields(`core`),
			"claude knows the CLI and core's words for it"},
		{"sessionhost/host", strings.Fields(`sessionhost/pipe sessionhost/protocol sessionhost/claude core`),
			"the host's end knows the protocol, the CLI and core's words, nothing of the daemon"},
		{"sessionhost/pipe", nil,
			"pipe moves bytes, whatever they mean"},
		{"sessionhost/protocol", strings.Fields(`sessionhost/claude`),
			"the protocol knows neither of its ends"},
		{"core", nil,
			"core declares the interfaces it needs and imports nothing of ours"},
		{"core/adapterstore", strings.Fields(`core`),
			"the adapters' store knows core; the ledger comes as an interface"},
		{"core/commands", strings.Fields(`core core/settings core/tools`),
			"commands know core, settings and what a tool is; what they use comes as interfaces"},
		{"core/config", nil,
			"the configuration knows nothing of what it configures"},
		{"core/feed", strings.Fields(`core`),
			"feeds know core's updates, neither lanes nor adapters"},
		{"core/lanes", strings.Fields(`core core/adapterstore core/feed core/sessionpool core/settings core/spending`),
			"lanes know core, the adapters' store, feeds, settings, the pool of sessions and spending; ledger, agent and adapters come as interfaces"},
		{"core/ledger/sqlite", strings.Fields(`core core/schedule`),
			"the ledger knows core, nothing that uses it"},
		{"core/progress", strings.Fields(`core`),
			"progress folds core's updates, whoever shows them"},
		{"core/schedule", strings.Fields(`core`),
			"schedules know core, nothing that uses them"},
		{"core/sessionfile", strings.Fields(`core`),
			"the session file knows core, nothing that uses it"},
		{"core/sessionpool", nil,
			"the pool of sessions counts slots, whatever has them"},
		{"core/settings", strings.Fields(`core`),
			"settings of channels know core; the ledger comes as an interface"},
		{"core/spending", strings.Fields(`core`),
			"spending knows core; the ledger comes as an interface"},
		{"core/tools", strings.Fields(`core core/tools/index`),
			"tools know core and the index that finds them; what they do comes as interfaces"},
		{"core/tools/gateway", strings.Fields(`core core/schedule core/tools`),
			"the gateway's tools know core and schedules; what they use comes as interfaces"},
		{"core/tools/index", nil,
			"the index knows words, not tools"},
		{"core/tools/intent", strings.Fields(`core/tools`),
			"intent knows which tools there are, not what they do"},
		{"contrib", nil,
			"contrib imports nothing of ours"},
		{"docs", nil,
			"docs imports nothing of ours"},
		{"mcp", strings.Fields(`core core/commands core/tools`),
			"mcp knows the registry of tools and the commands that are prompts, not what they do"},
		{"mcp/mounts", strings.Fields(`core core/tools`),
			"mounts are a source of tools, and know the servers of other people, not the gateway's own"},
		{"observe", strings.Fields(`adapters/httpapi/api adapters/httpapi/client observe/analysis observe/api observe/app observe/capture observe/capture/ingest
				observe/capture/otlp observe/capture/proxy observe/discovery observe/findings observe/rules observe/tools`),
			"the observer wires its packages, and knows the gateway as a client"},
		{"observe/app", nil,
			"app runs a program and finds its port, whatever passes there"},
		{"observe/analysis", strings.Fields(`observe/capture observe/findings observe/rules`),
			"the analyst has rules look at requests and tells findings, whoever reads them"},
		{"observe/capture", nil,
			"capture keeps requests and what the app tells of them, and knows neither who sends nor who looks"},
		{"observe/capture/proxy", strings.Fields(`observe/capture`),
			"the proxy passes requests on and tells capture, whoever reads it"},
		{"observe/findings", strings.Fields(`observe/rules`),
			"findings know what rules say, not why, nor who tells people"},
		{"observe/rules", strings.Fields(`observe/capture`),
			"rules know requests, not where they come from, nor what was found before"},
		{"observe/capture/otlp", strings.Fields(`observe/capture`),
			"the receiver of OpenTelemetry makes signals, whoever joins them with requests"},
		{"observe/capture/ingest", strings.Fields(`observe/capture`),
			"the receiver of SDKs' events makes signals and requests, whoever keeps them"},
		{"observe/api", strings.Fields(`observe/capture observe/findings observe/rules`),
			"the API shows what is captured and found, which comes as interfaces"},
		{"observe/discovery", nil,
			"discovery knows files and processes, not what an observer does"},
		{"observe/tools", strings.Fields(`core core/commands core/tools observe/api observe/discovery observe/findings observe/rules`),
			"the tools know observers by their API, not what they consist of"},
		{"toolhost", strings.Fields(`toolhost/api core core/tools`),
			"the daemon's end knows the registry and what the two ends say, not how tools run"},
		{"toolhost/api", strings.Fields(`core/tools`),
			"the shapes know neither end"},
		{"toolhost/builtin", strings.Fields(`core core/tools`),
			"built-in tools compute, and know nothing of their host"},
		{"toolhost/runner", strings.Fields(`toolhost/api toolhost/builtin toolhost/script core/tools`),
			"the tool host knows tools, nothing of the gateway"},
		{"toolhost/script", strings.Fields(`core core/tools toolhost/api`),
			"script knows tools, not who calls them; functions with authority come as an interface"},
	}
	for _, name := range leaves() {
		rooms = append(rooms, room{path: "internal/" + name, rule: "a leaf imports only other leaves"})
	}
	return rooms
}

// leaves are the small packages below internal that every room but core may import.
func leaves() []string {
	return strings.Fields(`atomicfile buildinfo detached dialect echoagent exitcode getclaude guard humanize lockfile logfile mdtext
		memory peercred plainjson precheck privatedir proc procmark samefile schema shellquote shortid socketpair statemark
		steps term toolinput toolset typo visible wait withheld zone`)
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
