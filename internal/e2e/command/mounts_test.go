package command

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
	"bareclaw/internal/testkit/oddserver"
)

const mountsFile = "home/.config/bareclaw/mcp.json"

// add returns the arguments that mount a server with modes.
func add(t *testing.T, name string, flags []string, modes ...string) []string {
	t.Helper()
	program, args := oddserver.Command(t, modes...)
	all := append([]string{"mount", "add", name}, flags...)
	return append(append(all, "--", program), args...)
}

// TestMountFromNothingOn mounts servers with a gateway and without, as a person does.
func TestMountFromNothingOn(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	m.Command(exitcode.OK, "mount").Shows("There are no mounted servers").Tells("The gateway does not run")
	m.Command(exitcode.Failed, "mount", "remove", "odd").Tells(`there is no mounted server "odd", nor any other`)
	m.Command(exitcode.OK, add(t, "odd", nil)...).Shows("odd: 4 tools, of which 3 ask a person before they run.")
	info, err := os.Stat(m.Path(mountsFile))
	check.OK(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file of secrets has the mode %v", info.Mode())
	}
	m.Command(exitcode.OK, "mount", "list").Shows("odd   unknown")
	m.Command(exitcode.OK, "mount", "list", "--json").Shows(`"scope":"shared","category":"utility"`)
	m.Command(exitcode.OK, "mount", "test", "odd").Shows("odd_act", "odd: 4 tools")

	g := m.Start()
	m.Command(exitcode.Failed, add(t, "odd", nil)...).Tells("already", "mount remove odd", "--replace")
	m.Command(exitcode.OK, add(t, "odd", []string{"--replace", "--allow", "*"})...).Shows("odd: 4 tools, which all run unasked.")
	m.Command(exitcode.OK, add(t, "other", []string{"--allow", "nothing", "--prefix", ""})...).Shows("other: 4 tools, all 4 ask a person before they run; --allow")
	learned := m.Command(exitcode.OK, add(t, "json", []string{"--json"})...).Document()
	if learned.Str("state") != "idle" || learned.JSON["tools"] != 4.0 || learned.JSON["asks"] != 3.0 {
		t.Errorf("add prints %v", learned.JSON)
	}
	m.Command(exitcode.OK, "tools", "call", "odd_act", `{"action":"answer","text":"there"}`).Prints("there\n")
	m.Command(exitcode.OK, "tools", "call", "odd_act", `{"action":"image","text":"there","bytes":2048}`).Prints("there\n").Tells("[image image/png, 2.0 KiB]")
	m.Command(exitcode.OK, "tools", "call", "odd_act", `{"action":"link"}`).Prints("").Tells("[resource_link file:///report.txt text/plain]")
	m.Command(exitcode.OK, "tools", "call", "--json", "odd_act", `{"action":"image","bytes":3}`).Shows(`"data":"AAAA"`)
	m.Command(exitcode.OK, "tools", "list").Shows("odd_act                 mount odd ", "hello_world             builtin ")
	m.Command(exitcode.Failed, "tools", "call", "act", `{"action":"answer"}`).Tells("a person must allow it")
	m.Command(exitcode.OK, "mount").Shows("odd    running  4          4      0", "other  idle     4 (4 ask)  0      0")
	tested := m.Command(exitcode.OK, "mount", "test", "other", "--json").Document()
	if list := tested.Array("tool_list"); len(list) != 4 || list[0].JSON["asks"] != true {
		t.Errorf("test prints %v", tested.JSON)
	}
	m.Command(exitcode.Failed, "mount", "test", "none").Tells("there are: json, odd, other")
	m.Command(exitcode.OK, "mount", "remove", "odd").Prints("Removed odd.\n")
	if out, _, _ := m.Run("tools", "list"); strings.Contains(out, "odd_act") {
		t.Errorf("after its removal there is\n%s", out)
	}
	m.Command(exitcode.OK, "mount", "list").Shows("SERVER")
	g.Signal(syscall.SIGTERM)
}

// TestMountThatDoesNotStart: add says why, and what can be done.
func TestMountThatDoesNotStart(t *testing.T) {
	m, g := harness.Started(t)
	m.Command(exitcode.Failed, add(t, "exits", nil, "exit=3")...).Tells("the server exits does not start", "cannot start: no token. The server stays in", "and the gateway tries it again", "mount remove exits")
	m.Command(exitcode.Failed, "mount", "add", "none", "--", "no-such-program").Tells("there is no program")
	m.Command(exitcode.Failed, add(t, "token", []string{"--env", "NOBODY_HAS_IT"})...).Tells("NOBODY_HAS_IT. Write them into "+m.Path(harness.EnvFile), "bareclaw restart")
	m.Command(exitcode.Failed, "mount", "test", "exits").Tells("does not start", "no token")
	m.Command(exitcode.OK, "mount", "list").Shows("exits  failing", "no token")
	m.Command(exitcode.OK, "status").Shows("The mounted server exits does not start")
	g.Balanced()
}

