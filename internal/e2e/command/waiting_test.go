package command

import (
	"strings"
	"syscall"
	"testing"

	"bareclaw/heartbeat/supervisor"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
	"bareclaw/internal/proc"
	"bareclaw/internal/testkit/check"
)

// asking returns a machine with a gateway whose people are asked about the tool odd_act.
func asking(t *testing.T) (*harness.Machine, *harness.Gateway) {
	t.Helper()
	m, g := harness.Started(t, supervisor.CrashVariable+"=", "BARECLAW_APPROVALS=ask", "BARECLAW_PERMISSION_MODE=default")
	m.Mount(harness.OddServer(t, "odd"))
	g.AwaitTool("odd_act")
	return m, g
}

// waits calls odd_act at the terminal, and returns the approval that the command names once it waits.
func waits(m *harness.Machine, args string) (call *harness.Invocation, approval string) {
	m.T.Helper()
	call = m.Invoke(nil, "tools", "call", "odd_act", args)
	m.Eventually("the command says that it waits", func() bool {
		_, after, found := strings.Cut(call.Err.String(), "bareclaw approvals allow ")
		approval, _, _ = strings.Cut(after, "\n")
		return found && strings.HasSuffix(after, "\n")
	})
	return call, approval
}

// TestCallThatWaits: a command that waits for a person says so, and with what it is allowed.
func TestCallThatWaits(t *testing.T) {
	m, g := asking(t)
	call, id := waits(m, `{"text":"done"}`)
	call.Tells("Waiting for a person")
	m.Command(exitcode.OK, "approvals", "allow", "--always", id).Shows("Allowed: mcp__bareclaw__odd_act", "Allowed once: a call from outside of sessions has no channel to keep a rule for.")
	call.Wait(exitcode.OK).Prints("done\n")

	call, id = waits(m, `{}`)
	g.Restart()
	call.Wait(exitcode.Failed).Prints("").Tells("before a person has allowed odd_act, which was not carried out: call it again, and a person is asked anew")
	m.Command(exitcode.OK, "approvals").Tells("Nothing waits")
	m.Command(exitcode.Failed, "approvals", "allow", id).Tells(id)

	call, id = waits(m, `{"text":"again"}`)
	m.Command(exitcode.OK, "approvals", "allow", "--json", "--always", id).Shows(`"note":"Allowed once: `)
	call.Wait(exitcode.OK).Prints("again\n")
	g.Balanced()
}

// TestCallThatIsKilled: the command says what to do when the gateway was killed below it.
func TestCallThatIsKilled(t *testing.T) {
	m, g := asking(t)
	kill := func(log string) {
		t.Helper()
		m.Eventually("the call runs", func() bool { return len(m.Glob(log)) == 1 })
		h := m.LockFile()
		check.OK(t, proc.Signal(h.Worker, h.WorkerStart, syscall.SIGKILL))
	}
	call, id := waits(m, `{"action":"hang","log":"`+m.Path("acted")+`"}`)
	m.Command(exitcode.OK, "approvals", "allow", id)
	kill("acted")
	call.Wait(exitcode.Failed).Tells("the gateway has ended before it answered, and whether odd_act was carried out is not known: look before you call it again")
	g.AwaitTool("odd_read")
	call = m.Invoke(nil, "tools", "call", "odd_read", `{"action":"hang","log":"`+m.Path("was_read")+`"}`)
	kill("was_read")
	call.Wait(exitcode.Failed).Tells("the gateway has ended before it answered: call odd_read again")
}

// TestCallThatNobodyCanAllow: the refusal names what lets it through.
func TestCallThatNobodyCanAllow(t *testing.T) {
	m, g := harness.Started(t)
	m.Mount(harness.OddServer(t, "odd"))
	g.AwaitTool("odd_act")
	m.Command(exitcode.Failed, "tools", "call", "odd_act").Tells("odd_act is refused", "set BARECLAW_APPROVALS=ask, `bareclaw restart`", "`bareclaw mount add odd --replace --allow …`")
	g.Balanced()
}
