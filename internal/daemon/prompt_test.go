package daemon

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestSystemPrompt compares what claude is told with the golden file: it is read at
// the beginning of every conversation and so is kept short.
func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	const golden = "testdata/prompt.golden"
	got := systemPrompt("/home/ann/it's here/bareclaw", "/home/ann/src/bareclaw", "/home/ann/.config/bareclaw/notes.md", true) + "\n"
	if *update {
		check.OK(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	check.OK(t, err)
	if got != string(want) {
		t.Errorf("the prompt is\n%s\nwant\n%s\n(-update writes it)", got, want)
	}
	if as := systemPrompt("bareclaw", "/src", "notes", false); !strings.Contains(as, "bareclaw upgrade --from /src") {
		t.Errorf("where a restart does not build, the prompt does not say how a changed source applies:\n%s", as)
	}
	if without := systemPrompt("bareclaw", "", "notes", false); strings.Contains(without, "source is in") {
		t.Errorf("a source is told of where there is none:\n%s", without)
	}
	if n := len(got); n > 2500 {
		t.Errorf("the prompt has %d bytes", n)
	}
}

// TestShellWord has a shell read words back.
func TestShellWord(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"plain/bin-1.0", "", "two words", "it's", "a$b`c`\\", "nl\nnl", "~", "*"} {
		got, err := exec.Command("sh", "-c", "printf %s "+shellWord(want)).Output()
		if err != nil || string(got) != want {
			t.Errorf("sh reads %s as %q (%v), want %q", shellWord(want), got, err, want)
		}
	}
}
