package docs

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bareclaw/internal/cli"
	"bareclaw/internal/e2e/harness"
	"bareclaw/internal/testkit/check"
)

// section returns what a document says below a heading of the second level.
func section(t *testing.T, file, heading string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	check.OK(t, err)
	_, after, found := strings.Cut(string(b), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", file, heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// TestEverydayCommandsAsPrinted runs all commands of docs/operations.md that have no test of
// their own, line by line: those for every day.
func TestEverydayCommandsAsPrinted(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT TESTED: the commands of docs/operations.md need bash, which is not installed")
	}
	m := harness.NewMachine(t)
	m.Installed()
	m.Write("home/.claude/.credentials.json", "{}", 0o600) // or doctor says that nobody is logged in
	g := m.Start()
	ran := 0
	text := section(t, "docs/operations.md", "Everyday commands")
	for _, b := range harness.Blocks(t, "docs/operations.md") {
		if !b.IsCommand() || b.Marker != "" {
			continue
		}
		for line := range strings.Lines(b.Text) {
			ran++
			ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
			cmd := exec.CommandContext(ctx, shell, "-e", "-o", "pipefail", "-c", line)
			cmd.Env, cmd.Dir = m.Env, m.Path("work")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s%v\n%s", line, err, out)
			}
			cancel()
		}
	}
	if ran < 10 {
		t.Errorf("%d commands", ran)
	}
	if n := m.Begun("capital of France"); n != 1 {
		t.Errorf("the question was asked %d times", n)
	}
	if g.Balanced() != 5 {
		t.Error("not as many messages as are sent there")
	}
	for _, status := range strings.Split(cli.ExitStatuses, ";") {
		words := strings.Fields(strings.TrimPrefix(status, "Exit status: "))
		if !strings.Contains(text, "\n| "+words[0]+" | ") {
			t.Errorf("the exit status %s of the help is not in the table", words[0])
		}
	}
}
