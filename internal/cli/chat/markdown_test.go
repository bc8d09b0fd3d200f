package chat

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"bareclaw/internal/term"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMarkdown shows an answer in three widths, and as it is written where there are no colours.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("testdata", "answer.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{40, 80, 120, 0} {
		name := fmt.Sprintf("answer%d.golden", width)
		columns, coloured := width, true
		if width == 0 {
			name, columns, coloured = "answer-plain.golden", term.DefaultColumns, false
		}
		got := line{asClaude, string(source)}.render(columns, coloured) + "\n"
		for row := range strings.SplitSeq(got, "\n") {
			if n := lipgloss.Width(withoutTabs(row)); n > columns {
				t.Errorf("at %d columns a row has %d: %q", columns, n, row)
			}
		}
		file := filepath.Join("testdata", name)
		shown := strings.ReplaceAll(got, "\x1b", "␛")
		if *update {
			if err := os.WriteFile(file, []byte(shown), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if shown != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, shown, want)
		}
	}
}

// TestCodeIsCopied has code be, row by row, what was written, wherever it stands.
func TestCodeIsCopied(t *testing.T) {
	t.Parallel()
	const code = "\tif a {\n\n\t\tb()  // c\td\n  \te\n}"
	inside := func(prefix string) string { return strings.ReplaceAll("```\n"+code+"\n```", "\n", "\n"+prefix) }
	for _, source := range []string{inside(""), "- x\n\n  " + inside("  "), "1. x\n   " + inside("   "), "> " + inside("> "), "x\n" + inside("") + "\ny"} {
		if got := ansi.Strip(markdown(source, 40)); !strings.Contains("\n"+got+"\n", "\n"+code+"\n") {
			t.Errorf("%q is shown as %q", source, got)
		}
	}
	long := "\t" + strings.Repeat("word ", 40) + strings.Repeat("x", 200) + "\t日本"
	if got := strings.Join(wrapVerbatim(long, 40, 0), ""); got != long {
		t.Errorf("the rows of %q are %q", long, got)
	}
}

// FuzzMarkdown has no answer command the terminal.
func FuzzMarkdown(f *testing.F) {
	source, err := os.ReadFile(filepath.Join("testdata", "answer.md"))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{string(source), "|a|b|c|d|e|f|g|h|i|j|\n|-|-|-|-|-|-|-|-|-|-|\n|1|2|3|4|5|6|7|8|9|10|", "|a|\n|:-:|", "&#27;]0;x&#7;", "[&#27;](&#27;c)", "- ", "> > > - 1. x",
		strings.Repeat("> ", 300) + "x", "[a]: &#27;\n", "- ```\n  x", "1. \n\n\t\tx", "\t\t\tx\ty", "日本\t日本", "|é|\n|-|\n|a<br>b\tc|"} {
		f.Add(s, 40)
	}
	style := regexp.MustCompile("\x1b\\[[0-9;:]*m")
	f.Fuzz(func(t *testing.T, source string, width int) {
		width = 30 + width&0xFF
		got := line{asClaude, source}.render(width, true)
		if rest := style.ReplaceAllString(got, ""); term.Safe(rest) != rest {
			t.Errorf("%q commands the terminal: %q", source, got)
		}
	})
}

// TestLiveMarkdown shows what is still being written as it will be shown, with the tabs as spaces,
// and knows that it is within code when the start is left out.
func TestLiveMarkdown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\n```go\nb":         "```\n",
		"````\n```\nb":        "````\n",
		"```\na\n```\nb":      "",
		"```\n```go\n```\n":   "",
		"  ~ `a` ``` b\n":     "",
		"1. x\n   ```sh\n   ": "```\n",
	} {
		if got := fenceBefore(text); got != want {
			t.Errorf("after %q the fence is %q, want %q", text, got, want)
		}
	}
	if got, want := withoutTabs("a\t\x1b[36m日本\tb\x1b[m"), "a       \x1b[36m日本    b\x1b[m"; got != want {
		t.Errorf("without tabs it is %q, want %q", got, want)
	}
}

// TestTableTooWide lists the cells of a table that is too wide for the terminal.
func TestTableTooWide(t *testing.T) {
	t.Parallel()
	const source = "|one|two|three|four|five|six|\n|-|-|-|-|-|-|\n|a long cell|2|3 long|4|5|6|\n|b long cell|two words||||"
	got := ansi.Strip(markdown(source, 30))
	if want := "one: a long cell\ntwo: 2\nthree: 3 long\nfour: 4\nfive: 5\nsix: 6\n\none: b long cell\ntwo: two words\n"; !strings.HasPrefix(got, want) {
		t.Errorf("it shows\n%s\nwant\n%s", got, want)
	}
}
