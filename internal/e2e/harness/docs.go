package harness

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// AsPrinted runs commands on the machine, where bareclaw is on the PATH, and returns what they print.
func (m *Machine) AsPrinted(lines string) string {
	m.T.Helper()
	ctx, cancel := context.WithTimeout(m.T.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", lines)
	cmd.Env, cmd.Dir = m.Env, m.Path("work")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.T.Fatalf("%s%v\n%s", lines, err, out)
	}
	return string(out)
}

// Replaced returns the text with the old one replaced, which must be there.
func Replaced(t testing.TB, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %q in\n%s", old, text)
	}
	return strings.ReplaceAll(text, old, by)
}

// A Fenced block of a document. Its marker is the comment in the line before it, if that says
// how the block is tested, or why it is not executed.
type Fenced struct {
	Lang, Text, Marker string
}

// IsCommand reports whether the block is for a shell.
func (b Fenced) IsCommand() bool { return b.Lang == "sh" || b.Lang == "bash" }

// Blocks returns the fenced blocks of a document in order.
func Blocks(t testing.TB, file string) []Fenced {
	t.Helper()
	b, err := os.ReadFile(file)
	check.OK(t, err)
	return FencedIn(string(b))
}

// FencedIn returns the fenced blocks of a text in order.
func FencedIn(text string) []Fenced {
	var all []Fenced
	block := regexp.MustCompile("(?ms)(?:^<!-- ((?:tested by|not executed:) [^\n]*) -->\n)?^```([a-z]*)\n(.*?)^```$")
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		all = append(all, Fenced{Marker: m[1], Lang: m[2], Text: m[3]})
	}
	return all
}

// Printed returns the commands of a document that have this in them.
func Printed(t testing.TB, file, piece string) string {
	t.Helper()
	for _, b := range Blocks(t, file) {
		if b.IsCommand() && strings.Contains(b.Text, piece) {
			return b.Text
		}
	}
	t.Fatalf("%s has no commands with %q", file, piece)
	return ""
}

// NeedCurl skips a test, loudly, where its commands cannot be run.
func NeedCurl(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("NOT TESTED: the commands of the README need curl, which is not installed")
	}
}
