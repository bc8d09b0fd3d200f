package markdown

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what Render returns to testdata/golden.txt")

const (
	goldenFile   = "testdata/golden.txt"
	goldenCase   = "======== "
	goldenResult = "-------->\n"
)

// TestGolden compares documents with those of a file, case by case: a source,
// the text it becomes, and each entity with its offset, length and text.
func TestGolden(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	cases := strings.Split("\n"+string(file), "\n"+goldenCase)[1:]
	if len(cases) < 50 {
		t.Fatalf("%d cases in %s", len(cases), goldenFile)
	}
	for _, c := range cases {
		name, rest, _ := strings.Cut(c, "\n")
		source, want, found := strings.Cut(rest+"\n", goldenResult)
		if !found && !*update {
			t.Fatalf("case %q has no result", name)
		}
		got := show(Render(source))
		now.WriteString(goldenCase + name + "\n" + source + goldenResult + got + "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkSplit(t, Render(source), MaxUnits)
			if want := strings.TrimRight(want, "\n") + "\n"; got != want && !*update {
				t.Errorf("source:\n%s\ngot:\n%s\nwant:\n%s", source, got, want)
			}
		})
	}
	if *update {
		if err := os.WriteFile(goldenFile, []byte(now.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
