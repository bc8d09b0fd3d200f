package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	telegram "bareclaw/adapters/telegram/commands"
	"bareclaw/core/commands"
	"bareclaw/internal/testkit/check"
	observe "bareclaw/observe/tools"
)

// TestCommandsAreDocumented holds the table of commands of docs/telegram.md to Telegram's menu, in its
// order, and the sentence below the table to what the menu has besides the commands of every chat.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	all := append(commands.Builtin(commands.Options{}), commands.ToolsCommand(nil), commands.MountsCommand(nil))
	all = append(all, observe.Prompts()...)
	everywhere, err := commands.NewTable(all...)
	check.OK(t, err)
	var want, ofTelegram []string
	for _, row := range telegram.Rows(everywhere, nil) {
		want = append(want, "/"+row.Name)
		if _, ok := everywhere.Find(row.Name); !ok {
			ofTelegram = append(ofTelegram, "/"+row.Name)
		}
	}
	command := regexp.MustCompile(`/[a-z-]+`)
	var got []string
	for _, row := range rows(t, "docs/telegram.md", "| command | what it does |") {
		got = append(got, command.FindString(row[0]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/telegram.md has the commands\n%q, the menu has\n%q", got, want)
	}
	_, after, _ := strings.Cut(read(t, filepath.Join(root, "docs/telegram.md")), "\nAll but ")
	exceptions, _, found := strings.Cut(after, " are commands of every chat")
	if listed := command.FindAllString(exceptions, -1); !found || !slices.Equal(listed, ofTelegram) {
		t.Errorf("docs/telegram.md says that %q are Telegram's alone, but %q are", listed, ofTelegram)
	}
}
