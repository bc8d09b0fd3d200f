package command

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/testkit/check"
)

// TestToolsFromTheFirstFileOn makes a tool as a person does, changes the file, and calls the tool.
func TestToolsFromTheFirstFileOn(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t, "BARECLAW_HTTP_TOKEN="+harness.Token)
	m.Command(exitcode.Unreachable, "tools").Tells("no gateway has run here yet")
	m.Command(exitcode.OK, "tools", "snapshots").Prints("").Tells("no snapshots yet")
	m.Command(exitcode.OK, "tools", "new", "turn_around").Shows("Made "+m.Path("state/tools/turn_around.ts"), "bareclaw start")
	m.Command(exitcode.Failed, "tools", "new", "turn_around").Tells("is there already")
	for _, name := range []string{"Turn", "1st", "a-b", strings.Repeat("x", 51), "../evil", ""} {
		m.Command(exitcode.Usage, "tools", "new", name).Tells("lowercase letters")
	}
	g := m.Start()
	g.Eventually("the tool host runs", func() bool { return len(m.Glob("state/snapshots/initial_*")) == 1 })
	for _, tool := range []string{"turn_around", "another"} {
		if tool == "another" {
			m.Command(exitcode.OK, "tools", "new", tool).Shows("has loaded the tool", "bareclaw tools call another '")
		}
		m.Command(exitcode.OK, "tools", "call", tool, `{"text": "añb"}`).Prints("{\n  \"reversed\": \"bña\"\n}\n")
	}
	m.Command(exitcode.OK, "tools", "new", "--json", "a_third").Shows(`"loaded":true,"name":"a_third"`)
	m.Command(exitcode.OK, "tools", "snapshot", "--json", "kept").Shows(`"content":[{`)
	m.Command(exitcode.Failed, "tools", "new", "worker_status").Tells("worker_status already (gateway)")
	m.Command(exitcode.OK, "tools").Shows("another                 dynamic  Reverse a text.\n", "worker_status           gateway", "hello_world             builtin")
	if list := m.Command(exitcode.OK, "tools", "list", "--json").Document().Array("tools"); len(list) < 30 || list[0].Str("name") != "a_third" || list[0].JSON["inputSchema"] == nil {
		t.Errorf("the list has %d tools, first %v", len(list), list[0].JSON)
	}

	call := func(status int, in string, args ...string) *harness.Invocation {
		t.Helper()
		return m.Invoke(strings.NewReader(in), append([]string{"tools", "call"}, args...)...).Wait(status)
	}
	call(exitcode.OK, `{"text":"xyz"}`, "another", "-", "--json").Prints(`{"content":[{"type":"text","text":"{\"reversed\":\"zyx\"}"}],"structuredContent":{"reversed":"zyx"}}` + "\n")
	call(exitcode.OK, "", "worker_snapshots").Shows("initial_", " tools, ")
	call(exitcode.Failed, "", "another").Prints("").Tells("text")
	call(exitcode.Failed, "", "another", "--json").Shows(`"isError":true`)
	call(exitcode.Failed, "", "none").Prints("").Tells(`"none"`, "`bareclaw tools` lists all")
	for _, args := range []string{"[1]", "null", "text=x", ""} {
		call(exitcode.Usage, "", "another", args).Tells("JSON object")
	}

	g.Signal(syscall.SIGTERM)
	m.Set("BARECLAW_TOOLS_DIR=" + m.Path("elsewhere/tools"))
	m.Start().Eventually("the tool host runs", func() bool { return len(m.Glob("elsewhere/snapshots/initial_*")) == 1 })
	m.Set("BARECLAW_TOOLS_DIR=" + m.Path("state/tools"))
	m.Command(exitcode.Failed, "tools", "new", "lost").Tells("another tools directory", "bareclaw restart")
}

// TestNewToolThatIsNotLoaded: what is wrong comes with line and column.
func TestNewToolThatIsNotLoaded(t *testing.T) {
	m, g := harness.Started(t)
	g.Eventually("the tool host runs", func() bool { return len(m.Glob("state/snapshots/initial_*")) == 1 })
	check.OK(t, os.Symlink("/etc/hostname", m.Path("state/tools/aaa.ts"))) // the first file that cannot be loaded
	m.Command(exitcode.OK, "tools", "new", "fine").Shows("has loaded")
	check.OK(t, os.Remove(m.Path("state/tools/aaa.ts")))
	m.Write("state/tools/fine.ts", "export const tool = {\n  name: 'fine'\n  oh: 1,\n};\n", 0o600)
	g.Eventually("the status says why", func() bool {
		return strings.Contains(m.Command(exitcode.OK, "status").Out.String(), "fine.ts:3:")
	})
	m.Command(exitcode.OK, "tools", "list").Shows("fine ").Tells("loaded: fine.ts:3:")
	m.Command(exitcode.OK, "tools", "call", "fine", `{"text":"ab"}`).Shows(`"ba"`) // the version before
}

// TestRollbackCommand asks before it replaces tools, where there is somebody to ask.
func TestRollbackCommand(t *testing.T) {
	m, g := harness.Started(t)
	g.Eventually("the tool host runs", func() bool { return len(m.Glob("state/snapshots/initial_*")) == 1 })
	m.Command(exitcode.OK, "tools", "new", "first").Shows("has loaded")
	m.Command(exitcode.OK, "tools", "snapshot", "one").Shows("Snapshot created: one_")
	m.Command(exitcode.OK, "tools", "new", "second").Shows("has loaded")
	all := m.Command(exitcode.OK, "tools", "snapshots", "--json").Document().Array("snapshots")
	if len(all) != 2 || all[0].Str("name") != "one" || all[1].Str("name") != "initial" {
		t.Fatalf("the snapshots are %v", all)
	}
	one, initial := all[0].Str("id"), all[1].Str("id")
	m.Command(exitcode.OK, "complete-words", "--", "tools", "rollback", "o").Prints(one + "\n")

	asked := display(m, "tools", "rollback", initial)
	asked.Sees(initial, "[y/N]")
	asked.Enters("n")
	if said := asked.Exits(exitcode.Failed); !strings.Contains(said, "nothing was done") {
		t.Errorf("after a no: %q", said)
	}
	left := display(m, "tools", "rollback")
	left.Sees("[y/N]")
	left.Types(harness.KeyCtrlC)
	left.Exits(exitcode.Interrupted)
	m.Command(exitcode.OK, "tools", "call", "second", `{"text":"x"}`)
	again := display(m, "tools", "rollback", one)
	again.Sees("[y/N]")
	again.Enters("y")
	again.Exits(exitcode.OK)
	m.Command(exitcode.Failed, "tools", "call", "second", `{"text":"x"}`)
	m.Command(exitcode.OK, "tools", "call", "first", `{"text":"x"}`)
	if said := display(m, "tools", "rollback", "--yes", initial).Exits(exitcode.OK); strings.Contains(said, "[y/N]") {
		t.Errorf("asked in spite of --yes: %q", said)
	}
	m.Command(exitcode.Failed, "tools", "call", "first", `{"text":"x"}`)
	m.Command(exitcode.Failed, "tools", "rollback", "none").Tells(`no snapshot "none"`, "`bareclaw tools snapshots` lists all")
	m.Command(exitcode.OK, "tools", "snapshots").Shows("before_rollback_", initial)
}
