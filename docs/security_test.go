package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bareclaw/internal/testkit/check"
)

// TestAttacksAreTried holds the table of security.md to the tests: each row names at least one
// test, and each named test exists.
func TestAttacksAreTried(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(read(t, path), -1) {
				tests[m[1]] = true
			}
		}
		return err
	})
	check.OK(t, err)
	_, table, found := strings.Cut(read(t, "security.md"), "\n| an attacker tries | what happens | test |\n")
	if !found {
		t.Fatal("security.md has no table of attacks")
	}
	rows := 0
	for line := range strings.Lines(table) {
		columns := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(columns) != 3 {
			continue
		}
		rows++
		named := code.FindAllString(columns[2], -1)
		if len(named) == 0 {
			t.Errorf("the row %q names no test", columns[0])
		}
		for _, name := range named {
			if !tests[strings.Trim(name, "`")] {
				t.Errorf("the row %q names %s, which is not a test", columns[0], name)
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows were found", rows)
	}
}
