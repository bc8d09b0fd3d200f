package docs

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/botapi"
	"bareclaw/internal/testkit/check"
)

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
	base := startAsPrinted(m, t, commands[0])

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

// startAsPrinted runs the command of a page that starts a gateway, in this directory,
// and returns the gateway's address once it is ready.
func startAsPrinted(m *harness.Machine, t *testing.T, command string) (base string) {
	t.Helper()
	m.Env = append(m.Env, harness.GoEnv(t)...)
	harness.Compiled(t, ".", m.Env)
	cmd := exec.Command("sh", "-e", "-c", command)
	cmd.Env, cmd.SysProcAttr, cmd.Stderr = m.Env, &syscall.SysProcAttr{Setpgid: true}, m.Log
	check.OK(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	ready := regexp.MustCompile(`msg=ready address=(http://\S+)`)
	m.Eventually("the daemon says that it is ready", func() bool { return ready.MatchString(m.Log.String()) })
	return ready.FindStringSubmatch(m.Log.String())[1]
}
