package docs

import (
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

const (
	observePage = "docs/observe.md"
	// observedPort is the one of the page.
	observedPort = "4400"
)

// TestObservePage takes the way of docs/observe.md: it observes the app, has its flaw found, fixes it, and has the fix
// proven, with the commands as they are printed but for the port.
func TestObservePage(t *testing.T) {
	t.Parallel()
	needBash(t)
	harness.NeedCurl(t)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("NOT TESTED: the app of docs/observe.md needs npm, which is not installed")
	}
	m := harness.NewMachine(t)
	m.Installed()
	m.Start()
	port := harness.FreePort(t)
	printed := func(piece string) string {
		return strings.ReplaceAll(harness.Printed(t, observePage, piece), observedPort, port)
	}
	m.AsPrinted(printed("mkdir -p ~/shop"))
	said := inTerminal(m, printed("bareclaw observe --port"))
	address := "http://127.0.0.1:" + port
	m.Eventually("the app answers", func() bool {
		answer, err := http.Get(address + "/ready")
		if err != nil {
			return false
		}
		check.OK(t, answer.Body.Close())
		return answer.StatusCode == http.StatusOK
	})
	for line := range strings.Lines(strings.ReplaceAll(shown(t, "Open the app at"), observedPort, port)) {
		if !strings.Contains(said.String(), line) {
			t.Errorf("the observer does not say %q, but\n%s", line, said.String())
		}
	}
	if out := m.AsPrinted(printed("/users/1\n")); !strings.Contains(out, "correct horse battery") {
		t.Fatalf("the app answers %s", out)
	}

	list := printed("tools call get_findings")
	finding := regexp.MustCompile(`"id": "([0-9a-f]{16})"`)
	found := ""
	m.Eventually("the flaw is found", func() bool {
		found = m.AsPrinted(list)
		return strings.Contains(found, "exposed-secret")
	})
	for _, want := range []string{"critical", "GET /users/:id", `The response contains a value of \"password\".`} {
		if !strings.Contains(found, want) {
			t.Errorf("there is no %q in\n%s", want, found)
		}
	}
	if strings.Contains(found, "correct horse") || !strings.Contains(found, "[masked:21]") {
		t.Errorf("the password is not masked:\n%s", found)
	}
	id := finding.FindStringSubmatch(found)[1]
	m.AsPrinted(harness.Replaced(t, printed("report_fix"), "FINDING", id))
	m.Eventually("the fixed app answers", func() bool {
		out, err := exec.CommandContext(t.Context(), "curl", "--silent", address+"/ready").Output()
		return err == nil && strings.Contains(string(out), "Ann") && !strings.Contains(string(out), "password")
	})
	verify := harness.Replaced(t, printed("verify_fix"), "FINDING", id)
	m.Eventually("the fix is proven", func() bool {
		return strings.Contains(m.AsPrinted(verify), strings.TrimSpace(shown(t, `"verdict"`)))
	})
	if out := m.AsPrinted(printed("bareclaw observe list")); !strings.Contains(out, address) {
		t.Errorf("the list of observers is\n%s", out)
	}
	m.Eventually("the address is free", func() bool {
		answer, err := http.Get(address)
		if err != nil {
			return true
		}
		check.OK(t, answer.Body.Close())
		return false
	})
}

// shown returns the block of the page for what is printed that has this in it.
func shown(t *testing.T, piece string) string {
	t.Helper()
	for _, b := range harness.Blocks(t, observePage) {
		if b.Lang == "text" && strings.Contains(b.Text, piece) {
			return b.Text
		}
	}
	t.Fatalf("the page shows nothing with %q", piece)
	return ""
}

// inTerminal runs commands that do not end by themselves on the machine, and returns what they print.
func inTerminal(m *harness.Machine, lines string) *harness.LockedBuffer {
	m.T.Helper()
	said := &harness.LockedBuffer{}
	cmd := exec.Command("bash", "-e", "-c", lines)
	cmd.Env = m.Env
	cmd.Dir = m.Path("work")
	cmd.Stdout = said
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check.OK(m.T, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // by the signal
		close(ended)
	}()
	m.T.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		<-ended
		if m.T.Failed() {
			m.T.Logf("in the terminal:\n%s", said)
		}
	})
	return said
}