// TestMountIsNotMended: what is wrong with a file that is edited by hand is told, by the gateway and without it.
func TestMountIsNotMended(t *testing.T) {
	m, _ := harness.Started(t)
	m.Write(mountsFile, `{"mcpServers": {"odd": {"comand": "x"}, "itself": {"command": "`+m.Executable()+`", "args": ["mcp"]}}, "bags": {"text": "x", "browser": ["x"]}}`, 0o600)
	m.Eventually("the gateway has read the file", func() bool {
		out, _, _ := m.Run("mount", "list")
		return strings.Contains(out, "odd     unusable") && strings.Contains(out, "itself  unusable")
	})
	bags := []string{`The bag "text" is left out: it must be a list of patterns`, `bag "browser" is there already`}
	m.Command(exitcode.OK, "mount", "list").Shows(`did you mean "command"?`, "it is this gateway itself").Tells(bags...)
	m.Command(exitcode.OK, "mount", "list", "--json").Shows(`"left_out":["The server`)
}

// TestMountUnnoticed: remove says so if the gateway does not read the file.
func TestMountUnnoticed(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	m.Start()
	m.Write("other/bareclaw/mcp.json", `{"mcpServers": {"odd": {"command": "odd"}}}`, 0o600)
	m.Env = append(m.Env, "XDG_CONFIG_HOME="+m.Path("other"))
	m.Command(exitcode.OK, "mount", "remove", "odd").Shows("Removed odd.").Tells("it has not read the file within 10s", "bareclaw mount list")
}

// TestMountThatNobodyStarts: without a gateway, add says when the server is tried again.
func TestMountThatNobodyStarts(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Command(exitcode.Failed, add(t, "exits", nil, "exit=3")...).Tells("the server exits does not start", "The server stays in", "and a gateway that starts tries it again", "mount remove exits")
}

// TestMountThatTheGatewayLacks: test names the file that has the server, which is not the gateway's.
func TestMountThatTheGatewayLacks(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	m.Start()
	m.Write("other/bareclaw/mcp.json", `{"mcpServers": {"odd": {"command": "odd"}}}`, 0o600)
	m.Env = append(m.Env, "XDG_CONFIG_HOME="+m.Path("other"))
	m.Command(exitcode.Failed, "mount", "test", "odd").Tells("the gateway does not know the server odd, which is in "+m.Path("other/bareclaw/mcp.json"), "mount list")
}

// TestMountInterrupted: whoever does not wait finds the server in the list.
func TestMountInterrupted(t *testing.T) {
	m, _ := harness.Started(t)
	waits := m.Invoke(nil, add(t, "slow", nil, "hang=tools/list")...)
	m.Eventually("the server is being started", func() bool {
		out, _, _ := m.Run("mount", "list")
		return strings.Contains(out, "slow  starting")
	})
	check.OK(t, waits.Cmd.Process.Signal(syscall.SIGINT))
	waits.Wait(exitcode.Interrupted).Tells("The server stays in "+m.Path(mountsFile), "mount remove slow")
}

// TestMountsAtOnce: commands that change the file at the same time take nothing from each other.
func TestMountsAtOnce(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	names := []string{"one", "two", "three", "four"}
	var adding, removing []*harness.Invocation
	for _, name := range names {
		adding = append(adding, m.Invoke(nil, add(t, name, nil)...))
	}
	for _, a := range adding {
		a.Wait(exitcode.OK)
	}
	all := m.Contents(mountsFile)
	for _, name := range names {
		if !strings.Contains(all, `"`+name+`"`) {
			t.Errorf("%s is lost: %s", name, all)
		}
		removing = append(removing, m.Invoke(nil, "mount", "remove", name))
	}
	for _, r := range removing {
		r.Wait(exitcode.OK)
	}
	m.Command(exitcode.OK, "mount", "list").Shows("There are no mounted servers")
}

