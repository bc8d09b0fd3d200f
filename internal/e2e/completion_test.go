package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bareclaw/internal/exitcode"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, row := range []struct{ words, want string }{
		{"sta", "status\n"},
		{"sto", "stop\n"},
		{"stop --s", "--sessions\n"},
		{"service sta", "start\nstatus\n"},
		{"channels re", "reset\n"},
		{"completion ", "bash\nzsh\nfish\n"},
		{"send --id", "--idempotency-key\n"},
		{"send --timeout 5s d", ""}, // no gateway, no channels
		{"nothing at all", ""},
	} {
		words := append([]string{"complete-words", "--"}, strings.Split(row.words, " ")...)
		m.command(exitcode.OK, words...).prints(row.want)
	}
	m.seedChannels(hostile)
	g := m.start()
	for _, key := range []string{"desk", "dusk", "with space $HOME"} {
		g.say(key, "echo x")
	}
	completes := func(want string, words ...string) { // a shell does not wait for long, and a gateway may be slower
		t.Helper()
		m.eventually(fmt.Sprintf("%q are completed with %q", words, want), func() bool {
			return m.command(exitcode.OK, append([]string{"complete-words", "--"}, words...)...).out.String() == want
		})
	}
	completes("desk\ndusk\n", "send", "--timeout", "5s", "d")
	completes("desk\ndusk\nwith space $HOME\n", "channels", "show", "")
	m.command(exitcode.OK, "complete-words", "--", "send", "desk", "d").prints("")
}

// TestCompletionInBash completes as a person would who presses the key.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT TESTED: completion in bash, which is not installed")
	}
	m := newMachine(t)
	m.installed()
	g := m.start()
	g.say("with space $HOME", "echo x")
	const want = "with\\ space\\ \\$HOME\nstatus\n"
	m.eventually(fmt.Sprintf("bash completes %q", want), func() bool { // in time: the shell does not wait for long
		cmd := exec.Command(bash, "-c", `eval "$(bareclaw completion bash)"
COMP_WORDS=(bareclaw channels show w); COMP_CWORD=3; _bareclaw; printf '%s\n' "${COMPREPLY[@]}"
COMP_WORDS=(bareclaw sta); COMP_CWORD=1; _bareclaw; printf '%s\n' "${COMPREPLY[@]}"`)
		cmd.Env, cmd.Dir = m.env, m.path("work")
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
	m := newMachine(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := m.command(exitcode.OK, "completion", shell).shows("complete-words").out.String()
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
	m.command(exitcode.Usage, "completion", "csh").tells("bash")
}

// installed has the program be found as bareclaw on the machine.
func (m *machine) installed() {
	m.t.Helper()
	self := bareclaw(m.t)
	if err := os.Mkdir(m.path("bin"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Symlink(self, m.path("bin/bareclaw")); err != nil {
		m.t.Fatal(err)
	}
	m.env = append(m.env, "PATH="+m.path("bin")+":"+os.Getenv("PATH"))
}
