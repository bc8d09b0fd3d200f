package markdown

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommonMark renders every example of the CommonMark specification, which
// comes with the parser, into messages of any length.
func TestCommonMark(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatalf("find goldmark: %v", err)
	}
	file, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct{ Markdown, HTML, Section string }
	if err := json.Unmarshal(file, &examples); err != nil {
		t.Fatal(err)
	}
	if len(examples) < 600 {
		t.Fatalf("%d examples", len(examples))
	}
	var all strings.Builder
	for _, e := range examples {
		d := Render(e.Markdown)
		for _, limit := range []int{MaxUnits, 11, 3} {
			checkSplit(t, d, limit)
		}
		checkSplit(t, RenderPartial(e.Markdown), MaxUnits)
		all.WriteString(e.Markdown + "\n\n")
	}
	checkSplit(t, Render(all.String()), MaxUnits)
}
