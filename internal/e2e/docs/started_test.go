package docs

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

// firstRun are those that TestReadmeFirstRun runs.
var firstRun = []string{"go run .", `curl -X POST localhost:3000/message -H 'Content-Type: application/json' -d '{"text":"hello"}'`}

// TestReadmeFirstRun runs the first commands of the README, as a person would
// who has Go and no claude.
func TestReadmeFirstRun(t *testing.T) {
	t.Parallel()
	harness.NeedCurl(t)
	examples := examplesOf(t, "README.md")
	if len(examples) < 2 || examples[0].name() != firstRun[0] || examples[1].name() != firstRun[1] {
		t.Fatalf("the README does not begin with %q", firstRun)
	}
	m := harness.NewMachine(t, "BARECLAW_LOG_FORMAT=text")
	m.Env = append(m.Env, "BARECLAW_CLAUDE="+m.Path("no-claude"))
	args := strings.Fields(examples[0].command)
	cmd := exec.Command(args[0], args[1:]...) // in this directory, which is the one of the README
	base, ended := startAsPrinted(t, m, cmd)
	examples[1].run(m, base)
	if len(m.Hosts()) != 1 {
		t.Errorf("hosts are %v, want one", m.Hosts())
	}
	check.OK(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)) // as a terminal does on Ctrl-C
	select {
	case <-ended:
	case <-time.After(harness.Patience):
		t.Fatal("go run . does not end on Ctrl-C")
	}
	if log := m.Log.String(); strings.Contains(log, "exit status") { // go's own status says nothing after Ctrl-C
		t.Error("the daemon ended with an error after Ctrl-C")
	}
	if hosts := m.Hosts(); len(hosts) != 0 {
		t.Errorf("hosts left after Ctrl-C: %v", hosts)
	}
}

// TestTelegramPage runs the commands of docs/telegram.md as they are printed: the
// first ones start a gateway whose bot answers, the others speak to it.
func TestTelegramPage(t *testing.T) {
	t.Parallel()
	harness.NeedCurl(t)
	var commands []string
	for _, b := range harness.Blocks(t, "docs/telegram.md") {
		if b.IsCommand() && b.Marker == "" {
			commands = append(commands, b.Text)
		}
	}
	token := regexp.MustCompile(`BARECLAW_TELEGRAM_TOKEN=(\S+)`).FindStringSubmatch(commands[0])
	if token == nil || !strings.Contains(commands[0], "BARECLAW_ALLOWED_USERS=123456789\n") || !strings.HasSuffix(commands[0], "go run .\n") {
		t.Fatalf("the page does not begin with a token, a user and a start, but with\n%s", commands[0])
	}
	api := botapi.New(t, botapi.WithToken(token[1]))
	anna := api.User(123456789, "Anna", "Arden", "anna")
	chat := api.Private(anna)
	m := harness.NewMachine(t, "BARECLAW_TELEGRAM_API="+api.URL(), "BARECLAW_LOG_FORMAT=text")
	base, _ := startAsPrinted(t, m, exec.Command("sh", "-e", "-c", commands[0]))

	chat.Send(anna, "hello")
	chat.AwaitText("ok: hello")
	check.OK(t, os.WriteFile(m.Path("work/chart.png"), harness.SomePicture(t), 0o600))
	for _, command := range commands[1:] {
		before := len(chat.FromBot())
		ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
		if out, err := shell(ctx, m, command, base).CombinedOutput(); err != nil {
			t.Errorf("%s\n%v\n%s", command, err, out)
		}
		cancel()
		if len(chat.FromBot()) <= before {
			t.Errorf("nothing came of\n%s", command)
		}
	}
}

// startAsPrinted runs the command of a page that starts a gateway, in this directory, and
// returns the gateway's address once it is ready. ended is closed when the command has ended.
func startAsPrinted(t *testing.T, m *harness.Machine, cmd *exec.Cmd) (base string, ended <-chan struct{}) {
	t.Helper()
	m.Env = append(m.Env, harness.GoEnv(t)...)
	harness.Compiled(t, ".", m.Env)
	cmd.Env, cmd.SysProcAttr, cmd.Stderr = m.Env, &syscall.SysProcAttr{Setpgid: true}, m.Log
	check.OK(t, cmd.Start())
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
	})
	ready := regexp.MustCompile(`msg=ready address=(http://\S+)`)
	m.Eventually("the daemon says that it is ready", func() bool { return ready.MatchString(m.Log.String()) })
	return ready.FindStringSubmatch(m.Log.String())[1], done
}