// TestMountRefuses what cannot be mounted, before anything is written.
func TestMountRefuses(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_PORT=3999")
	for words, args := range map[string][]string{
		"which name?":               {},
		"which server?":             {"odd"},
		"come after --":             {"odd", "npx", "-y", "x"},
		"a name is 1 to 32":         {"two words", "--", "npx"},
		"--env is NAME=VALUE":       {"odd", "--env", "1=2", "--", "npx"},
		"a program has --env":       {"odd", "--header", "A=b", "--", "npx"},
		"has --header":              {"odd", "https://example.org", "--env", "A=b"},
		"has no arguments":          {"odd", "https://example.org", "more"},
		"--header is NAME=VALUE":    {"odd", "https://example.org", "--header", "words"},
		"a scope is":                {"odd", "--scope", "wide", "--", "npx"},
		"a time is 1s to 24h":       {"odd", "--idle", "1ms", "--", "npx"},
		"is not a pattern of names": {"odd", "--allow", "[", "--", "npx"},
		"category: there are":       {"odd", "--category", "toys", "--", "npx"},
		"name a host":               {"odd", "http://"},
		"begin with http://":        {"odd", "ftp://example.org"},
		"there is no directory":     {"odd", "--cwd", "nowhere", "--", "npx"},
		"it is this gateway":        {"odd", "http://127.0.0.1:3999/mcp"},
		"whose tools every chat":    {"odd", "--", m.Executable(), "mcp"},
	} {
		m.Command(exitcode.Usage, append([]string{"mount", "add"}, args...)...).Tells(words)
	}
	if _, err := os.Stat(m.Path(mountsFile)); err == nil {
		t.Error("something was written")
	}
	m.Write(mountsFile, `{"mcpServers": {"odd": {"command": "x"}}, }`, 0o600)
	for _, args := range [][]string{add(t, "other", nil), {"mount", "remove", "odd"}, {"mount", "test", "odd"}, {"mount", "list"}} {
		m.Command(exitcode.Failed, args...).Tells("mcp.json: line 1: it is not JSON")
	}
}

// TestMountKeepsWhatOthersWrote: the file is also that of other programs.
func TestMountKeepsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Write(mountsFile, `{"inputs": [1], "mcpServers": {"theirs": {"command": "x", "autoApprove": ["y"]}}}`, 0o600)
	m.Command(exitcode.OK, add(t, "odd", []string{"-e", "A=b=c", "--scope", "caller", "--idle", "90s", "--category", "browser"})...)
	text := m.Contents(mountsFile)
	for _, piece := range []string{`"inputs"`, `"autoApprove"`, `"A": "b=c"`, `"scope": "caller"`, `"idle": "1m30s"`, `"category": "browser"`} {
		if !strings.Contains(text, piece) {
			t.Errorf("there is no %s in\n%s", piece, text)
		}
	}
	m.Command(exitcode.OK, "mount", "remove", "odd")
	if text := m.Contents(mountsFile); strings.Contains(text, `"odd"`) || !strings.Contains(text, `"theirs"`) {
		t.Errorf("the file is now\n%s", text)
	}
}

// TestMountOfATerminalsVariable: what the terminal has, the gateway need not have.
func TestMountOfATerminalsVariable(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "TERMINALS=x")
	m.Write(harness.EnvFile, "KEPT=y\n", 0o600)
	m.Command(exitcode.OK, add(t, "odd", []string{"-e", "TERMINALS", "-e", "KEPT", "-e", "A=${HOME}"})...).Tells("This terminal has TERMINALS, and", m.Path(harness.EnvFile))
	if told := m.Command(exitcode.OK, add(t, "kept", []string{"-e", "KEPT"})...).Err.String(); strings.Contains(told, "This terminal") {
		t.Errorf("it tells %q", told)
	}
}

// TestMountWarnsOfTwins: a server that claude starts as well exists twice.
func TestMountWarnsOfTwins(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	program, args := oddserver.Command(t)
	check.OK(t, os.MkdirAll(m.Path("home/.claude"), 0o700))
	m.Write("home/.claude/.claude.json", `{"mcpServers": {"mine": {"command": "`+program+`", "args": ["`+args[0]+`"]}}}`, 0o600)
	m.Command(exitcode.OK, add(t, "odd", nil)...).Shows("odd: 4 tools").Tells("Claude starts the same server as odd", "claude mcp remove mine")
	m.Command(exitcode.OK, "mount", "list").Tells("Claude starts the same server as odd")
}

// TestMountInASession: what the gateway runs is for people to say.
func TestMountInASession(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	m.Env = append(m.Env, "BARECLAW_SOCKET="+m.Path("run/api.sock"))
	for _, args := range [][]string{add(t, "odd", nil), {"mount", "remove", "odd"}, {"mount", "test", "odd"}} {
		m.Command(exitcode.Failed, args...).Tells("a session cannot mount")
	}
	if _, err := os.Stat(m.Path(mountsFile)); err == nil {
		t.Error("something was written")
	}
}
