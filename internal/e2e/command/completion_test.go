package command

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/exitcode"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	for _, row := range []struct{ words, want string }{
		{"sta", "status\nstart\n"},
		{"sto", "stop\n"},
		{"stop --s", "--sessions\n"},
		{"service sta", "start\nstatus\n"},
		{"channels re", "reset\nremove\n"},
		{"completion ", "bash\nzsh\nfish\n"},
		{"tools sn", "snapshots\nsnapshot\n"},
		{"send --id", "--idempotency-key\n"},
		{"send --timeout 5s d", ""}, // no gateway, no channels
		{"nothing at all", ""},
	} {
		words := append([]string{"complete-words", "--"}, strings.Split(row.words, " ")...)
		m.Command(exitcode.OK, words...).Prints(row.want)
	}
	seedChannels(m, hostile)
	g := m.Start()
	for _, key := range []string{"desk", "dusk", "with space $HOME"} {
		g.Say(key, "echo x")
	}
	completes := func(want string, words ...string) { // a shell does not wait for long, and a gateway may be slower
		t.Helper()
		m.Eventually(fmt.Sprintf("%q are completed with %q", words, want), func() bool {
			return m.Command(exitcode.OK, append([]string{"complete-words", "--"}, words...)...).Out.String() == want
		})
	}
	completes("desk\ndusk\n", "send", "--timeout", "5s", "d")
	completes("desk\ndusk\nwith space $HOME\n", "channels", "show", "")
	completes("hello_world\n", "tools", "call", "hel")
	m.Command(exitcode.OK, "complete-words", "--", "send", "desk", "d").Prints("")
}

// TestCompletionInBash completes as a person would who presses the key.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT TESTED: completion in bash, which is not installed")
	}
	m := harness.NewMachine(t)
	m.Installed()
	g := m.Start()
	g.Say("with space $HOME", "echo x")
	const want = "with\\ space\\ \\$HOME\nstatus\nstart\n"
	m.Eventually(fmt.Sprintf("bash completes %q", want), func() bool { // in time: the shell does not wait for long
		cmd := exec.Command(bash, "-c", `eval "$(bareclaw completion bash)"
COMP_WORDS=(bareclaw channels show w); COMP_CWORD=3; _bareclaw; printf '%s\n' "${COMPREPLY[@]}"
COMP_WORDS=(bareclaw sta); COMP_CWORD=1; _bareclaw; printf '%s\n' "${COMPREPLY[@]}"`)
		cmd.Env, cmd.Dir = m.Env, m.Path("work")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("bash: %v\n%s", err, out)
		}
		return string(out) == want
	})
}

// TestCompletionScriptsAreGoodShell has each shell that is there look at its script.
func TestCompletionScriptsAreGoodShell(t *testing.T) {
	t.Parallel()
	m := harness.NewMachine(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := m.Command(exitcode.OK, "completion", shell).Shows("complete-words").Out.String()
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("NOT TESTED: the script for %s, which is not installed", shell)
			continue
		}
		cmd := exec.Command(path, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
	m.Command(exitcode.Usage, "completion", "csh").Tells("bash")
}
